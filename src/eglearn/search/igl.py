"""Indirect Gradient Learning: the paper's algorithm 1, the rival of EGL."""

from __future__ import annotations

from typing import ClassVar

from ..settings import Settings
from .egl import EGL


class IGL(EGL):
    """Learns the values with a network and steps along its parametric gradient; all else is as in EGL.

    Examples
    --------
    >>> opt = IGL([(-5, 5)] * 3, budget=100)  # needs eglearn[nn]
    >>> opt.ask().shape
    (16, 3)
    """

    defaults: ClassVar[Settings] = Settings.for_model("fc")
    _learns_values = True
