"""Minimise functions that can only be evaluated, by learning their gradient.

Explicit Gradient Learning (Sarafian, Sinay, Louzoun, Agmon, Kraus; ICML 2020): sample around the current
candidate, learn the mean-gradient that best explains all value differences between samples, step along it, and
zoom in.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "EGL",
    "IGL",
    "AutoEGL",
    "AutoSettings",
    "ConvergentEGL",
    "ConvergentSettings",
    "EGLSettings",
    "IGLSettings",
    "Result",
    "Status",
    "load",
    "minimize",
    "scipy_method",
]

if TYPE_CHECKING:
    from .algorithms import EGL, IGL, AutoEGL, ConvergentEGL
    from .auto.default import AutoSettings
    from .history import load
    from .result import Result, Status
    from .run import minimize
    from .scipy import scipy_method
    from .search.egl_settings import ConvergentSettings, EGLSettings, IGLSettings

_HOMES = {
    "EGL": ".algorithms",
    "IGL": ".algorithms",
    "AutoEGL": ".algorithms",
    "ConvergentEGL": ".algorithms",
    "AutoSettings": ".auto.default",
    "EGLSettings": ".search.egl_settings",
    "IGLSettings": ".search.egl_settings",
    "ConvergentSettings": ".search.egl_settings",
    "Result": ".result",
    "Status": ".result",
    "load": ".history",
    "minimize": ".run",
    "scipy_method": ".scipy",
}


_MODULES = ("algorithms", "evaluation", "serialize", "store")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
