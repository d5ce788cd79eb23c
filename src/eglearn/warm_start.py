"""``minimize(..., known=(X, y))``: points whose values are known before the run."""

from __future__ import annotations

from typing import Any

from ._typing import Array
from .box import Box
from .open_points import checked


def read_known(box: Box, known: Any) -> tuple[Array, Array] | None:
    """The points (k, n) and values (k,), NaN where there is none; None if nothing is known.

    Examples
    --------
    >>> from eglearn.box import make_box
    >>> read_known(make_box([(0, 1)] * 2), ([[0.5, 1]], [3]))
    (array([[0.5, 1. ]]), array([3.]))
    """
    if known is None:
        return None
    try:
        if isinstance(known, dict | str):
            raise TypeError("its parts have no order")
        x, y = known
    except (TypeError, ValueError) as error:
        what = f"{type(known).__name__} of {len(known)}" if hasattr(known, "__len__") else repr(known)
        raise ValueError(f"known = {what}: it must be a pair (X, y), points (k, {box.n}) and values (k,)") from error
    try:
        return checked(box, x, y)
    except ValueError as error:
        raise ValueError(f"known = (x, y): {error}") from error
