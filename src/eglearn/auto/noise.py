"""How noise is noticed."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from .._typing import Array, State
from ..learning.models.least_change import median
from ..serialize import copied

# Noise below this share of the spread of values in a batch does not matter; nor does other noise as long as more is
# gained from one repetition to the next, until it is more so many times more often than not.
_MATTERS, _STRIKES = 0.01, 3
# Noise below this share of all that was gained so far is no reason to stop looking elsewhere.
_NEGLIGIBLE = 1e-6
# Evaluations until the next repetition, as a multiple of those so far: if all values were repeated, and if not.
_RARELY, _OFTEN = 2.0, 1.25
# Differences below this share of the values, some units of the last place, are rounding: sums in another order.
_ROUNDING = 2.0**-48
# Points of a batch that can tell a spread.
_ENOUGH = 4
# Evaluations of the point where the search under noise begins, and the quantile of their values that stands for it: the
# median is below that with a probability of 98 % (sign test), so that luck does not make it hard to beat.
_TRIALS, _SURELY = 20, 0.75


class Repeats:
    """Evaluates the lowest point again, now and then: a deterministic objective repeats itself.

    The lowest value is where noise shows best, since it is the luckiest one: also noise that strikes rarely is found
    there. The moments are twice as many evaluations apart each time, and a point that has repeated its value is left
    alone: a dozen evaluations in a run of a hundred thousand. Noise that is found does not matter at once: descents
    are quick, and bear noise of a few percent of the value.
    """

    fields: ClassVar[tuple[str, ...]] = (
        *("u", "y", "first", "middle", "before", "known", "row", "due"),
        *("differed", "strikes", "on_trial"),
    )

    def __init__(self, start: Array) -> None:
        self.u = start
        self.y = self.first = self.middle = math.nan
        """The lowest value, and lowest and median of the first batch."""
        self.before = math.nan
        """The median of the first batch, then the last repeated value."""
        self.known = True
        """Whether the lowest point has repeated its value, or there is none."""
        self.row = 0
        """Where in the current batch the repetition is; 0: there is none."""
        self.due = 0.0
        """Evaluations before the next repetition."""
        self.differed = False
        """Whether a value was not repeated."""
        self.strikes = 0
        """How often noise was more than the gain, less how often not."""
        self.on_trial = False
        """Whether the next batch tells the value of ``u`` by many evaluations."""

    @property
    def noisy(self) -> bool:
        """Whether noise was found that matters."""
        return self.strikes >= _STRIKES

    def add(self, batch: Array, used: int, telling: bool = True) -> Array:
        """The batch, with the lowest point at its end if it is time and the batch can tell a spread."""
        self.row = 0
        if self.on_trial:
            self.row = len(batch)
            return np.vstack([batch, np.tile(self.u, (_TRIALS, 1))])
        if self.noisy or self.known or used < self.due or len(batch) < _ENOUGH or not telling:
            return batch
        self.row, self.due = len(batch), used * (_OFTEN if self.differed else _RARELY)
        return np.vstack([batch, self.u])

    def take(self, u: Array, y: Array) -> tuple[Array, Array]:
        """Judge the repetition; returns the batch without it."""
        own = slice(0, self.row if self.row else len(y))
        again = y[own.stop :]
        if self.on_trial:
            self.on_trial = False
            good = again[np.isfinite(again)]
            self.y = 4 * float(np.quantile(good * 0.25, _SURELY)) if len(good) else math.nan
        elif len(again):
            self._judge(float(again[0]), y[own])
        u, y = u[own], y[own]
        if not self.noisy and np.isfinite(y).any():
            i = int(np.nanargmin(y))
            if not self.y <= y[i]:
                self.u, self.y, self.known = u[i].copy(), float(y[i]), False
            if math.isnan(self.first):
                self.first, self.middle = self.y, median(y)
                self.before = self.middle
        return u, y

    def _judge(self, again: float, others: Array) -> None:
        others = others[np.isfinite(others)]
        if not math.isfinite(again) or len(others) < _ENOUGH:
            return
        low, high = np.quantile(others * 0.25, [0.25, 0.75])
        apart = abs(again * 0.25 - self.y * 0.25)
        size = max(abs(again), abs(self.y)) * 0.25
        self.known = apart <= _ROUNDING * size
        if self.known:
            self.strikes = max(self.strikes - 1, 0)
            self.before = again
            return
        self.differed = True
        gain = self.before * 0.25 - again * 0.25
        in_all = self.middle * 0.25 - again * 0.25
        if apart > max(_MATTERS * (high - low), _NEGLIGIBLE * in_all):
            self.strikes = max(self.strikes + (1 if apart > gain else -1), 0)  # by luck, noise looks like gain
        self.before = again

    def try_best(self, start: Array) -> Array:
        """Where to begin under noise: the lowest point if it is, by its last value, below all of the first batch.

        Else the luckiest point is as good as any, and it is the start. Its value is found with the next batch.
        """
        if not self.before < self.first:
            self.u = start
        self.on_trial = True
        return self.u

    def state(self) -> State:
        """Everything that the future depends on."""
        return {name: copied(getattr(self, name)) for name in self.fields}

    def load_state(self, state: State) -> None:
        """Go on from ``state``."""
        for name in self.fields:
            setattr(self, name, copied(state[name]))
