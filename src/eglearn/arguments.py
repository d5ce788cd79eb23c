"""Checks of arguments, with sentences that say what is allowed."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._typing import Array

_MOST = 10**18  # fits into the whole numbers of a store


def check_whole(name: str, value: Any, of: str, least: int, optional: bool = False) -> None:
    """Raise unless ``value`` is a whole number of that kind, ``least`` or more, or None if that is allowed.

    >>> check_whole("width", 0, "evaluations", 1)
    Traceback (most recent call last):
    ValueError: width = 0: it must be a whole number of evaluations, 1 or more
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (whole and value >= least) and not (optional and value is None):
        kind = f" of {of}" if of else ""
        end = ", or None" if optional else ""
        raise ValueError(f"{name} = {value!r}: it must be a whole number{kind}, {least} or more{end}")


def is_number(value: Any) -> bool:
    """Whether that is one real number and not NaN.

    >>> is_number(1e3), is_number(True), is_number("1")
    (True, False, False)
    """
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return real and bool(value == value)  # NaN differs from itself


def budget_of(value: Any) -> int:
    """A number of evaluations; 1e4 is welcome.

    >>> budget_of(1e4)
    10000
    """
    if not is_number(value) or not 0 <= value <= _MOST or value != int(value):
        raise ValueError(f"budget = {value!r}: it must be a whole number of evaluations, from 0 to 1e18")
    return int(value)


def check_path(name: str, value: Any) -> None:
    """Raise unless ``value`` can be the name of a file.

    >>> check_path("store", 3)
    Traceback (most recent call last):
    TypeError: store = 3: it must be the path of a file, as text or pathlib.Path
    """
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise TypeError(f"{name} = {value!r}: it must be the path of a file, as text or pathlib.Path")
    if not os.fspath(value):
        raise ValueError(f"{name} = {value!r}: the path is empty, name a file")
    if "\0" in os.fspath(value):
        raise ValueError(f"{name} = {value!r}: a path cannot hold a zero byte, name a file")


def numbers_of(value: Any) -> Array:
    """An array of floats; text, dates and complex numbers are none, and what is masked is NaN.

    >>> numbers_of([1, 2.5])
    array([1. , 2.5])
    """
    array = np.asarray(value)
    if array.dtype.kind in "cSUMm":
        raise TypeError(f"it holds {array.dtype.name}, not numbers")
    if isinstance(value, np.ma.MaskedArray):
        array = np.where(np.ma.getmaskarray(value), np.nan, array)  # what is masked is unknown
    return np.array(array, dtype=np.float64)
