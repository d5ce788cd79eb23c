"""What a run's last bits depend on besides its state: versions, machine, threads, code for the processor."""

from __future__ import annotations

import ctypes
import importlib
import os
import platform
from contextlib import suppress
from functools import cache
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
        "kernel": _kernel(),
        "simd": _simd(),
    }


@cache
def _kernel() -> str:
    """What NumPy's OpenBLAS computes matrix products with, such as "SkylakeX"; of another BLAS its name.

    OpenBLAS chooses it by the processor, or by OPENBLAS_CORETYPE, when it is loaded.
    """
    # A symbol is looked for in the libraries that this extension has loaded, too.
    with suppress(OSError):
        library = ctypes.CDLL(str(importlib.import_module("numpy.linalg._umath_linalg").__file__))
        for prefix in ("scipy_", ""):
            for suffix in ("64_", ""):
                name = f"{prefix}openblas_get_corename{suffix}"
                if hasattr(library, name):
                    function = getattr(library, name)
                    function.restype = ctypes.c_char_p
                    return str(function().decode())
    return str(_configuration().get("Build Dependencies", {}).get("blas", {}).get("name", "unknown"))


@cache
def _simd() -> str:
    """The kinds of vector instructions that NumPy found here and has code for."""
    return " ".join(_configuration().get("SIMD Extensions", {}).get("found", []))


def _configuration() -> dict[str, Any]:
    found: Any = np.show_config(mode="dicts")
    return dict(found)


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
