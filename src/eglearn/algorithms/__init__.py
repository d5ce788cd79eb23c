"""The algorithms of the paper as ask/tell state machines, and the registry of their names."""

from __future__ import annotations

from .base import AskTell
from .convergent import ConvergentEGL
from .egl import EGL
from .igl import IGL

ALGORITHMS: dict[str, type[AskTell]] = {cls.__name__: cls for cls in (EGL, IGL, ConvergentEGL)}

__all__ = ["ALGORITHMS", "EGL", "IGL", "AskTell", "ConvergentEGL"]
