"""The types that every room shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
"""Points and values: float64 everywhere outside the networks."""

Mask = npt.NDArray[np.bool_]
"""Which of several points or coordinates."""

State = dict[str, Any]
"""Plain data: arrays, numbers, strings, None, and lists and dicts (string keys) of these."""
