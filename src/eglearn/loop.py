"""Ask, evaluate, tell, store: the run, with any number of evaluations in flight.

The points are a function of the answers, told one after the other: whenever fewer than ``width`` points are open, the
search is asked for as many as are missing. So a run can be replayed from its store, to the last bit.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from typing import Protocol

import numpy as np

from ._typing import Array
from .algorithms import AskTell
from .evaluation import Evaluator, ObjectiveError, Outcome
from .evaluation.interrupts import check
from .history import RunHistory
from .recall import Arrival, Memory
from .result import Result, Status, counted, describe
from .serialize import dumps
from .stop_rules import StopRules
from .store import Store, StoreError

_LOG = logging.getLogger("eglearn")

# A checkpoint is written after so many answers: what comes after it is learned again from the stored values.
_CHECKPOINT_EVERY = 200
_PROGRESS_SHARE = 1 / 500  # of all answers, and n of them, lie between two rows of progress: a long run has few
_FRUITLESS = 2  # times in a row that all points in hand are lost before the workers are given up
_FLAT = (2, 10)  # groups and values, all of them equal, after which the user is told


class WorkersLost(Exception):
    """The workers do not evaluate any more; the text says why."""


class Watcher(Protocol):
    """Whoever wants to know of every evaluation when it arrives."""

    def evaluated(self, index: int, x: Array | None, outcome: Outcome, at: float | None = None) -> None:
        """Take in an evaluation."""


class RunLoop:
    """The run: an optimiser, who evaluates for it, and where that is kept.

    Answers are told in groups: those of all open points if these are evaluated together or one after the other, else
    each answer by itself.

    Parameters
    ----------
    optimiser, budget, evaluator, store
        The parts; the budget may exceed the optimiser's, which then grows.
    width : int
        How many points are open at a time; 1: as many as the search asks for at once.
    together : bool
        Whether one call evaluates all open points.
    ordered : bool
        Whether answers are told in the order of asking; else in that of arrival.
    on_error : {"skip", "raise"}, float or None
        As in ``minimize``.
    limits
        ``target``, ``max_seconds`` and others, for messages.

    Attributes
    ----------
    rules : StopRules
        They are given each answer that is told.
    watchers : list
        They are given each answer when it arrives.
    history : RunHistory or None
        For results.
    """

    def __init__(
        self,
        optimiser: AskTell,
        budget: int,
        evaluator: Evaluator,
        store: Store | None,
        *,
        width: int,
        ordered: bool,
        together: bool = False,
        on_error: str | float | None,
        limits: dict[str, float | None],
    ) -> None:
        self.optimiser, self.budget, self.evaluator, self.store = optimiser, budget, evaluator, store
        self.width, self.ordered, self.together = width, ordered, together or width == 1
        self.on_error, self.limits = on_error, limits
        self.rules = StopRules(optimiser.box.n)
        self.history: RunHistory | None = None
        self.watchers: list[Watcher] = []
        self.penalty = float(on_error) if isinstance(on_error, int | float | np.number) else math.nan
        self.first = True  # nothing has been evaluated in this run
        self.values: set[float] | None = set()  # those found, as long as they may be all equal
        self.nit = self.n_failed = 0
        self.first_error: str | None = None
        self.memory = Memory(store, self._count)
        self.open: dict[int, Array] = {}  # points without an answer that was told, in the order of asking
        self.waiting: deque[int] = deque()  # of these: nobody works on them
        self.flying: set[int] = set()  # of these: an evaluation is in flight
        self.arrived: dict[int, Arrival] = {}  # of these: the answer is there, and is not told yet
        self.arrivals = 0  # in a run without a store
        self.lost = 0  # outcomes in a row that the workers have lost
        self.saved = 0  # after how many answers there was a checkpoint
        self.seconds = {"seconds_evaluating": 0.0, "seconds_learning": 0.0}  # since the last row of progress

    # --- going on from a store ----------------------------------------------------------------------------------

    def resume(self) -> None:
        """Go on from the store's newest checkpoint, and learn from whatever was evaluated after it."""
        if self.store is None:
            return
        checkpoint = self.store.latest_checkpoint()
        if checkpoint is not None:
            self.saved, state = checkpoint
            self.values = None
            try:
                self.optimiser = type(self.optimiser).from_state(state["optimiser"])
            except ValueError as error:
                raise StoreError(
                    f"{self.store.path} cannot be continued ({error}): use the eglearn that wrote it"
                ) from error
            self.nit, self.n_failed, self.first_error = state["nit"], state["n_failed"], state["first_error"]
            self.rules.load_state(state.get("rules"))
        before = len(self.store.notes)
        for note in self.store.notes:
            _LOG.warning("%s", note)
        self.memory.begin()
        indices, x = self.optimiser.open()
        self._take_up(dict(zip(indices.tolist(), x, strict=True)))
        while self.stop() is None:
            self._ask()
            if not (group := self._ready()):
                break
            self._tell(group)
            self.nit += 1
            self._save()
            check()
        else:
            self.memory.end(self.optimiser)
        self.first = self.optimiser.nfev == 0 and not self.arrived
        for note in dict.fromkeys(self.store.notes[before:]):
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

    def grow(self, budget: int) -> None:
        """Somebody who watches the run wishes that it goes on up to this budget, if it is larger."""
        if budget > self.budget:
            self.budget = budget
            if self.store is not None and budget > self.store.budgets[-1]:
                self.store.extend(budget, wished=True)

    # --- one step -----------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Wait for the next group of answers, tell it, and ask for what follows."""
        self._ask()
        while not (group := self._ready()):
            self._submit()
            if not self.flying:  # what is left of the budget was set aside
                self.memory.end(self.optimiser)
                if self.stop() is None:
                    raise RuntimeError(f"{self.optimiser!r} has no point to evaluate")
                return
            self._receive()
        self._tell(group)
        self.nit += 1
        if self.width > 1 and self.optimiser.stop() is None:
            self._ask()
            self._submit()  # before the other answers are told: workers need not wait for that
        self._save()
        self._warn_if_flat()
        check()

    def _ask(self) -> None:
        """Ask for the points that are missing."""
        missing = 0 if self.together and self.open else self.width - len(self.open)
        if missing > 0 and self.optimiser.stop() is None:
            begun, first = time.perf_counter(), self.optimiser.asked
            x = self.optimiser.ask(missing if self.width > 1 else None)
            self.seconds["seconds_learning"] += time.perf_counter() - begun
            self._take_up(dict(enumerate(x, start=first)), first)

    def _take_up(self, points: dict[int, Array], first: int | None = None) -> None:
        known = self.memory.look(self.optimiser, points, first)
        self.open |= points
        self.arrived |= known
        self.waiting.extend(index for index in points if index not in known)

    def _ready(self) -> list[int]:
        """The points whose answers are told next; none if one of them is still missing."""
        if self.together:
            whole = len(self.arrived) >= min(len(self.open), self.optimiser.budget - self.optimiser.nfev)
            return sorted(self.arrived) if whole else []
        if self.ordered:
            return [index for index in list(self.open)[:1] if index in self.arrived]
        return sorted(self.arrived, key=lambda index: self.arrived[index].order)[:1]

    def _submit(self) -> None:
        """Send off what waits, as far as the budget goes."""
        used = self.optimiser.nfev + len(self.arrived) + len(self.flying) + self.memory.unseen(self.optimiser)
        for _ in range(min(len(self.waiting), self.optimiser.budget - used)):
            index = self.waiting.popleft()
            self.flying.add(index)
            self.evaluator.submit(index, self.open[index])

    def _receive(self) -> None:
        begun = time.perf_counter()
        outcomes = self.evaluator.wait()
        self.seconds["seconds_evaluating"] += time.perf_counter() - begun
        if (trouble := self._keep(outcomes)) is not None:
            raise trouble

    def _keep(self, outcomes: list[tuple[int, Outcome]]) -> BaseException | None:
        """Store outcomes, and give what ends the run. What is lost is tried again, unless everything is."""
        troubles: list[BaseException] = []
        for index, outcome in outcomes:
            self.flying.discard(index)
            if (trouble := self._trouble(outcome, self.open[index])) is not None:
                troubles.append(trouble)
            elif outcome.lost:
                self.waiting.append(index)
                self.lost += 1
                if self.lost >= _FRUITLESS * (len(self.waiting) + len(self.flying)):
                    troubles.append(WorkersLost(outcome.error))
            else:
                self.first, self.lost, self.arrivals = False, 0, self.arrivals + 1
                order = self.arrivals if self.store is None else self.store.record(index, self.open[index], outcome)
                self.arrived[index] = Arrival(order, outcome, self.open[index])
                for watcher in self.watchers:
                    watcher.evaluated(index, self.open[index], outcome)
        return troubles[0] if troubles else None

    def _tell(self, group: list[int]) -> None:
        if not group:
            return
        begun = time.perf_counter()
        arrived = [self.arrived.pop(index) for index in group]
        asked = [self.open.pop(index) for index in group]
        y = [self._count(arrival.outcome) for arrival in arrived]
        moved = any(arrival.x is not x for arrival, x in zip(arrived, asked, strict=True))
        x = np.array([arrival.x for arrival in arrived]) if moved else None
        self.optimiser.answer(group, y, x)
        for arrival in arrived:
            self.rules.told(arrival.x, arrival.outcome)
        self.seconds["seconds_learning"] += time.perf_counter() - begun

    def _save(self, last: bool = False) -> None:
        """Write progress and a checkpoint, if it is time for them; at the end, progress alone."""
        told = self.optimiser.nfev
        if self.store is None or told <= self.memory.reported:
            return
        progress = checkpoint = None
        if last or told - self.memory.reported >= max(self.optimiser.n, told * _PROGRESS_SHARE):
            numbers = {"best": self.found, "nit": self.nit, "n_failed": self.n_failed}
            progress = self.optimiser.progress() | numbers | self.seconds
            self.memory.reported, self.seconds = told, dict.fromkeys(self.seconds, 0.0)
        if not last and told - self.saved >= _CHECKPOINT_EVERY:
            counts = {"nit": self.nit, "n_failed": self.n_failed, "first_error": self.first_error}
            checkpoint = dumps({"optimiser": self.optimiser.state(), "rules": self.rules.state(), **counts})
            self.saved = told
        if progress is not None or checkpoint is not None:
            self.store.save(told, progress, checkpoint)

    def settle(self) -> None:
        """The run ends here: keep what has finished, tell all that has arrived, and give up the rest."""
        try:
            if self.flying:
                self._keep(self.evaluator.wait(block=False))
        finally:
            self.evaluator.cancel()
            self._tell(sorted(self.arrived, key=lambda index: self.arrived[index].order))
        self._save(last=True)

    # --- what is told, and to whom ------------------------------------------------------------------------------

    def _trouble(self, outcome: Outcome, x: Array) -> BaseException | None:
        """What the user wants to hear of at once: each failure, or a mistake in the very first evaluation.

        The latter has an attribute ``in_objective``, by which it is told from wrong arguments of ours.
        """
        if self.on_error is None and self.first and outcome.mistake is not None:
            error = outcome.mistake.error
            hint = "on_error='skip' would skip such evaluations"
            error.add_note(f"eglearn: the first evaluation ended so, at x = {_shown(x)}; {hint}")
            error.in_objective = True  # type: ignore[attr-defined]
            return error
        if self.on_error == "raise" and outcome.error is not None and not outcome.lost:
            return ObjectiveError(f"{outcome.error}, at x = {_shown(x)}")
        return None

    def _warn_if_flat(self) -> None:
        groups, count = _FLAT
        good = self.optimiser.nfev - self.n_failed
        if self.values is not None and self.nit >= groups and good >= count:
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
            budget=self.budget,
            nit=self.nit,
            n_failed=self.n_failed,
            status=status,
            message=f"{message} ({reason})" if reason else message,
            progress=progress,
            history=self.history,
        )


def _shown(x: Array) -> str:
    return np.array2string(x, threshold=10)
