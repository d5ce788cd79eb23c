"""Ask, evaluate, tell, store: one batch after the other."""

from __future__ import annotations

import logging
import math
import time
from typing import Protocol

import numpy as np

from ._typing import Array, Mask
from .algorithms import AskTell
from .evaluation import Evaluator, ObjectiveError, Outcome
from .evaluation.interrupts import check
from .history import RunHistory
from .recall import Memory
from .result import Result, Status, counted, describe
from .serialize import dumps
from .store import Store, StoreError

_LOG = logging.getLogger("eglearn")

# A checkpoint is written once in so many batches: what comes after it is learned again from the stored values.
_CHECKPOINT_EVERY = 20
_FRUITLESS = 2  # times in a row that all points in hand are lost before the workers are given up
_FLAT = (2, 10)  # batches and values, all of them equal, after which the user is told


class WorkersLost(Exception):
    """The workers do not evaluate any more; the text says why."""


class Watcher(Protocol):
    """Whoever wants to know of every evaluation when it arrives."""

    def evaluated(self, batch: int, row: int, x: Array | None, outcome: Outcome, at: float | None = None) -> None:
        """Take in an evaluation."""


class RunLoop:
    """The run: an optimiser, who evaluates for it, and where that is kept.

    Parameters
    ----------
    optimiser, budget, evaluator, store
        The parts; the budget may exceed the optimiser's, which then grows.
    on_error : {"skip", "raise"}, float or None
        As in ``minimize``.
    limits
        ``target``, ``max_seconds`` and others, for messages.
    history : RunHistory or None
        Of the run, for results.
    """

    def __init__(
        self,
        optimiser: AskTell,
        budget: int,
        evaluator: Evaluator,
        store: Store | None,
        on_error: str | float | None,
        limits: dict[str, float | None],
        history: RunHistory | None = None,
    ) -> None:
        self.optimiser, self.budget, self.evaluator, self.store = optimiser, budget, evaluator, store
        self.on_error, self.limits, self.history = on_error, limits, history
        self.watchers: list[Watcher] = []
        self.penalty = float(on_error) if isinstance(on_error, int | float | np.number) else math.nan
        self.first = True  # nothing has been evaluated in this run
        self.values: set[float] | None = set()  # those found, as long as they may be all equal
        self.n_failed = 0
        self.first_error: str | None = None
        self.memory = Memory(store, self._count)

    def resume(self) -> None:
        """Go on from the store's newest checkpoint, and learn from whatever was evaluated after it."""
        if self.store is None:
            return
        self.memory.reported = max((row["batch"] for row in self.store.progress()), default=-1)
        checkpoint = self.store.latest_checkpoint()
        if checkpoint is not None:
            batch, state = checkpoint
            self.values = None
            try:
                self.optimiser = type(self.optimiser).from_state(state)
            except ValueError as error:
                raise StoreError(
                    f"{self.store.path} cannot be continued ({error}): use the eglearn that wrote it"
                ) from error
            for evaluation in self.store.evaluations(with_x=False):
                if max(evaluation.batch, -1 - evaluation.batch) <= batch:  # or set aside up to there
                    self._count(evaluation.outcome)
        before = len(self.store.notes)
        for note in self.store.notes:
            _LOG.warning("%s", note)
        while self.stop() is None:
            x, known = self.memory.ask(self.optimiser)
            if len(known) < len(x):
                break
            if len(x):
                self.one_batch()
        else:
            self.memory.end(self.optimiser)
        for note in dict.fromkeys(self.store.notes[before:]):  # damaged rows; each batch is looked at twice
            _LOG.warning("%s", note)

    def stop(self) -> Status | None:
        """Why the run is over, or None. Where the budget it was begun with was too small, the next one follows."""
        status, store = self.optimiser.stop(), self.store
        # What counts as hopeless depends on the budget, too.
        while status in (Status.BUDGET, Status.ALL_FAILED) and store and self.optimiser.budget < self.budget:
            if store.budgets[-1] == self.optimiser.budget:
                done = counted(store.budgets[-1], "evaluation")
                _LOG.warning("%s holds a run of %s: it continues to %d", store.path, done, self.budget)
                store.extend(self.budget)
            self.optimiser.extend(next(budget for budget in store.budgets if budget > self.optimiser.budget))
            status = self.optimiser.stop()
        return status

    def one_batch(self) -> None:
        """Evaluate what the store does not know yet, and tell everything at once.

        An interruption tells what has arrived before it goes on its way: no finished evaluation is lost.
        """
        number = self.optimiser.nit
        x, known = self.memory.ask(self.optimiser)
        if not len(x):
            return
        y = np.full(len(x), np.nan)
        answered = np.zeros(len(x), dtype=bool)
        at = x.copy() if known else x
        for row, (outcome, place) in known.items():
            y[row], answered[row], at[row] = self._count(outcome), True, place
        self.first = self.first and number == 0 and not known
        begun = time.perf_counter()
        try:
            self._evaluate(number, x, y, answered)
        finally:
            evaluated = time.perf_counter()
            self.optimiser.tell(at[answered], y[answered])
        learned = time.perf_counter()
        if self.store is not None and number > self.memory.reported:
            due = number % _CHECKPOINT_EVERY == _CHECKPOINT_EVERY - 1
            progress = self.optimiser.progress() | {
                "best": self.found,
                "nfev": self.optimiser.nfev,
                "n_failed": self.n_failed,
                "seconds_evaluating": evaluated - begun,
                "seconds_learning": learned - evaluated,
            }
            self.store.end_batch(number, dumps(self.optimiser.state()) if due else None, progress)
        self._warn_if_flat()
        check()

    def _evaluate(self, number: int, x: Array, y: Array, answered: Mask) -> None:
        """Fill in what has no answer. What the workers lose is tried again, as long as they do not lose everything."""
        fruitless = 0
        while not answered.all():
            missing, reason = np.flatnonzero(~answered), None
            for k, outcome in self.evaluator.evaluate(x[missing]):
                row = int(missing[k])
                self._raise_if_asked(outcome, x[row])
                if outcome.lost:
                    reason = outcome.error
                    continue
                self.first = False
                y[row], answered[row] = self._count(outcome), True
                if self.store is not None:
                    self.store.record(number, row, x[row], outcome)
                for watcher in self.watchers:
                    watcher.evaluated(number, row, x[row], outcome)
            fruitless = 0 if answered[missing].any() else fruitless + 1
            if reason is not None and fruitless >= _FRUITLESS:
                raise WorkersLost(reason)

    def _raise_if_asked(self, outcome: Outcome, x: Array) -> None:
        """Raise what the user wants to hear of at once: each failure, or a mistake in the very first evaluation.

        The latter has an attribute ``in_objective``, by which it is told from wrong arguments of ours.
        """
        if self.on_error is None and self.first and outcome.mistake is not None:
            error = outcome.mistake.error
            hint = "on_error='skip' would skip such evaluations"
            error.add_note(f"eglearn: the first evaluation ended so, at x = {_shown(x)}; {hint}")
            error.in_objective = True  # type: ignore[attr-defined]
            raise error
        if self.on_error == "raise" and outcome.error is not None and not outcome.lost:
            raise ObjectiveError(f"{outcome.error}, at x = {_shown(x)}")

    def _warn_if_flat(self) -> None:
        batches, count = _FLAT
        good = self.optimiser.nfev - self.n_failed
        if self.values is not None and self.optimiser.nit >= batches and good >= count:
            if len(self.values) == 1:
                _LOG.warning(
                    "all of the first %d values are %r: the objective may not use its argument, or return a constant "
                    "where it fails; if it is flat there, choose another x0",
                    good, *self.values,
                )  # fmt: skip
            self.values = None

    def _count(self, outcome: Outcome) -> float:
        """What is told for an outcome."""
        if outcome.error is None:
            if self.values is not None:
                self.values.add(outcome.y)
            return outcome.y
        self.n_failed += 1
        self.first_error = self.first_error or outcome.error
        return self.penalty

    @property
    def found(self) -> float:
        """The lowest value; NaN if there is none, or only the one that stands for failures."""
        return math.nan if self._stands_in else float(self.optimiser.best_y)

    @property
    def _stands_in(self) -> bool:
        return self.n_failed > 0 and self.optimiser.best_y == self.penalty

    def result(self, status: Status, reason: str = "") -> Result:
        """The state of the run as a result."""
        opt = self.optimiser
        progress = opt.progress()
        message = describe(
            status, opt.nfev, self.n_failed, self.first_error, fixed=opt.n == 0, noisy=progress.get("noisy") == 1,
            penalty=self.penalty if self._stands_in else None, **self.limits,
        )  # fmt: skip
        return Result(
            x=opt.best_x,
            fun=self.found,
            x_favorite=opt.x_favorite,
            nfev=opt.nfev,
            nit=opt.nit,
            n_failed=self.n_failed,
            status=status,
            message=f"{message} ({reason})" if reason else message,
            progress=progress,
            history=self.history,
        )


def _shown(x: Array) -> str:
    return np.array2string(x, threshold=10)
