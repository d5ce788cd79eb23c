"""The sampler: which search a trial belongs to, and what is sampled one by one."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.search_space import IntersectionSearchSpace, intersection_search_space
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from ..algorithms import find_algorithm
from ..arguments import check_whole
from .running import Running
from .space import Group, Params, Space, belongs, group_of, is_number

_TRIALS = 1000  # that the search plans for if nothing is said; it goes on after them


class EGLSampler(BaseSampler):
    """Samples float and int parameters by eglearn's default search, which learns the objective's gradient.

    Parameters that every complete trial has, with the same range each time, are searched together: floats as they are
    or, if they have ``log=True``, by their logarithm; ints and floats with a ``step`` are rounded to their grid.
    Categorical parameters are sampled first, by ``independent_sampler``. Each combination of their values has a search
    of its own, among the numbers that all its complete trials have. So numbers that exist only for some categories are
    searched, too. To compare combinations, another one than the best so far is tried at the best numbers so far every
    other time. What is left goes to ``independent_sampler``.

    A failed trial counts as a failed evaluation. A pruned one counts with the last value that it reported, but not as
    better than half of the complete trials. Trials of other processes, and trials that were there before, are learned
    from, too.

    Parameters
    ----------
    n_trials : int or None
        How many trials are planned; more are possible. None: 1000.
    n_jobs : int
        How many of them run at the same time, as in ``study.optimize``.
    seed : int or None
        Makes a study with one worker repeatable; None draws a seed.
    algorithm : str
        As in ``eglearn.minimize``.
    independent_sampler : BaseSampler or None
        Samples what is not searched; None: Optuna's TPESampler.

    Examples
    --------
    >>> import math, optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def objective(trial):
    ...     x, rate = trial.suggest_float("x", -5, 5), trial.suggest_float("rate", 1e-5, 1, log=True)
    ...     return (x - 1) ** 2 + (math.log10(rate) + 3) ** 2
    >>> study = optuna.create_study(sampler=EGLSampler(n_trials=60, seed=0))
    >>> study.optimize(objective, n_trials=60)
    >>> study.best_value < 1e-6
    True
    """

    def __init__(
        self,
        *,
        n_trials: int | None = None,
        n_jobs: int = 1,
        seed: int | None = None,
        algorithm: str = "auto",
        independent_sampler: BaseSampler | None = None,
    ) -> None:
        self._kind = find_algorithm(algorithm)
        check_whole("n_trials", n_trials, "", 1, optional=True)
        check_whole("n_jobs", n_jobs, "", 1)
        check_whole("seed", seed, "", 0, optional=True)
        self._n_trials, self._n_jobs = int(n_trials or _TRIALS), int(n_jobs)
        self._seed = np.random.SeedSequence(seed).generate_state(1).item()
        self._independent = independent_sampler or TPESampler(seed=seed)
        self._random = RandomSampler(seed=self._seed)
        self._shared_space = IntersectionSearchSpace()
        self._chosen: dict[int, Params] = {}  # categories by number of the trial
        self._searches: dict[Group, Running] = {}
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def reseed_rng(self) -> None:
        """Called by Optuna when threads share this sampler; they also share its search, which needs no new seed."""
        self._independent.reseed_rng()
        self._random.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The categories that all complete trials have in common, and the numbers of those with the same categories."""
        with self._lock:
            shared = {name: d for name, d in self._shared_space.calculate(study).items() if not d.single()}
            categories = {name: d for name, d in shared.items() if isinstance(d, CategoricalDistribution)}
            chosen = self._chosen[trial.number] = self._choose(study, trial, categories)
        group = group_of(chosen, categories)
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        alike = [t for t in complete if group and belongs(t, group)]
        common = intersection_search_space(alike) if alike else shared
        return categories | {name: d for name, d in common.items() if is_number(d) and not d.single()}

    def _choose(self, study: Study, trial: FrozenTrial, categories: Mapping[str, BaseDistribution]) -> Params:
        return {name: self._independent.sample_independent(study, trial, name, d) for name, d in categories.items()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Categories, and the next point of their search."""
        self._raise_error_if_multi_objective(study)
        numbers = {name: d for name, d in search_space.items() if is_number(d) and not d.single()}
        others = {name: d for name, d in search_space.items() if name not in numbers}
        with self._lock:
            chosen = self._chosen.pop(trial.number, {})
            chosen = {name: chosen[name] for name in others if name in chosen}
            chosen |= self._choose(study, trial, {name: d for name, d in others.items() if name not in chosen})
            group = group_of(chosen, others)
            return chosen | (self._numbers(study, trial, group, Space(numbers)) if numbers else {})

    def _numbers(self, study: Study, trial: FrozenTrial, group: Group, space: Space) -> Params:
        """The next point of a group's search; if that must wait for trials which are running, a random one."""
        running = self._searches.get(group)
        if running is None or running.space.distributions != space.distributions:
            running = self._searches[group] = self._begin(space, group, trial)
        running.hear(study)
        if running.is_over():
            polls = running.polls
            running = self._searches[group] = self._begin(space, group, trial)
            running.polls = polls
            running.hear(study)
        if (params := running.beside_best(study)) is not None:
            return params
        return running.next_params(study, trial.number) or {
            name: self._random.sample_independent(study, trial, name, d) for name, d in space.distributions.items()
        }

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """One value: of the very first trial the middle of the range, else what the independent sampler gives."""
        self._raise_error_if_multi_objective(study)
        if trial.number == 0 and is_number(param_distribution):
            return Space({param_name: param_distribution}).middle()[param_name]
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Pass on to the independent sampler that a trial has ended."""
        self._chosen.pop(trial.number, None)
        self._independent.after_trial(study, trial, state, values)

    def _begin(self, space: Space, group: Group, trial: FrozenTrial) -> Running:
        # Processes that share a seed begin with different trials, so they do not search the same points.
        seed = np.random.SeedSequence([self._seed, trial.number]).generate_state(1).item()
        return Running(space, group, self._kind, self._n_trials, self._n_jobs, seed)
