"""Many workers in virtual time: evaluations take as long as drawn, the optimisers nothing.

A *player* is an optimiser with any number of evaluations in flight. It hands out points with a key and takes answers as
they come; it may have fewer points than workers are free, which are idle then.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from .._typing import Array
from ..ours import AutoEGL

DURATIONS: dict[str, Callable[[Generator], float]] = {
    "fixed": lambda rng: 1.0,
    "log-normal": lambda rng: float(rng.lognormal(-0.5, 1.0)),
    "pareto": lambda rng: float((1 + rng.pareto(1.5)) / 3),
}
"""How long an evaluation takes; all have the mean 1."""


class Player(Protocol):
    """An optimiser with evaluations in flight."""

    def ask(self, k: int) -> list[tuple[Any, Array]]:
        """At most k new points with their keys; none where it waits."""

    def tell(self, key: Any, x: Array, y: float) -> None:
        """An answer."""


class Ours:
    """The default of ``minimize``."""

    def __init__(self, bounds: Any, x0: Array, width: int, budget: int, seed: int) -> None:
        self.opt = AutoEGL(bounds, x0, budget=budget, seed=seed, width=width)

    def ask(self, k: int) -> list[tuple[Any, Array]]:
        """See ``Player``."""
        if self.opt.stop():
            return []
        first = self.opt.asked
        return [(first + i, x) for i, x in enumerate(self.opt.ask(k))]

    def tell(self, key: Any, x: Array, y: float) -> None:
        """See ``Player``."""
        self.opt.answer([key], [y])


class Generations:
    """pycma with as many points in a generation as workers; the next one begins when all have their values.

    Where a run of it ends, the next one begins at a random point with twice as many.
    """

    def __init__(self, bounds: Any, x0: Array, width: int, budget: int, seed: int) -> None:
        self.low, self.high = np.transpose(bounds)
        self.seed, self.runs = seed, 0
        self.size = max(width, 4 + int(3 * math.log(len(x0))))
        self._begin(x0)

    def _begin(self, place: Array) -> None:
        import cma

        options = {"bounds": [self.low.tolist(), self.high.tolist()], "seed": 1000 * self.seed + self.runs + 1,
                   "verbose": -9, "verb_log": 0, "popsize": self.size * 2**self.runs}  # fmt: skip
        self.es = cma.CMAEvolutionStrategy(place, 0.2 * float((self.high - self.low).mean()), options)
        self.runs += 1
        self.points: list[Array] = []
        self.values: list[float] = []
        self.given = 0

    def ask(self, k: int) -> list[tuple[Any, Array]]:
        """See ``Player``."""
        if not self.points:
            if self.es.stop():
                self._begin(np.random.default_rng([self.seed, self.runs]).uniform(self.low, self.high))
            self.points, self.given = self.es.ask(), 0
            self.values = [math.nan] * len(self.points)
        part = range(self.given, min(self.given + k, len(self.points)))
        self.given = part.stop
        return [(i, np.asarray(self.points[i])) for i in part]

    def tell(self, key: Any, x: Array, y: float) -> None:
        """See ``Player``."""
        self.values[key] = y
        if not any(map(math.isnan, self.values)):
            self.es.tell(self.points, self.values)
            self.points = []


class Nevergrad:
    """An optimiser of nevergrad, asked one by one and told in the order of arrival."""

    name = "DE"

    def __init__(self, bounds: Any, x0: Array, width: int, budget: int, seed: int) -> None:
        import nevergrad as ng

        low, high = np.transpose(bounds)
        space = ng.p.Array(init=x0, lower=low, upper=high)
        space.random_state.seed(seed)
        self.opt = ng.optimizers.registry[self.name](space, budget=budget, num_workers=width)

    def ask(self, k: int) -> list[tuple[Any, Array]]:
        """See ``Player``."""
        candidates = [self.opt.ask() for _ in range(k)]
        return [(candidate, np.asarray(candidate.value)) for candidate in candidates]

    def tell(self, key: Any, x: Array, y: float) -> None:
        """See ``Player``."""
        self.opt.tell(key, y)


class TBPSA(Nevergrad):
    """Test-based population size adaptation."""

    name = "TBPSA"


class Optuna:
    """A sampler of Optuna: one study, a trial for each evaluation in flight."""

    def __init__(self, bounds: Any, x0: Array, width: int, budget: int, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.bounds = bounds
        self.study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=width > 1))
        self.study.enqueue_trial({f"x{i}": value for i, value in enumerate(x0)})

    def ask(self, k: int) -> list[tuple[Any, Array]]:
        """See ``Player``."""
        asked = []
        for _ in range(k):
            trial = self.study.ask()
            x = [trial.suggest_float(f"x{i}", low, high) for i, (low, high) in enumerate(self.bounds)]
            asked.append((trial, np.array(x)))
        return asked

    def tell(self, key: Any, x: Array, y: float) -> None:
        """See ``Player``."""
        self.study.tell(key, y)


PLAYERS: dict[str, Callable[..., Player]] = {
    "auto": Ours,
    "cma-generations": Generations,
    "de-asynchronous": Nevergrad,
    "tbpsa": TBPSA,
    "tpe": Optuna,
}
"""All players by name."""


def play(
    player: Player, fun: Callable[[Array], float], width: int, budget: int, duration: str, seed: int, enough: float
) -> tuple[list[tuple[float, float]], float]:
    """Let a player use its workers until a value is at most ``enough`` or the budget is used.

    Returns
    -------
    improvements : list of (time, value)
        Each value below all before it, and when it arrived.
    busy : float
        The share of time that workers were busy, until the last evaluation was begun.

    Examples
    --------
    >>> player = Ours([(-1, 1)] * 2, np.array([0.5, 0.5]), width=4, budget=40, seed=0)
    >>> improvements, busy = play(player, lambda x: float(x @ x), 4, 40, "fixed", 0, 0.0)
    >>> improvements[-1][1] < 0.1, busy
    (True, 1.0)
    """
    rng, draw = np.random.default_rng(seed), DURATIONS[duration]
    now, begun, ends, last = 0.0, 0, 0.0, 0.0
    work: list[tuple[float, float]] = []  # from, to
    in_flight: list[tuple[float, int, Any, Array, float]] = []
    improvements: list[tuple[float, float]] = []
    while True:
        free = min(width - len(in_flight), budget - begun)
        for key, x in player.ask(free) if free > 0 else ():
            ends = now + draw(rng)
            work.append((now, ends))
            heapq.heappush(in_flight, (ends, begun, key, x, fun(x)))
            begun, last = begun + 1, now
        if not in_flight:
            break
        now, _, key, x, y = heapq.heappop(in_flight)
        player.tell(key, x, y)
        if not improvements or y < improvements[-1][1]:
            improvements.append((now, y))
        if y <= enough:
            last = now if begun < budget else last
            break
    busy = sum(min(end, last) - start for start, end in work if start < last)
    return improvements, busy / (last * width) if last > 0 else 1.0
