"""The batch that waits for its values: which told point is which asked one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ._typing import Array, Mask, State
from .box import Box
from .serialize import copied

# A told point this close to an asked one (as a fraction of the cube's half-width) is that point, rounded by its
# way through text or float32. It is learned from where it really is.
SAME_POINT = 1e-6


@dataclass
class Batch:
    """Points that were asked for, and what is known of them."""

    x: Array
    """(k, n) in the user's coordinates, as they were handed out."""
    u: Array
    """(k, n_free) in canonical coordinates: where the evaluated points really are."""
    y: Array
    """(k,) values; NaN where the evaluation failed or is still to come."""
    told: Mask
    """(k,) of bool: whether an answer has come."""
    at: Array | None = None
    """(k, n) where they were evaluated, if that is not x to the last bit."""
    rows: dict[bytes, list[int]] | None = None
    """Rows by the bytes of x, equal points together; made when it is needed."""

    @classmethod
    def asked(cls, x: Array, u: Array) -> Self:
        """A batch of which nothing is known yet."""
        return cls(x, u, np.full(len(x), np.nan), np.zeros(len(x), dtype=bool))

    @property
    def waiting(self) -> npt.NDArray[np.intp]:
        """Rows without an answer."""
        return np.flatnonzero(~self.told)

    def where(self, row: int) -> Array:
        """The point as it was evaluated."""
        point: Array = (self.x if self.at is None else self.at)[row]
        return point

    def best(self) -> tuple[Array, Array, float] | None:
        """Its lowest value so far: x, u and value; None if there is none."""
        if not np.isfinite(self.y).any():
            return None
        row = int(np.nanargmin(self.y))
        return self.where(row), self.u[row], float(self.y[row])

    def _by_bytes(self) -> dict[bytes, list[int]]:
        if self.rows is None:
            self.rows = {}
            for row, asked in enumerate(self.x + 0.0):  # + 0.0: see ``checked``
                self.rows.setdefault(asked.tobytes(), []).append(row)
        return self.rows

    def holds(self, x: Array) -> bool:
        """Whether one of the points (k, n) is, to the last bit, one that was asked for."""
        known = self._by_bytes()
        return any(point.tobytes() in known for point in x)

    def row_of(self, x: Array, u: Array) -> int | None:
        """The row that the point answers, or None for a point that nobody asked for."""
        same = self._by_bytes().get(x.tobytes(), [])
        for row in same:
            if not self.told[row]:
                return row
        waiting = self.waiting
        if same or not len(waiting) or not len(u):
            return None  # told again: a second measurement
        distance = np.abs(self.u[waiting] - u).max(axis=1)
        nearest = int(np.argmin(distance))
        return int(waiting[nearest]) if distance[nearest] <= SAME_POINT else None

    def move(self, row: int, x: Array, u: Array) -> None:
        """The point of that row was evaluated there."""
        if not np.array_equal(x, self.x[row]):
            self.at = self.x.copy() if self.at is None else self.at
            self.at[row], self.u[row] = x, u

    def answer(self, rows: npt.NDArray[np.intp], values: Array) -> int:
        """Take in values; how many of them have failed."""
        self.told[rows] = True
        good = np.isfinite(values)
        self.y[rows[good]] = values[good]
        return int((~good).sum())

    def state(self) -> State:
        """Everything but what can be made again."""
        return {name: copied(getattr(self, name)) for name in ("x", "u", "y", "told", "at")}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The batch that ``state()`` described."""
        return cls(**{name: copied(value) for name, value in state.items()})


def checked(box: Box, x: Any, y: Any) -> tuple[Array, Array]:
    """What was told, as points (k, n) and values (k,)."""
    for name, given in (("x", x), ("y", y)):
        if (kind := np.asarray(given).dtype).kind in "cSU":
            raise ValueError(f"tell() takes numbers, but {name} holds {kind.name}: convert it first")
    try:
        points = np.array(x, dtype=np.float64)
        values = np.atleast_1d(np.array(y, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(f"tell() takes numbers, NaN for failed evaluations ({error})") from error
    if points.ndim == 1 and values.shape == (1,):
        points = points[None]
    if points.ndim != 2 or points.shape[1] != box.n:
        raise ValueError(f"x has shape {points.shape}: it must be (k, {box.n})")
    if values.shape != (len(points),):
        raise ValueError(f"y has shape {values.shape} for {len(points)} points: it must be ({len(points)},)")
    outside = ~box.contains(points)
    if outside.any():
        raise ValueError(f"x[{int(np.argmax(outside))}] is outside the bounds: such a point cannot be learned from")
    return points + 0.0, values  # + 0.0 turns -0.0, which compares equal but has other bytes, into 0.0
