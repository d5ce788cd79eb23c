"""Rules that end a run which makes no more progress: ``ftol``, ``xtol`` and ``patience``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._typing import Array, State
from .arguments import is_number
from .evaluation.base import Outcome
from .result import Status

_TIMES, _BESIDE = 20, 20


def default_patience(n: int) -> int:
    """Evaluations without progress after which ``ftol`` and ``xtol`` end a run: 20 (n + 20).

    Long enough that it does not end descents along the curved and narrow valleys of tests/test_stop_rules.py.

    Examples
    --------
    >>> default_patience(10)
    600
    """
    return _TIMES * (n + _BESIDE)


class StopRules:
    """Watches the lowest value and where it was found.

    Progress is measured from a mark, the lowest value (the best point) at the last progress. As soon as the lowest
    value is more than ``ftol`` below its mark, or a coordinate of the best point is more than ``xtol`` away from its
    mark, the mark moves there. A run ends if a mark has stayed for ``patience`` evaluations. So slow progress counts
    when it adds up to more than the tolerance.

    Parameters
    ----------
    n : int
        Number of coordinates of a point.
    ftol : float or None
        In the units of the objective.
    xtol : float, array-like (n,) or None
        In the units of the coordinates.
    patience : int or None
        Evaluations, failed ones included; None: ``default_patience(n)``. Alone, any lower value is progress.

    Examples
    --------
    >>> rules = StopRules(1, ftol=0.1, patience=3)
    >>> for value in (5.0, 4.95, 4.94, 6.0):
    ...     rules.told(np.zeros(1), Outcome(value))
    >>> rules.status()
    <Status.FTOL: 10>
    """

    def __init__(self, n: int, ftol: Any = None, xtol: Any = None, patience: Any = None) -> None:
        self.n = n
        if ftol is not None and not (is_number(ftol) and 0 <= ftol < math.inf):
            raise ValueError(f"ftol = {ftol!r}: it must be a finite number, 0 or more, or None")
        self.ftol = None if ftol is None else float(ftol)
        self.xtol = None if xtol is None else _tolerances(xtol, n)
        whole = patience is None or (is_number(patience) and 0 < patience < math.inf and patience == int(patience))
        if not whole:
            raise ValueError(f"patience = {patience!r}: it must be a whole number of evaluations above 0, or None")
        self.patience = default_patience(n) if patience is None else int(patience)
        self._alone = patience is not None and ftol is None and xtol is None
        self.count = 0
        """Evaluations so far."""
        self._best = math.inf
        self._value, self._point = math.inf, np.full(n, np.nan)
        self._value_at = self._point_at = 0

    @property
    def given(self) -> bool:
        """Whether there is any rule."""
        return self._alone or self.ftol is not None or self.xtol is not None

    @property
    def limits(self) -> dict[str, Any]:
        """What messages tell of the rules."""
        return {"ftol": self.ftol, "patience": self.patience}

    def told(self, x: Array, outcome: Outcome) -> None:
        """Take in an answer, in the order of telling."""
        self.count += 1
        if outcome.error is not None or not outcome.y < self._best:
            return
        self._best = outcome.y
        if not self._best >= self._value - (self.ftol or 0.0):
            self._value, self._value_at = self._best, self.count
        if not bool((np.abs(x - self._point) <= (0.0 if self.xtol is None else self.xtol)).all()):
            self._point, self._point_at = x.copy(), self.count

    def given_before(self, x: Array, y: Array) -> None:
        """Take in points (k, n) that were known before the run: they count for the mark, not as evaluations."""
        for point, value in zip(x, y, strict=True):
            if math.isfinite(value):
                self.told(point, Outcome(float(value)))
        self.count = self._value_at = self._point_at = 0

    def state(self) -> State:
        """Where the marks are, for a checkpoint."""
        numbers = {name: getattr(self, name) for name in ("count", "_best", "_value", "_value_at", "_point_at")}
        return numbers | {"_point": self._point.copy()}

    def load_state(self, state: State | None) -> None:
        """Go on from there; None: an older checkpoint, of which only the future counts."""
        for name, value in (state or {}).items():
            setattr(self, name, value)

    def status(self) -> Status | None:
        """Why the run should end, or None."""
        if self._best == math.inf or not self.given:  # while all fails there is no progress to wait for
            return None
        if self.ftol is not None and self.count - self._value_at >= self.patience:
            return Status.FTOL
        if self.xtol is not None and self.count - self._point_at >= self.patience:
            return Status.XTOL
        if self._alone and self.count - self._value_at >= self.patience:
            return Status.PATIENCE
        return None


def _tolerances(xtol: Any, n: int) -> Array:
    try:
        each = np.asarray(xtol, dtype=np.float64)
        good = each.shape in ((), (n,)) and bool(((each >= 0) & (each < math.inf)).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(f"xtol = {xtol!r}: it must be a finite number, 0 or more, or one for each of {n} coordinates")
    return np.broadcast_to(each, (n,)).copy()
