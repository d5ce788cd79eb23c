"""The algorithms of the paper and our own as ask/tell state machines, and the registry of their names."""

from __future__ import annotations

from .auto import AutoEGL
from .base import AskTell
from .convergent import ConvergentEGL
from .egl import EGL
from .igl import IGL

ALGORITHMS: dict[str, type[AskTell]] = {cls.__name__: cls for cls in (EGL, IGL, ConvergentEGL, AutoEGL)}

__all__ = ["ALGORITHMS", "EGL", "IGL", "AskTell", "AutoEGL", "ConvergentEGL"]
