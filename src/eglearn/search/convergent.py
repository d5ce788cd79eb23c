"""The convergent variant: the paper's algorithm 2."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from .._typing import Array, State
from ..asktell import AskTell
from ..learning.memory import Replay
from ..learning.models import Model, make_model
from ..learning.regions import LinearRegion
from ..learning.samplers import sampler
from ..learning.steps import length
from ..settings import Settings


@dataclass
class ConvergentPosition:
    """Where the descent stands; all lengths in canonical coordinates."""

    candidate: Array
    """x_k."""
    epsilon: float
    alpha: float
    """Step size; NaN: to be chosen at the first gradient."""
    value: float = math.nan
    """f(x_k); NaN if it failed."""
    loss: float = math.nan
    gradient_norm: float = math.nan


# Settings of what this algorithm does without: both maps, the replay, algorithm 3's rules of stepping and shrinking.
_UNUSED = (
    *("warmup_factor", "replay", "region", "region_factor", "output_map", "output_quantile", "output_rate"),
    *("epsilon_factor", "epsilon_min", "step", "alpha", "cap", "jump", "shrink_rule", "n_max", "n_min"),
)


class ConvergentEGL(AskTell):
    """Gradient descent along the mean-gradient, with alpha and epsilon falling together (paper alg. 2).

    For a convex f with Lipschitz constant kappa_f of its gradient, and alpha <= min(1 / kappa_f, 1 / kappa_g), each
    step that fails the test ``f(x_{k+1}) <= f(x_k) - constant * epsilon^2 / alpha`` starts at a point whose gradient
    is at most 5 epsilon / alpha. The test prints 2.25; what the proof gives is 2. A failing step is kept. There is
    neither an input map nor an output map: lengths, alpha and kappa refer to the canonical cube, which is the
    user's box where that is [-1, 1]^n. Each step learns from its own batch alone.

    Parameters
    ----------
    bounds, x0, budget, seed, scale, settings
        As for EGL. Used of ``settings``: m, exploration, model and what belongs to it, epsilon.
    alpha : float or None
        The first step size; None makes the first step ``epsilon`` long.
    gamma_alpha, gamma_epsilon : float
        Factors of alpha, and of epsilon on top of that, at each failed test. The gradient falls with epsilon / alpha,
        so ``gamma_epsilon`` sets how many failed tests a given accuracy takes, and ``gamma_alpha`` to that power must
        leave alpha large enough to get there: with 0.9 and 0.97, the factors of algorithm 3, alpha is at 4e-11 of its
        first value when epsilon / alpha has fallen a thousandfold, and the run has long come to rest.
    constant : float
        The constant in the test.
    epsilon_bar : float
        The run has converged when epsilon falls below.

    Examples
    --------
    >>> import numpy as np
    >>> opt = ConvergentEGL([(-1, 1)] * 3, x0=[0.5, 0.5, 0.5], budget=2000)
    >>> while not opt.stop():
    ...     X = opt.ask()
    ...     opt.tell(X, np.sum(X**2, axis=1))
    >>> bool(opt.best_y < 1e-4)
    True
    """

    alpha: float | None = None
    defaults: ClassVar[Settings] = Settings.for_model("constant", epsilon=0.1, exploration="ball")

    def __init__(
        self,
        bounds: Any,
        x0: Any = None,
        *,
        alpha: float | None = None,
        gamma_alpha: float = 0.95,
        gamma_epsilon: float = 0.8,
        constant: float = 2.0,
        epsilon_bar: float = 1e-12,
        **rest: Any,
    ) -> None:
        for name, value, below in (
            ("alpha", 1.0 if alpha is None else alpha, math.inf),
            ("gamma_alpha", gamma_alpha, 1.0),
            ("gamma_epsilon", gamma_epsilon, 1.0),
            ("constant", constant, math.inf),
            ("epsilon_bar", epsilon_bar, math.inf),
        ):
            if not 0 < value < below:
                raise ValueError(f"{name} = {value!r}: allowed is a number above 0" + (" and below 1" * (below == 1)))
        self.alpha = alpha
        self.gamma_alpha, self.gamma_epsilon = gamma_alpha, gamma_epsilon
        self.constant, self.epsilon_bar = constant, epsilon_bar
        super().__init__(bounds, x0, **rest)

    @classmethod
    def uses(cls, setting: str) -> bool:
        """See ``AskTell.uses``."""
        return setting not in _UNUSED

    def _start(self) -> None:
        s, n = self.settings, self.n
        self._m = s.batch_size(n)
        self._sample = sampler(s.exploration, s.cone_angle)
        self._cube = LinearRegion.whole(n)
        self._model: Model = make_model(s, n, self._rng)
        alpha = math.nan if self.alpha is None else self.alpha
        self._descent = ConvergentPosition(self.box.start, s.epsilon * math.sqrt(n), alpha)

    @property
    def candidate_u(self) -> Array:
        """x_k in canonical coordinates."""
        return self._descent.candidate

    def _propose(self) -> Array:
        d = self._descent
        offsets = self._sample(self._rng, self._m - 1, self.n, np.zeros(self.n))
        return self._cube.to_u(np.vstack([d.candidate, d.candidate + d.epsilon * offsets]))

    def _learn(self, u: Array, y: Array, foreign_u: Array, foreign_y: Array) -> None:
        d = self._descent
        value = float(y[0])
        # "Not at most" rather than "above": a failed evaluation (NaN) fails the test too.
        if not math.isnan(d.value) and not value <= d.value - self.constant * d.epsilon**2 / d.alpha:
            d.alpha *= self.gamma_alpha
            d.epsilon *= self.gamma_alpha * self.gamma_epsilon
        if d.epsilon < self.epsilon_bar:
            self._converged = True
        if math.isnan(value):
            d.candidate = self.best_u.copy()
            return
        d.value = value
        good = np.isfinite(y)
        data = Replay(1)
        data.add(u[good], y[good], self._cube)
        if len(data):
            # In units of a power of two near their spread, which costs no accuracy and avoids overflow of squares;
            # quarters, since the difference of two values near the largest float would overflow too.
            quarters = data.y * 0.25 - value * 0.25
            unit = 2.0 ** (math.frexp(np.max(np.abs(quarters)))[1] - 1)
            fit = self._model.fit(
                data.samples(quarters / unit, d.candidate), self.settings.perturbation * d.epsilon, self._rng
            )
            with np.errstate(over="ignore"):
                gradient = fit.gradient(d.candidate[None])[0] * unit * 4
            if not np.isfinite(gradient).all():
                gradient = np.zeros_like(gradient)
            d.loss, d.gradient_norm = fit.loss, length(gradient)
            if math.isnan(d.alpha) and d.gradient_norm > 0:
                d.alpha = d.epsilon / d.gradient_norm
            if d.alpha > 0:
                d.candidate = self._cube.to_u(d.candidate - d.alpha * gradient)

    def _progress(self) -> dict[str, float]:
        d = self._descent
        return {
            "candidate": d.value,
            "epsilon": d.epsilon,
            "alpha": d.alpha,
            "gradient_norm": d.gradient_norm,
            "loss": d.loss,
        }

    def _environment(self) -> dict[str, Any]:
        return super()._environment() | (self._model.environment() if self.n > 0 else {})

    def _search_state(self) -> State:
        return {
            "descent": asdict(self._descent),
            "rules": [self.alpha, self.gamma_alpha, self.gamma_epsilon, self.constant, self.epsilon_bar],
            "model": self._model.state(),
        }

    def _load_search_state(self, state: State) -> None:
        self._descent = ConvergentPosition(**state["descent"])
        self.alpha, self.gamma_alpha, self.gamma_epsilon, self.constant, self.epsilon_bar = state["rules"]
        self._model.load_state(state["model"])
