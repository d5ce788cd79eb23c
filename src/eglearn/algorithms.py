"""The algorithms of the paper and our own as ask/tell state machines, and the registry of their names."""

from __future__ import annotations

from .asktell import AskTell
from .auto.autoegl import AutoEGL, unused
from .search.convergent import ConvergentEGL
from .search.egl import EGL
from .search.igl import IGL
from .settings import Settings

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
