"""The algorithms of the paper and our own as ask/tell state machines, and the registry of their names."""

from __future__ import annotations

from ..settings import Settings
from .auto import AutoEGL, unused
from .base import AskTell
from .convergent import ConvergentEGL
from .egl import EGL
from .igl import IGL

ALGORITHMS: dict[str, type[AskTell]] = {cls.__name__: cls for cls in (EGL, IGL, ConvergentEGL, AutoEGL)}


def default_algorithm(settings: Settings | None) -> type[AskTell]:
    """AutoEGL; EGL if settings are given that only EGL has a use for.

    Examples
    --------
    >>> default_algorithm(None).__name__, default_algorithm(Settings.for_model("constant")).__name__
    ('AutoEGL', 'EGL')
    """
    return EGL if isinstance(settings, Settings) and unused(settings) else AutoEGL


__all__ = ["ALGORITHMS", "EGL", "IGL", "AskTell", "AutoEGL", "ConvergentEGL", "default_algorithm"]
