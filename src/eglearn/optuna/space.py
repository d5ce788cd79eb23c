"""The parameters of Optuna's trials as coordinates of a search."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from .._typing import Array

Params = dict[str, Any]
Group = tuple[tuple[str, float], ...]
"""Categories: the names of parameters, and which of their choices."""
_COARSE = 20  # steps: a grid with so many or fewer is coarse


class Space:
    """Parameters as coordinates: logarithms where a range is logarithmic; grids reach half a step beyond their ends."""

    def __init__(self, distributions: Mapping[str, Any]) -> None:
        self.distributions = dict(distributions)
        self.coarse = [
            name for name, d in self.distributions.items() if d.step is not None and d.high - d.low <= _COARSE * d.step
        ]
        self.bounds = []
        for d in self.distributions.values():
            low, high = float(d.low), float(d.high)
            if d.step is not None:
                low, high = low - 0.5 * d.step, high + 0.5 * d.step
            self.bounds.append((math.log(low), math.log(high)) if d.log else (low, high))

    def to_x(self, params: Params) -> Array:
        """The coordinates of some parameters."""
        pairs = self.distributions.items()
        return np.array([math.log(params[name]) if d.log else float(params[name]) for name, d in pairs])

    def to_params(self, x: Array) -> Params:
        """The parameters at some coordinates, on their grids."""
        params: Params = {}
        for (name, d), coordinate in zip(self.distributions.items(), x.tolist(), strict=True):
            params[name] = self.on_grid(d, math.exp(coordinate) if d.log else coordinate)
        return params

    @staticmethod
    def on_grid(d: Any, value: float) -> Any:
        """The nearest value that a parameter may have."""
        if d.step is not None:
            value = d.low + d.step * round((value - d.low) / d.step)
        return min(max(value, d.low), d.high)

    def cell(self, params: Params) -> tuple[Any, ...]:
        """The values of the parameters on coarse grids."""
        return tuple(params[name] for name in self.coarse)

    def middle(self) -> Params:
        """The parameters in the middle of their ranges."""
        return self.to_params(np.array([low / 2 + high / 2 for low, high in self.bounds]))

    def key(self, params: Params) -> tuple[Any, ...]:
        """The values of these parameters alone."""
        return tuple(params[name] for name in self.distributions)

    def holds(self, trial: FrozenTrial) -> bool:
        """Whether a trial has all these parameters, in their ranges."""
        return all(has_number(trial, name, d) for name, d in self.distributions.items())

    def same(self, one: Params, other: Params) -> bool:
        """Whether two points agree; a database may have rounded the last digit."""
        return all(math.isclose(one[name], other[name], rel_tol=1e-12) for name in self.distributions)


def group_of(chosen: Params, categories: Mapping[str, Any]) -> Group:
    """The group of these choices."""
    return tuple((name, categories[name].to_internal_repr(value)) for name, value in sorted(chosen.items()))


def belongs(trial: FrozenTrial, group: Group) -> bool:
    """Whether a trial has these categories."""
    return all(
        name in trial.params and trial.distributions[name].to_internal_repr(trial.params[name]) == index
        for name, index in group
    )


def has_number(trial: FrozenTrial, name: str, d: Any) -> bool:
    """Whether a trial has a number in this range."""
    return name in trial.params and is_number(trial.distributions[name]) and d.low <= trial.params[name] <= d.high


def sign_of(study: Study) -> float:
    """-1 if the study maximises: the search minimises."""
    return -1.0 if study.direction is StudyDirection.MAXIMIZE else 1.0


def is_number(d: BaseDistribution) -> bool:
    """Whether it is a float or an int."""
    return isinstance(d, FloatDistribution | IntDistribution)
