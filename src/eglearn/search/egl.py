"""Explicit Gradient Learning: the paper's algorithm 3."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..learning.memory import Replay, Samples
from ..learning.models import CurvedFit, Fit, Model, gradient_model
from ..learning.output import OutputMap
from ..learning.regions import REGIONS, LinearRegion, ShapedRegion
from ..learning.samplers import sampler
from ..learning.shape import stretch
from ..learning.steps import gradient_step, newton_step
from ..learning.values import exponent_of, in_units
from .base import Reason, indistinct, spread
from .egl_settings import EGLSettings, ZoomSettings
from .model_search import ModelSearch

# Squares of values below 2^450, and sums of many of them, are far from the largest float, 2^1024.
_LARGEST_EXPONENT = 450


@dataclass(init=False, eq=False, repr=False)
class GradientLearning(ModelSearch):
    """Algorithm 3, but for what is learned and how the step follows from it."""

    settings: Any
    region: LinearRegion
    output: OutputMap
    memory: Replay
    candidate: Array  # the current candidate, z coordinates (the paper's x tilde_k)
    epsilon: float  # exploration radius, z coordinates
    gradient: Array  # the last learned gradient at a candidate, z coordinates; zeros: none yet
    values: list[float]  # values of the last candidates in this region, oldest first; NaN if all have failed so far
    warm: bool = False  # whether the region has been explored once already
    steps: int = 0  # candidates since the region began, the first not counted
    bad: int = 0  # candidates since the last good one, by the shrink rule
    best_candidate: float = math.nan  # the lowest value of a candidate
    best_candidate_u: Array | None = None  # and where that was
    loss: float = math.nan  # the model's loss at its last fit
    budget: int | None = None  # evaluations that the zoom is planned for; None: not known

    def __init__(self, *args: Any, budget: int | None = None, **rest: Any) -> None:
        self.budget = budget
        super().__init__(*args, budget=budget, **rest)

    def extend(self, more: int) -> None:
        """The zoom is planned for so many more evaluations."""
        self.budget = None if self.budget is None else self.budget + more

    def _begin(self, start: Array) -> None:
        s: ZoomSettings = self.settings
        self.region = REGIONS[s.region].whole(self.n)
        self.output = OutputMap(s.output_map, s.output_quantile, s.output_rate)
        self.memory = Replay(max(s.replay, s.shape_replay) if s.region == "shaped" else s.replay)
        self.candidate, self.gradient = self.region.to_z(start), np.zeros(self.n)
        self.epsilon, self.values = s.epsilon * math.sqrt(self.n), []
        super()._begin(start)

    def _derive(self) -> None:
        s = self.settings
        self._m, self._n_max = s.batch_size(self.n), s.patience(self.n)
        self._sample = sampler(s.exploration, s.cone_angle)
        self.memory.look(self.region)

    @property
    def radius(self) -> float:
        """The radius of the samples, in the cube."""
        return self.epsilon * float(np.max(self.region.sigma))

    @property
    def favorite_u(self) -> Array:
        """The current candidate."""
        return self.region.to_u(self.candidate)

    @property
    def value_now(self) -> float:
        """The value of the last candidate."""
        return self.values[-1] if self.values else math.nan

    def _propose(self) -> Array:
        """The candidate and samples around it; more of them where the region is new."""
        count = self._m if self.warm else self._m * self.settings.warmup_factor
        offsets = self._sample(self.rng, count - 1, self.n, -self.gradient)
        samples = self.region.around(self.candidate, self.epsilon * offsets)
        return np.vstack([self.region.to_u(self.candidate), samples])

    def hear(self, u: Array, y: Array) -> None:
        """Points from elsewhere are a batch of their own; at the beginning, only those near the best of them."""
        super().hear(u, y)
        if self.asked == 0:
            self.epsilon = min(self.epsilon, math.sqrt(self.n) * spread(u, y))
            near = np.linalg.norm(self.region.to_z(u) - self.candidate, axis=1) <= self.epsilon
            u, y = u[near], y[near]
        if len(y) > 1:
            self.memory.add(u, y, self.region)

    def _learn(self, u: Array, y: Array) -> None:
        self._note_best(u, y)
        good = np.isfinite(y)
        for start in range(0, len(y), self._m):  # a warm-up counts as several batches of the usual size
            rows = np.flatnonzero(good[start : start + self._m]) + start
            self.memory.add(u[rows], y[rows], self.region)
        if good.any():
            self.output.update(y[good])
        self._judge(u[0], float(y[0]))
        self.warm = self.warm or bool(good.any())
        if self._should_shrink():
            self._shrink()
        elif math.isnan(y[0]):
            self._return_to_best()
        elif len(self.memory):
            self._step(u, y)
        if indistinct(u):
            self.done = Reason.CONVERGED

    def _judge(self, u: Array, value: float) -> None:
        """Keep count of good and bad candidates; a failed one is bad."""
        last = self.value_now
        if self.settings.shrink_rule == "row":  # alg. 3: worse than the candidate before; a tie is not worse
            improved, worse = value <= last, value > last
        else:
            improved, worse = not value >= self.best_candidate, value >= self.best_candidate
        if math.isnan(value) or worse:
            self.bad += 1
        elif improved:
            self.bad = 0
        if not value >= self.best_candidate and not math.isnan(value):
            self.best_candidate, self.best_candidate_u = value, u.copy()
        self.steps += len(self.values) > 0
        if math.isnan(value):  # in a mean, a failed candidate stands as the worst one known
            value = max((v for v in self.values if not math.isnan(v)), default=math.nan)
        self.values = [*self.values, value][-2 * self._n_max :]

    def _should_shrink(self) -> bool:
        s = self.settings
        if self.steps < max(s.n_min, 1):
            return False
        if self._planned:
            return bool(self._plan() <= s.region_factor)
        if s.shrink_rule in ("row", "best"):
            return bool(self.bad >= self._n_max)
        if len(self.values) < 2 * self._n_max:
            return False
        # Sec. 4.2: the running mean has stopped falling. Divided first, since a sum of huge values overflows.
        parts = np.array(self.values) / self._n_max
        return not np.sum(parts[self._n_max :]) < np.sum(parts[: self._n_max])

    @property
    def _planned(self) -> bool:
        return bool(self.settings.shrink_rule == "planned" and self.budget)

    def _plan(self) -> float:
        """The planned width of the region over its width."""
        assert self.budget
        return float(self.settings.planned_width(self.used / self.budget) / self.region.sigma[0])

    @property
    def _centre(self) -> Array:
        """The paper's x_best."""
        if self.settings.centre == "candidate" and self.best_candidate_u is not None:
            return self.best_candidate_u
        return self.best_u

    def _shrink(self) -> None:
        """A new region around the best point, and a new beginning inside it."""
        s = self.settings
        factor = self._plan() if self._planned else s.region_factor
        if isinstance(self.region, ShapedRegion) and len(self.memory):
            self.region = self.region.shaped(stretch(self._remembered(), s.shape_limit))
        self.region = self.region.shrunk(self._centre, factor)
        self.memory.move_to(self.region)
        self.output.reset()
        self._model.reset()
        self.epsilon = max(self.epsilon * s.epsilon_factor, s.epsilon_min)
        self.warm, self.steps, self.bad, self.values = False, 0, 0, []
        self._return_to_best()

    def _return_to_best(self) -> None:
        self.candidate = self.region.to_z(self._centre)

    def samples(self) -> Samples:
        """What the model learns from: the last L batches, their values mapped."""
        return self._remembered().last(self.settings.replay)

    def _remembered(self) -> Samples:
        """All batches, their values mapped."""
        v = self.output(self.memory.y)
        # Maps without a squash may leave values whose squares overflow: these are learned from in a larger unit. Only
        # the length of the gradient changes, which is beyond any step then.
        v = in_units(v, max(0, exponent_of(v) - _LARGEST_EXPONENT))
        return self.memory.samples(v, self.candidate)

    def _dither(self) -> float:
        return 0.0  # the radius of the perturbed mean-gradient

    def _step(self, u: Array, y: Array) -> None:
        if self.settings.jump:
            self.candidate = self.region.to_z(u[np.nanargmin(y)])
        fit = self._model.fit(self.samples(), self._dither(), self.rng)
        gradient = fit.gradient(self.candidate[None])[0]
        if not np.isfinite(gradient).all():  # beyond the range of floats: no step rather than a wild one
            gradient = np.zeros_like(gradient)
        self.gradient, self.loss = gradient, fit.loss
        self.candidate = self.region.moved(self.candidate, self._step_along(fit, gradient))

    def _step_along(self, fit: Fit, gradient: Array) -> Array:
        return gradient_step(gradient, self.settings.alpha, self.epsilon if self.settings.cap else None)

    def progress(self) -> dict[str, float]:
        """Of the candidate, the region and the model."""
        region, norm = float(np.max(self.region.sigma)), float(np.linalg.norm(self.gradient))
        candidate = {"candidate": self.value_now, "epsilon": self.epsilon}
        return candidate | {"region": region, "gradient_norm": norm, "loss": self.loss}


@dataclass(init=False, eq=False, repr=False)
class ExplicitGradientLearning(GradientLearning):
    """Explicit Gradient Learning (paper alg. 3): the gradient itself is learned, from all pairs of samples.

    Sample around the candidate, learn the mean-gradient that best explains the differences of values, step along it;
    when the candidates stop improving, go on in a smaller region around the best point.
    """

    settings_class = EGLSettings
    settings: EGLSettings

    def _make_model(self, rng: np.random.Generator) -> Model:
        return gradient_model(self.settings, self.n, rng, self.settings.region != "linear")

    def _dither(self) -> float:
        return float(self.settings.perturbation * self.epsilon)

    def _step_along(self, fit: Fit, gradient: Array) -> Array:
        if self.settings.step_kind == "gradient":
            return super()._step_along(fit, gradient)
        assert isinstance(fit, CurvedFit)  # the settings allow these steps for no other model
        # How far the curvature can be trusted: fewer samples than unknowns see it in part of the directions only.
        unknowns = self.n * (self.n + 3) / 2
        known = min(1.0, math.sqrt(len(self.memory.y) / unknowns))
        # Coordinates at a face of the region towards which the descent points may not move.
        u, low, high = self.favorite_u, self.region.mu - self.region.sigma, self.region.mu + self.region.sigma
        held = ((u <= low) & (gradient > 0)) | ((u >= high) & (gradient < 0))
        return newton_step(fit, gradient, self.epsilon * known, ~held)
