"""eglearn among nevergrad's optimizers: after ``import eglearn.nevergrad``, the registry has "EGL".

nevergrad asks for one point at a time and may ask for more before it tells values; so does eglearn's ``ask(1)``. Where
the search waits for answers, nevergrad gets normally distributed points around the best one, as wide as the search
samples now; the search learns from them too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from nevergrad.optimization.base import Optimizer, registry

from ._typing import Array
from .algorithms import AutoEGL

_SCALE = 1.5  # of nevergrad's standardised space: bounds are 3 away from its origin, as the first window is then
_PER_COORDINATE = 1000  # per coordinate, where nevergrad gives no budget: more follow when they are used
_FAILED = 5e20  # what nevergrad makes of NaN and infinite losses
_WINDOW = 2.0  # half the first window, in scales
_GIVEN_UP = 10  # times as many points as workers are open before the oldest one is given up


class EGLOptimizer(Optimizer):  # type: ignore[misc]
    """``eglearn.AutoEGL`` as an optimizer of nevergrad: ``ng.optimizers.registry["EGL"]``.

    Examples
    --------
    >>> import nevergrad as ng
    >>> import eglearn.nevergrad
    >>> optimizer = ng.optimizers.registry["EGL"](ng.p.Array(init=[3.0, 3.0]), budget=300)
    >>> recommended = optimizer.minimize(lambda x: float(sum((x - 1) ** 2)))
    >>> recommended.value.round(3).tolist()
    [1.0, 1.0]
    """

    def __init__(self, parametrization: Any, budget: int | None = None, num_workers: int = 1) -> None:
        super().__init__(parametrization, budget=budget, num_workers=num_workers)
        self._penalize_cheap_violations = True  # a point that breaks a constraint has failed
        self._egl: AutoEGL | None = None
        self._open: dict[str, Array] = {}
        """By candidate: the point asked for. nevergrad may evaluate another, inside its bounds or on its grid."""

    @property
    def optimiser(self) -> AutoEGL:
        """The optimiser of eglearn, made when it is needed: nevergrad's users may set a seed before."""
        if self._egl is None:
            n, width = self.dimension, self.num_workers
            seed, budget = int(self._rng.randint(2**31)), self.budget or _PER_COORDINATE * n
            self._egl = AutoEGL(None, np.zeros(n), scale=_SCALE, budget=budget, seed=seed, width=width)
        return self._egl

    def _internal_ask_candidate(self) -> Any:
        candidate = self.parametrization.spawn_child()
        if len(self._open) > _GIVEN_UP * (self.num_workers + 1):  # most of them will never be told
            oldest = next(iter(self._open))
            self.optimiser.tell(self._open.pop(oldest)[None], [np.nan])
        x = self._next()
        if x is None:
            return candidate.set_standardized_data(self._beside_the_best())
        candidate.set_standardized_data(x)
        self._open[candidate.uid] = x
        return candidate

    def _next(self) -> Array | None:
        """The next point of the search; None if it waits for answers."""
        egl = self.optimiser
        if egl.nfev + len(self._open) >= egl.budget:  # more than was planned with
            egl.extend(2 * egl.budget)
        x = egl.ask(1) if egl.stop() is None else np.empty((0, self.dimension))
        return x[0] if len(x) else None

    def _beside_the_best(self) -> Array:
        """A point while the search waits."""
        reach = self.optimiser.progress()["epsilon"]
        width = _WINDOW * _SCALE * (reach if 0 < reach < 1 else 1.0)
        x: Array = self.optimiser.best_x + width * self._rng.standard_normal(self.dimension)
        return x

    def _internal_tell_candidate(self, candidate: Any, loss: float) -> None:
        asked = self._open.pop(candidate.uid, None)
        x = candidate.get_standardized_data(reference=self.parametrization) if asked is None else asked
        self.optimiser.tell(np.asarray(x)[None], [np.nan if loss >= _FAILED else loss])

    def _internal_provide_recommendation(self) -> Any:
        egl = self.optimiser
        return egl.x_favorite if np.isfinite(egl.best_y) else None


if "EGL" not in registry:
    registry.register_name("EGL", EGLOptimizer)
