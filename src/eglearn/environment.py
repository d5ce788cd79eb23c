"""What a run's last bits depend on besides its state: versions, machine and threads."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np
import scipy

from . import __version__


def environment() -> dict[str, Any]:
    """That of this process, without what a model adds."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "eglearn": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or str(cores),
    }


def differing(here: dict[str, Any], there: dict[str, Any]) -> list[str]:
    """What differs between this environment and that of a state, in sentences.

    Examples
    --------
    >>> differing({"numpy": "2.4"}, {"numpy": "2.3"})
    ['numpy is 2.4, the state was made with 2.3']
    """
    return [
        f"{name} is {here.get(name)}, the state was made with {there.get(name)}"
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
    ]
