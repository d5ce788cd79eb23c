"""The user's box and the canonical cube [-1, 1]^n in which everything else works.

The map is linear. Fixed coordinates (equal bounds) have no place in the cube: they are taken out on the way in and put
back on the way out, so no algorithm ever sees them.

Where a side is infinite, or a ``scale`` says that the box is far too wide, the cube is a window around the start, twice
``scale`` to each side. A search whose best point
lies on a face of it that is no bound goes on in a wider window around that point. So a quadratic function is one in the
cube, too, which it would not be if the cube held all numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._typing import Array, Mask, State
from .arguments import numbers_of

# Half the first window by the scale, and how much wider each one is than the last, a power of two.
_REACH, _WIDER = 2.0, 2
# Half the box by half the first window, from which on it is far too wide: from there a descent would have to halve its
# radius five times.
_FAR_TOO_WIDE = 32.0
_LARGEST = np.finfo(float).max


class Box:
    """The map between the user's coordinates x and canonical coordinates u.

    Parameters
    ----------
    low, high : (n,) arrays
        Bounds; infinite values mean no bound, equal values fix the coordinate.
    x0 : (n,) array or None
        Where to start; None is the centre of the box and needs finite bounds.
    scale : (n,) array or None
        The distance from ``x0`` within which the minimum is expected, for coordinates with a window.
    wide : (n,) array of bool or None
        Which coordinates have a window although their sides are finite; None: none.

    Examples
    --------
    >>> import numpy as np
    >>> box = Box(np.array([0.0, 5.0]), np.array([10.0, 5.0]))
    >>> box.to_x(np.array([[-1.0], [0.5]])).tolist()
    [[0.0, 5.0], [7.5, 5.0]]
    """

    def __init__(
        self, low: Array, high: Array, x0: Array | None = None, scale: Array | None = None, wide: Mask | None = None
    ) -> None:
        self.low, self.high = low, high
        unbounded = ~(np.isfinite(low) & np.isfinite(high))
        if unbounded.any() and (x0 is None or scale is None):
            missing = " and ".join(name for name, given in (("x0", x0), ("scale", scale)) if given is None)
            raise ValueError(
                f"coordinate {int(np.argmax(unbounded))} has bounds ({low[unbounded][0]:g}, "
                f"{high[unbounded][0]:g}): an infinite side needs {missing} as well"
            )
        self.x0 = low / 2 + high / 2 if x0 is None else x0
        self.wide = np.zeros(len(low), dtype=bool) if wide is None else wide
        windowed = unbounded | self.wide
        # The others need no scale; 1 stands in so that the array has no holes.
        self.scale = np.where(windowed, scale, 1.0) if scale is not None else np.ones_like(low)
        self.free = low < high
        self._windowed = windowed
        self._look(self.x0, 0)

    def _look(self, centre: Array, widenings: int) -> None:
        """Set the window."""
        self.centre, self.widenings = centre, widenings
        with np.errstate(over="ignore"):
            far = np.minimum(np.ldexp(_REACH * self.scale, _WIDER * widenings), _LARGEST)
            least, most = np.maximum(centre - far, -_LARGEST), np.minimum(centre + far, _LARGEST)
        low = np.where(self._windowed, np.maximum(self.low, least), self.low)
        high = np.where(self._windowed, np.minimum(self.high, most), self.high)
        self._no_low, self._no_high = low > self.low, high < self.high
        self._low, self._high = low[self.free], high[self.free]
        # Halved before subtracting: the width of (-1e308, 1e308) would overflow. At least the smallest float, which
        # half of the narrowest possible box would round down to 0.
        self._half = np.maximum(self._high / 2 - self._low / 2, np.finfo(float).smallest_subnormal)

    @property
    def n(self) -> int:
        """Number of the user's coordinates."""
        return len(self.low)

    @property
    def n_free(self) -> int:
        """Dimension of the cube: the coordinates that are not fixed."""
        return int(self.free.sum())

    @property
    def start(self) -> Array:
        """The starting point in canonical coordinates, that of the last window."""
        u: Array = self.to_u(self.centre[None])[0]
        return u

    def contains(self, x: Array) -> Mask:
        """Whether points (..., n) are inside the bounds."""
        inside: Mask = np.all((x >= self.low) & (x <= self.high), axis=-1)
        return inside

    def covers(self, x: Array, margin: float) -> bool:
        """Whether points (..., n) are all in the window, up to a share of its half width."""
        free = x[..., self.free]
        with np.errstate(over="ignore"):
            low, high = self._low - margin * self._half, self._high + margin * self._half
        return bool(((free >= low) & (free <= high)).all())

    def near(self, a: Array, b: Array, margin: float) -> bool:
        """Whether points (..., n) are where others are, up to a share of the window's half width; b in the window."""
        return self.covers(b, margin) and bool((np.abs(self.to_u(a) - self.to_u(b)) <= margin).all())

    def confines(self, x: Array) -> bool:
        """Whether a point (n,) is at the edge of the window, or beyond, in a coordinate that has no bound there."""
        free = x[self.free]
        return bool(
            (self._no_low[self.free] & (free <= self._low)).any()
            or (self._no_high[self.free] & (free >= self._high)).any()
        )

    def widen(self, x: Array) -> None:
        """Make the window wider, and centre it there."""
        self._look(x.copy(), self.widenings + 1)

    def to_x(self, u: Array) -> Array:
        """Canonical points (k, n_free) to user points (k, n), always inside the bounds."""
        u = np.clip(u, -1.0, 1.0)
        # From the nearer face, so that u = -1 and u = 1 give the bounds exactly.
        lower, upper = np.minimum(u, 0.0), np.maximum(u, 0.0)
        x = np.where(u <= 0, self._low + (1 + lower) * self._half, self._high - (1 - upper) * self._half)
        out = np.repeat(self.low[None], len(u), axis=0)  # fixed coordinates keep their value
        out[:, self.free] = np.clip(x, self._low, self._high)
        return out

    def to_u(self, x: Array) -> Array:
        """User points (k, n) to canonical points (k, n_free)."""
        # Row by row in memory, as a copy or a restored state is: the layout decides the order of later sums.
        x = np.ascontiguousarray(np.clip(x[:, self.free], self._low, self._high))
        with np.errstate(over="ignore"):
            below, above = (x - self._low) / self._half, (self._high - x) / self._half
        return np.clip(np.where(below <= above, below - 1, 1 - above), -1.0, 1.0)

    def state(self) -> State:
        """Everything needed to build the box again, the window apart."""
        return {"low": self.low, "high": self.high, "x0": self.x0, "scale": self.scale, "wide": self.wide}

    @classmethod
    def from_state(cls, state: State) -> Box:
        """The box that ``state`` describes."""
        return cls(state["low"], state["high"], state["x0"], state["scale"], state.get("wide"))

    def window(self) -> State:
        """Where the window is."""
        return {"centre": self.centre.copy(), "widenings": self.widenings}

    def load_window(self, state: State) -> None:
        """Put it there."""
        self._look(state["centre"].copy(), state["widenings"])


def make_box(bounds: Any, x0: Any = None, scale: Any = None) -> Box:
    """A Box from whatever SciPy's users pass as bounds.

    Parameters
    ----------
    bounds : sequence of (low, high) pairs, ``scipy.optimize.Bounds``, or a (low, high) pair of arrays
        None inside a pair means no bound. A pair of two scalars needs ``x0`` to tell the dimension. For two
        coordinates ``[(a, b), (c, d)]`` is read as two (low, high) pairs, as SciPy does, but a tuple of two NumPy
        arrays as (low, high).
    x0, scale : array-like or None
        See Box; each may be one number for all coordinates.

    Returns
    -------
    Box

    Examples
    --------
    >>> make_box([(-5, 5)] * 3).n
    3
    """
    start = None if x0 is None else _vector(x0, "x0")
    low, high = low_high(bounds, start)
    n = len(low)
    if n == 0:
        raise ValueError("bounds are empty: give one (low, high) pair for each coordinate")
    bad = np.isnan(low) | np.isnan(high) | (low == np.inf) | (high == -np.inf)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"bounds of coordinate {i} are ({low[i]:g}, {high[i]:g}): they must be numbers")
    if (low > high).any():
        i = int(np.argmax(low > high))
        raise ValueError(f"bounds of coordinate {i} are ({low[i]:.17g}, {high[i]:.17g}): low must not exceed high")
    if start is not None:
        if np.ndim(x0) == 0:
            start = np.full(n, start[0])
        if len(start) != n:
            raise ValueError(f"x0 has {len(start)} coordinates, but bounds have {n}")
        outside = ~((start >= low) & (start <= high))
        if outside.any():
            i = int(np.argmax(outside))
            raise ValueError(
                f"x0[{i}] = {start[i]:.17g} is outside its bounds ({low[i]:.17g}, {high[i]:.17g}): move it inside"
            )
    if scale is not None and np.shape(scale) not in ((), (1,), (n,)):
        raise ValueError(
            f"scale has shape {np.shape(scale)}: it must be one number, or one for each of {n} coordinates"
        )
    try:
        size = None if scale is None else np.broadcast_to(np.asarray(scale, dtype=np.float64), (n,)).copy()
    except (TypeError, ValueError) as error:
        raise ValueError(f"scale = {scale!r}: it must be one positive number, or one for each coordinate") from error
    if size is not None and not (np.isfinite(size) & (size > 0)).all():
        i = int(np.argmin(np.isfinite(size) & (size > 0)))
        raise ValueError(f"scale of coordinate {i} is {size[i]:g}: it must be a positive number")
    wide = (
        None
        if size is None
        else np.isfinite(low) & np.isfinite(high) & ((high / 2 - low / 2) / (_FAR_TOO_WIDE * _REACH) > size)
    )
    return Box(low, high, start, size, wide)


def _vector(value: Any, name: str) -> Array:
    try:
        array = np.atleast_1d(numbers_of(value))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} = {value!r}: it must be a vector of numbers") from error
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: it must be one vector; the order is fun, bounds, x0")
    if not np.isfinite(array).all():
        i = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name}[{i}] = {array[i]}: it must be a finite number")
    return array


def low_high(bounds: Any, x0: Array | None) -> tuple[Array, Array]:
    """The sides (n,) and (n,) of whatever users pass as bounds; see ``make_box``."""
    if bounds is None:
        if x0 is None:
            raise ValueError("bounds are missing: give (low, high) for each coordinate, or x0 and scale without")
        return np.full(len(x0), -np.inf), np.full(len(x0), np.inf)
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):  # scipy.optimize.Bounds, without importing it
        low, high = np.broadcast_arrays(np.asarray(bounds.lb, float), np.asarray(bounds.ub, float))
        return _spread(low, x0), _spread(high, x0)
    if isinstance(bounds, str | dict):
        raise ValueError(f"bounds are a {type(bounds).__name__}: give one (low, high) pair for each coordinate")
    bounds = bounds.to_numpy() if hasattr(bounds, "to_numpy") else bounds  # a table, whose names are no bounds
    try:
        pairs = [list(p) if np.ndim(p) else p for p in bounds]
    except TypeError as error:
        raise ValueError(f"bounds = {bounds!r}: give one (low, high) pair for each coordinate") from error
    if isinstance(bounds, tuple) and len(bounds) == 2 and all(isinstance(side, np.ndarray) for side in bounds):
        low, high = (np.atleast_1d(side).astype(np.float64) for side in bounds)
        if low.ndim == 1 and low.shape == high.shape:
            return _spread(low, x0), _spread(high, x0)
    if len(pairs) == 2 and not any(isinstance(p, list) for p in pairs):
        sides = (_number(pairs[0], -np.inf), _number(pairs[1], np.inf))
        return _spread(np.asarray(sides[0]), x0), _spread(np.asarray(sides[1]), x0)
    if all(isinstance(p, list) and len(p) == 2 for p in pairs):
        low = np.array([_number(p[0], -np.inf) for p in pairs])
        high = np.array([_number(p[1], np.inf) for p in pairs])
        return low, high
    if len(pairs) == 2 and all(isinstance(p, list) for p in pairs) and len(pairs[0]) == len(pairs[1]):
        low = np.array([_number(p, -np.inf) for p in pairs[0]])
        high = np.array([_number(p, np.inf) for p in pairs[1]])
        return low, high
    if any(p is None for p in pairs):
        raise ValueError("bounds hold None for a coordinate: write (None, None) where there is no bound")
    if not any(isinstance(p, list) for p in pairs):
        raise ValueError(
            f"bounds of length {len(pairs)} are one point, not pairs (low, high); the order is fun, bounds, x0"
        )
    raise ValueError(
        f"bounds of length {len(pairs)} are neither one (low, high) pair for each coordinate nor a "
        "(low, high) pair of arrays of equal length"
    )


def _number(value: Any, missing: float) -> float:
    try:
        if isinstance(value, str):
            raise TypeError("text is no number")
        return missing if value is None else float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"bounds hold {value!r}: they must be numbers, or None") from error


def _spread(side: Array, x0: Array | None) -> Array:
    if side.ndim == 0 or (side.shape == (1,) and x0 is not None):
        if x0 is None:
            raise ValueError("one pair of numbers as bounds needs x0 as well, to tell the number of coordinates")
        return np.full(len(x0), float(side.reshape(-1)[0]))
    return np.array(side, dtype=np.float64)
