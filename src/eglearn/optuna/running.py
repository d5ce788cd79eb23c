"""One search among the numbers of a study: what it asks for as trials, and what it learns from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from .._typing import Array
from ..algorithms import AskTell
from .space import Group, Params, Space, belongs, has_number, sign_of

_FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
_OVERTAKEN = 100  # a trial that is not finished when so many later ones are is given up
_KNOWN = 20  # points in a row that rounding may lead to trials made before


@dataclass
class Running:
    """A search, which of its points are being tried, and which trials it knows."""

    space: Space
    group: Group
    kind: type[AskTell]
    planned: int
    width: int
    seed: int
    optimiser: AskTell | None = None
    given: dict[int, tuple[int, Params]] = field(default_factory=dict)
    """Points without an answer by the number of their trial: number of the point, and its parameters."""
    spare: list[tuple[int, Params]] = field(default_factory=list)
    """Points whose trial used other parameters, as a user may demand: the next trials get them."""
    heard: set[int] = field(default_factory=set)
    values: dict[tuple[Any, ...], float] = field(default_factory=dict)
    """Values of complete trials by their parameters, lower is better."""
    tried: set[tuple[Any, ...]] = field(default_factory=set)
    """Parameters of the trials that it asked for."""
    repeated: set[tuple[Any, ...]] = field(default_factory=set)
    """Parameters that had the same value twice."""
    judged: bool = False
    """Whether the last trial was made beside the best one."""
    polls: dict[tuple[Any, ...], int] = field(default_factory=dict)
    """How many trials were known when a neighbour of the best one was last tried."""
    polling: set[int] = field(default_factory=set)
    outdone: bool = False
    """The trials that do so, and whether one of them was better than all before."""
    start: tuple[Array, float] | None = None
    """Where the search began, and the value there, if it is known."""

    def hear(self, study: Study) -> None:
        """Learn from the trials that have ended since the last time."""
        sign = sign_of(study)
        trials = [t for t in study.get_trials(deepcopy=False, states=_FINISHED) if t.number not in self.heard]
        fitting = {t.number for t in trials if belongs(t, self.group) and self.space.holds(t)}
        best = min(self.values.values(), default=math.inf)
        for t in trials:
            if t.state is TrialState.COMPLETE and t.number in fitting and math.isfinite(t.values[0]):
                key, y = self.space.key(t.params), sign * t.values[0]
                if self.values.get(key) == y:
                    self.repeated.add(key)
                self.values[key] = y
                self.outdone = self.outdone or (t.number in self.polling and y < best)
        if self.optimiser is None:
            self._begin()
        assert self.optimiser is not None
        foreign_x, foreign_y = [], []
        for t in trials:
            self.heard.add(t.number)
            holds, y = t.number in fitting, self._value(t, sign)
            index, params = self.given.pop(t.number, (None, {}))
            if index is not None and (t.state is TrialState.FAIL or (holds and self.space.same(params, t.params))):
                self._answer(index, y, params)
                continue
            if index is not None:
                self.spare.append((index, params))
            if holds and math.isfinite(y):
                foreign_x.append(self.space.to_x(t.params))
                foreign_y.append(y)
        if foreign_x:
            self.optimiser.tell(np.array(foreign_x), np.array(foreign_y))
        for number in [k for k in self.given if sum(k < other for other in self.heard) >= _OVERTAKEN]:
            self._answer(self.given[number][0], math.nan, self.given.pop(number)[1])

    def _answer(self, index: int, y: float, params: Params) -> None:
        """The value of a point that was asked for, where it was tried."""
        assert self.optimiser is not None
        if index in self.optimiser.open()[0]:  # else another trial, at the same place, has told it
            self.optimiser.answer([index], [y], self.space.to_x(params)[None])

    def _begin(self) -> None:
        best = min(self.values, key=lambda key: self.values[key], default=None)
        x0 = None if best is None else self.space.to_x(dict(zip(self.space.distributions, best, strict=True)))
        self.start = None if x0 is None or best is None else (x0, self.values[best])
        self.optimiser = self.kind(self.space.bounds, x0, budget=self.planned, seed=self.seed, width=self.width)

    def _value(self, trial: FrozenTrial, sign: float) -> float:
        """What is learned for a trial; NaN: nothing but that it failed."""
        if trial.state is TrialState.COMPLETE:
            y = sign * trial.values[0]
        elif trial.state is TrialState.PRUNED and trial.intermediate_values and self.values:
            last = trial.intermediate_values[max(trial.intermediate_values)]
            y = float(np.fmax(sign * last, np.median(list(self.values.values()))))
        else:
            return math.nan
        return y if math.isfinite(y) else math.nan

    def is_over(self) -> bool:
        """Whether a new search must begin; this one is given more evaluations if it has used all of them."""
        optimiser = self.optimiser
        assert optimiser is not None
        if optimiser.nfev + len(self.given) + len(self.spare) >= optimiser.budget:
            optimiser.extend(2 * optimiser.budget)
        return self.outdone or optimiser.stop() is not None

    def beside_best(self, study: Study) -> Params | None:
        """Where other categories than those of the best trial are judged: at its numbers, as far as it has them.

        The rest is that of the group's own best trial. None if the best trial is one of the group, if there has been a
        trial at that place, and every other time, when the group's own search is to go on.
        """
        self.judged = not self.judged
        if not self.judged:
            return None
        sign, complete = sign_of(study), study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        best = min(complete, key=lambda t: sign * t.values[0], default=None)
        if best is None or belongs(best, self.group):  # always so without categories
            return None
        own = min(self.values, key=lambda key: self.values[key], default=None)
        params = {} if own is None else dict(zip(self.space.distributions, own, strict=True))
        params |= {name: best.params[name] for name, d in self.space.distributions.items() if has_number(best, name, d)}
        if len(params) < len(self.space.distributions) or self.space.key(params) in self.values:
            return None
        return params

    def next_params(self, study: Study, number: int) -> Params | None:
        """Parameters for the trial with this number; None if the search must wait for trials that are running."""
        optimiser = self.optimiser
        assert optimiser is not None
        for _ in range(_KNOWN):
            if self.spare:
                index, params = self.spare.pop(0)
            else:
                x = optimiser.ask(1)
                if not len(x):
                    return None
                index, params = optimiser.asked - 1, self.space.to_params(x[0])
                known = self._known(index, params, x[0])
                if known is not None:
                    self._answer(index, known, params)
                    if self.is_over():
                        return None
                    continue
                if (other := self._elsewhere(study, number, params)) is not None:
                    self.given[other] = index, params  # that trial will answer
                    continue
                if (beside := self._neighbour(params)) is not None:
                    self.spare.append((index, params))
                    self.polling.add(number)
                    return beside
            self.given[number] = index, params
            self.tried.add(self.space.key(params))
            return params
        return None

    def _elsewhere(self, study: Study, number: int, params: Params) -> int | None:
        """The number of another process's trial that is running at just this point: searches may think alike."""
        for t in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            ours = t.number == number or t.number in self.given
            if not ours and belongs(t, self.group) and self.space.holds(t) and self.space.same(params, t.params):
                return t.number
        return None

    def _neighbour(self, params: Params) -> Params | None:
        """The best trial moved by one step of a coarse grid, if the search has come down to the cell of the best trial.

        From within a cell it would not see what is beside it. The same neighbour is tried again when there are twice as
        many trials.
        """
        cell, best = self.space.cell, min(self.values, key=lambda key: self.values[key], default=None)
        if best is None:
            return None
        at = dict(zip(self.space.distributions, best, strict=True))
        if not cell(at) or cell(params) != cell(at):
            return None
        for name in self.space.coarse:
            d = self.space.distributions[name]
            for step in (-d.step, d.step):  # at an end of the grid, one of them leads back to the best trial itself
                beside = at | {name: self.space.on_grid(d, at[name] + step)}
                last = self.polls.get(cell(beside), 0)
                if self.space.key(beside) not in self.values and 2 * last <= len(self.values):
                    self.polls[cell(beside)] = len(self.values)
                    return beside
        return None

    def _known(self, index: int, params: Params, x: Array) -> float | None:
        """The value of a point where a trial would tell nothing new: the start, and where rounding leads.

        Exactly the same point as before is tried again, since so noise is found, until its value has repeated itself.
        """
        if index == 0 and self.start is not None and np.allclose(x, self.start[0], rtol=1e-12):
            return self.start[1]
        key = self.space.key(params)
        again = key in self.tried and key not in self.repeated and np.array_equal(self.space.to_x(params), x)
        return None if again else self.values.get(key)
