"""The points that wait for their values: which told point is which asked one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ._typing import Array, State
from .arguments import numbers_of
from .box import Box
from .result import counted

# A told point this close to an asked one (as a fraction of the cube's half-width) is that point, rounded by its
# way through text or float32. It is learned from where it really is.
SAME_POINT = 1e-6
# Answered points that are remembered, so that a second measurement of one is not taken for another point close by.
_REMEMBERED = 4096


@dataclass
class OpenPoint:
    """A point that was asked for."""

    x: Array  # (n,) in the user's coordinates, as it was handed out
    u: Array  # (n_free,) in the cube
    index: int  # its index in the search; -1: that search is gone


class OpenPoints:
    """Open points by their number, in the order in which they were asked for."""

    def __init__(self) -> None:
        self.points: dict[int, OpenPoint] = {}
        self._numbers: dict[bytes, list[int]] = {}  # of the open points, by their bytes; equal points together
        self._answered: dict[bytes, int] = {}  # numbers of points answered while others were open

    def __len__(self) -> int:
        return len(self.points)

    def x(self, n: int) -> Array:
        """The open points (k, n)."""
        return np.array([point.x for point in self.points.values()]).reshape(len(self.points), n)

    def add(self, number: int, point: OpenPoint) -> None:
        """A point was asked for."""
        self.points[number] = point
        self._numbers.setdefault(_key(point.x), []).append(number)

    def take(self, number: int) -> OpenPoint:
        """An answer to this point has come."""
        point = self.points.pop(number)
        same = self._numbers[key := _key(point.x)]
        same.remove(number)
        if not same:
            del self._numbers[key]
        self._answered[key] = number
        if not self.points:
            self._answered = {}
        elif len(self._answered) > _REMEMBERED:
            del self._answered[next(iter(self._answered))]
        return point

    def orphan(self, box: Box) -> None:
        """The search that asked for them is gone, and the cube may be another one."""
        for point in self.points.values():
            point.index, point.u = -1, box.to_u(point.x[None])[0]

    def state(self) -> State:
        """The points as arrays."""
        points, known = self.points, dict(sorted(self._answered.items(), key=lambda item: item[1]))
        return {
            "number": np.array(list(points), dtype=np.int64),
            "x": [point.x.copy() for point in points.values()],
            "u": [point.u.copy() for point in points.values()],
            "index": np.array([point.index for point in points.values()], dtype=np.int64),
            "answered": np.array(list(known.values()), dtype=np.int64),
            "answered_x": [np.frombuffer(key).copy() for key in known],
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """What ``state()`` described."""
        self = cls()
        for number, x, u, index in zip(state["number"], state["x"], state["u"], state["index"], strict=True):
            self.add(int(number), OpenPoint(x.copy(), u.copy(), int(index)))
        known = zip(state["answered"], state["answered_x"], strict=True)
        self._answered = {_key(x): int(number) for number, x in known}
        return self

    def in_order(self, box: Box, x: Array) -> bool:
        """Whether these points (k, n) are all the open ones, in order, to the last bit or rounded."""
        if len(x) != len(self.points):
            return False
        asked = self.x(box.n)
        if np.array_equal(x, asked):
            return True
        # If one is an open point to the last bit, they come in another order, also where all are close together.
        return box.near(asked, x, SAME_POINT) and not any(_key(point) in self._numbers for point in x)

    def number_of(self, x: Array, u: Array) -> int | None:
        """The number of the point that this one answers, or None if nobody asked for it."""
        if same := self._numbers.get(_key(x)):
            return same[0]
        if not self.points or not len(u) or _key(x) in self._answered:
            return None  # nothing is open, or a second measurement
        numbers = list(self.points)
        distance = np.abs(np.array([self.points[number].u for number in numbers]) - u).max(axis=1)
        nearest = int(np.argmin(distance))
        return numbers[nearest] if distance[nearest] <= SAME_POINT else None


def _key(x: Array) -> bytes:
    """Equal points have equal bytes: -0.0 is made 0.0."""
    return (x + 0.0).tobytes()


def checked(box: Box, x: Any, y: Any) -> tuple[Array, Array]:
    """What was told, as points (k, n) and values (k,)."""
    arrays = []
    for name, given in (("x", x), ("y", y)):
        try:
            arrays.append(numbers_of(given))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be numbers, NaN for failed evaluations ({error})") from error
    points, values = arrays[0], np.atleast_1d(arrays[1])
    if points.size == values.size == 0:
        points = points.reshape(0, box.n)
    if points.ndim == 1 and values.shape == (1,):
        points = points[None]
    if points.ndim != 2 or points.shape[1] != box.n:
        raise ValueError(f"x has shape {points.shape}: it must be (k, {box.n})")
    if values.shape != (len(points),):
        raise ValueError(f"y has shape {values.shape} for {counted(len(points), 'point')}: it must be ({len(points)},)")
    outside = ~box.contains(points)
    if outside.any():
        raise ValueError(f"x[{int(np.argmax(outside))}] is outside the bounds: such a point cannot be learned from")
    return points + 0.0, values
