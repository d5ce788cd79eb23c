"""The convergent variant: the paper's algorithm 2."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..learning.memory import Replay
from ..learning.models import Model, gradient_model
from ..learning.regions import LinearRegion
from ..learning.samplers import sampler
from ..learning.steps import length
from ..learning.values import ENTERS, exponent_of, in_units
from .base import Reason, indistinct
from .egl_settings import ConvergentSettings
from .model_search import ModelSearch


@dataclass(init=False, eq=False, repr=False)
class ConvergentGradientLearning(ModelSearch):
    """Gradient descent along the mean-gradient, with alpha and epsilon falling together (paper alg. 2).

    For a convex f with Lipschitz constant kappa_f of its gradient, and alpha <= min(1 / kappa_f, 1 / kappa_g), each
    step that fails the test ``f(x_{k+1}) <= f(x_k) - constant * epsilon^2 / alpha`` starts at a point whose gradient
    is at most 5 epsilon / alpha. The test prints 2.25; what the proof gives is 2. A failing step is kept. There is
    neither an input map nor an output map: lengths, alpha and kappa refer to the canonical cube, which is the
    user's box where that is [-1, 1]^n. Each step learns from its own batch alone.

    The gradient falls with epsilon / alpha, so ``gamma_epsilon`` sets how many failed tests a given accuracy takes, and
    ``gamma_alpha`` to that power must leave alpha large enough to get there: with 0.9 and 0.97, the factors of
    algorithm 3, alpha is at 4e-11 of its first value when epsilon / alpha has fallen a thousandfold, and the run has
    long come to rest.
    """

    settings_class, scale_setting, batch_setting = ConvergentSettings, "epsilon", "m"
    settings: ConvergentSettings
    candidate: Array  # x_k
    epsilon: float
    alpha: float  # step size for values as they enter; NaN: to be chosen at the first gradient
    value: float = math.nan  # f(x_k); NaN if it failed
    loss: float = math.nan
    gradient_norm: float = math.nan

    def _begin(self, start: Array) -> None:
        s = self.settings
        self.candidate, self.epsilon = start.copy(), s.epsilon * math.sqrt(self.n)
        self.alpha = math.nan if s.alpha is None else s.alpha / ENTERS
        super()._begin(start)

    def _make_model(self, rng: np.random.Generator) -> Model:
        return gradient_model(self.settings, self.n, rng)

    def _derive(self) -> None:
        s = self.settings
        self._m = s.batch_size(self.n)
        self._sample = sampler(s.exploration, s.cone_angle)
        self._cube = LinearRegion.whole(self.n)

    @property
    def radius(self) -> float:
        """Of the samples."""
        return self.epsilon

    @property
    def favorite_u(self) -> Array:
        """x_k."""
        return self.candidate

    def _propose(self) -> Array:
        """The candidate and samples around it."""
        offsets = self._sample(self.rng, self._m - 1, self.n, np.zeros(self.n))
        return self._cube.to_u(np.vstack([self.candidate, self.candidate + self.epsilon * offsets]))

    def _learn(self, u: Array, y: Array) -> None:
        s = self.settings
        self._note_best(u, y)
        value = float(y[0])
        # "Not at most" rather than "above": a failed evaluation (NaN) fails the test too.
        if not math.isnan(self.value) and not value <= self.value - s.constant * self.epsilon**2 / self.alpha:
            self.alpha *= s.gamma_alpha
            self.epsilon *= s.gamma_alpha * s.gamma_epsilon
        if self.epsilon < s.epsilon_bar or indistinct(u):
            self.done = Reason.CONVERGED
        if math.isnan(value):
            self.candidate = self.best_u.copy()
        else:
            self.value = value
            self._step(u, y)

    def _step(self, u: Array, y: Array) -> None:
        good, data = np.isfinite(y), Replay(1)
        data.add(u[good], y[good], self._cube)
        if not len(data):
            return
        # In units of a power of two near their spread, which costs no accuracy and avoids overflow of squares.
        v = data.y - self.value
        exponent = exponent_of(v) - 1
        samples = data.samples(in_units(v, exponent), self.candidate)
        fit = self._model.fit(samples, self.settings.perturbation * self.epsilon, self.rng)
        gradient = in_units(fit.gradient(self.candidate[None])[0], -exponent)
        if not np.isfinite(gradient).all():
            gradient = np.zeros_like(gradient)
        self.loss, self.gradient_norm = fit.loss, length(gradient)
        if math.isnan(self.alpha) and self.gradient_norm > 0:
            self.alpha = self.epsilon / self.gradient_norm
        if self.alpha > 0:
            self.candidate = self._cube.to_u(self.candidate - self.alpha * gradient)

    def progress(self) -> dict[str, float]:
        """In the user's values."""
        alpha, norm = self.alpha * ENTERS, self.gradient_norm / ENTERS
        candidate = {"candidate": self.value, "epsilon": self.epsilon}
        return candidate | {"alpha": alpha, "gradient_norm": norm, "loss": self.loss}
