"""CMA-ES: adaptation of a normal distribution, helped by the learned model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..learning.models.least_change import LeastChange
from ..learning.recombination import Rates, expected_length, log_weights, ranked
from ..learning.samplers import folded
from ..learning.steps import ball_step, length
from ..settings import BELOW_ONE, FLAG, Settings, or_none, setting, whole
from .base import Reason, SamplingSearch, default_batch, spread
from .stopping import reason_to_stop


@dataclass(frozen=True, kw_only=True)
class CMAESSettings(Settings):
    """Constants of ``CMAES``; rates and weights are those of Hansen's tutorial (2016)."""

    sigma: float = setting(0.4, "the first standard deviation", "ours: a fifth of the cube")
    size: int | None = setting(None, "points in a batch; None: 4 + 3 ln n", "Hansen 2016, eq. 48", or_none(whole(1)))
    noisy: bool = setting(False, "medians, not best values, tell when to stop; no model is used", "ours", FLAG)
    smallest: float = setting(1e-11, "standard deviations below this end the search", "ours")
    largest_ratio: float = setting(1e7, "ratios of standard deviations above this end it", "Hansen 2009: 1e7")
    model_up_to: float = setting(2.0, "largest batch with a model, by the usual", "ours: larger ones are too wide")
    counted: int = setting(20, "uses of the model over which its success is counted", "ours", whole(1))
    worthwhile: float = setting(0.1, "with less than this share of successes it is rarely used", "ours", BELOW_ONE)
    trust_up: float = setting(1.5, "factor of the model's trust radius when its point is the best", "ours")
    trust_down: float = setting(0.7, "factor when its point is in the worse half", "ours", BELOW_ONE)
    trust_most: float = setting(3.0, "the largest trust radius, in lengths of samples", "ours")
    trust_least: float = setting(0.1, "the smallest", "ours")
    remembered: int = setting(3, "samples that are remembered, by the number in a fit", "ours", whole(1))


@dataclass(init=False, eq=False, repr=False)
class CMAES(SamplingSearch):
    """CMA-ES with active update (Hansen 2016, the tutorial) in the cube; samples outside are mirrored at the faces.

    It learns from where they were drawn, as if the function went on beyond a face as its mirror image: their images
    would seem closer together than they were, and the step size would be misled.

    Its samples also feed the least-change model. One point of the next batch is the model's minimum within a trust
    radius; if that point is the best of its batch, the mean moves there.
    """

    settings_class, scale_setting, batch_setting, mirrors = CMAESSettings, "sigma", "size", True
    settings: CMAESSettings
    mean: Array
    sigma: float
    C: Array
    B: Array
    D: Array  # the covariance matrix is sigma^2 C, and C = B D^2 B^T
    path_c: Array
    path_s: Array
    model: LeastChange
    u: Array
    y: Array  # samples for the model, oldest first
    hits: list[bool]  # whether the last injected points were the best of their batches
    history: list[float]  # the best values of the last batches, or their medians
    batches: int = 0
    decomposed: int = 0  # batches so far, and at the last decomposition of C
    trust: float = 1.0
    injected: Array | None = None  # the model's point for the next batch

    def _begin(self, start: Array) -> None:
        n = self.n
        self.mean, self.sigma = start.copy(), self.settings.sigma
        self.C, self.B, self.D = np.eye(n), np.eye(n), np.ones(n)
        self.path_c, self.path_s = np.zeros(n), np.zeros(n)
        self.model = LeastChange(np.zeros((n, n)))
        self.u, self.y = np.empty((0, n)), np.empty(0)
        self.hits, self.history = [], []

    def _derive(self) -> None:
        n, s = self.n, self.settings
        self.size = s.size or max(default_batch(n), self.width // 2)
        self._rates, self._weights = _rates(n, self.size)
        self._expected = expected_length(n)
        self._uses_model = not s.noisy and self.size <= s.model_up_to * default_batch(n)

    @property
    def radius(self) -> float:
        """The largest standard deviation."""
        return self.sigma * float(self.D[-1])

    @property
    def favorite_u(self) -> Array | None:
        """The mean if values are noisy."""
        return self.mean if self.settings.noisy else None

    @property
    def value_now(self) -> float:
        """The median of what the last batches had best: falls also while the distribution contracts."""
        recent = self.history[-max(1, 10 * self.n // self.size) :]
        return float(np.nanmedian(recent)) if recent else math.nan

    @property
    def enough(self) -> int:
        """Points in a batch."""
        return self.size

    @property
    def leading(self) -> int:
        """The model's point."""
        return int(self.injected is not None)

    def _samples(self, k: int) -> Array:
        z = self.rng.standard_normal((k, self.n))
        u: Array = self.mean + self.sigma * (z * self.D) @ self.B.T  # eq. 38 to 40
        return u

    def _propose(self) -> Array:
        """Samples of the distribution; the first is the model's point, if there is one."""
        u = self._samples(self.size)
        if self.injected is not None:
            u[0] = self.injected
        return u

    def _learn(self, u: Array, y: Array) -> None:
        inside = folded(u)
        self._note_best(inside, y)
        good = np.isfinite(y)
        if not good.any():
            self._after_failure()
            return
        order, injected = ranked(y), self.injected is not None
        wins = injected and bool(order[0] == 0)
        if injected:
            self._judge_model(wins, not y[0] <= y[order[good.sum() // 2]])
        self._adapt(u[order[: int(good.sum())]], int(np.argmin(order)) if injected and good[0] else None)
        if wins and self.trust >= 1:
            self.mean = u[0].copy()
        self._remember(inside[good], y[good])
        self.injected = self._model_point() if self._asks_model() else None
        self.done = self._reason_to_stop(y[good])

    def _remember(self, u: Array, y: Array) -> None:
        if self._uses_model:
            size = self.settings.remembered * self.model.settings.count(self.n)
            self.u, self.y = np.vstack([self.u, u])[-size:], np.concatenate([self.y, y])[-size:]

    def hear(self, u: Array, y: Array) -> None:
        """Points from elsewhere are samples of the model; at the beginning, it and their spread tell where to look."""
        super().hear(u, y)
        order = np.argsort(-y, kind="stable")
        self._remember(u[order], y[order])
        if self.asked == 0:
            self.sigma = min(self.sigma, spread(u, y))
            self.injected = self._model_point() if self._asks_model() else None

    def _after_failure(self) -> None:
        """Nothing was learned: back to what worked, and closer."""
        self.mean, self.sigma, self.injected = self.best_u.copy(), 0.5 * self.sigma, None
        if math.isnan(self.best_y):
            self.done = Reason.FAILED
        elif self.radius < self.settings.smallest:
            self.done = Reason.CONVERGED

    def _adapt(self, u: Array, injected: int | None) -> None:
        """Move mean, paths, C and sigma; ``u`` are the points that did not fail, the best first."""
        n = self.n
        r, (positive, negative) = (self._rates, self._weights) if len(u) == self.size else _rates(n, len(u))
        steps = (u - self.mean) / self.sigma
        # A long way of the model, or of a sample of an earlier distribution, must not blow up this one (Hansen 2011:
        # injection).
        far = slice(None) if self.width > 1 else slice(0, 0) if injected is None else slice(injected, injected + 1)
        lengths = np.linalg.norm((steps[far] @ self.B) / self.D, axis=1)
        steps[far] *= np.minimum(1.0, (self._expected + 2) / np.maximum(lengths, 1e-300))[:, None]
        mean_step = positive @ steps[: len(positive)]  # eq. 41
        self.mean = self.mean + self.sigma * mean_step  # eq. 42
        white = self.B @ ((self.B.T @ mean_step) / self.D)
        cs, cc, c1, cmu = r.cs, r.cc, r.c1, r.cmu
        self.path_s = (1 - cs) * self.path_s + math.sqrt(cs * (2 - cs) * r.mu_eff) * white  # eq. 43
        self.batches += 1
        speed = length(self.path_s) / self._expected
        steady = speed / math.sqrt(1 - (1 - cs) ** (2 * self.batches)) < 1.4 + 2 / (n + 1)  # h_sigma
        self.path_c = (1 - cc) * self.path_c + steady * math.sqrt(cc * (2 - cc) * r.mu_eff) * mean_step  # eq. 45
        weights = np.concatenate([positive, negative])
        keep = 1 + c1 * (1 - steady) * cc * (2 - cc) - c1 - cmu * float(weights.sum())
        bad = weights < 0
        squares = np.sum(((steps[bad] @ self.B) / self.D) ** 2, axis=1)
        weights[bad] *= n / np.maximum(squares, 1e-12)  # eq. 46
        self.C = keep * self.C + c1 * np.outer(self.path_c, self.path_c) + cmu * (steps.T * weights) @ steps  # eq. 47
        self.sigma *= math.exp(min(1.0, cs / r.damping * (speed - 1)))  # eq. 44
        if self.batches - self.decomposed > 1 / (c1 + cmu) / n / 10:
            self.C = 0.5 * (self.C + self.C.T)
            variances, self.B = np.linalg.eigh(self.C)
            self.D = np.sqrt(np.maximum(variances, variances[-1] / self.settings.largest_ratio**2))
            self.decomposed = self.batches
        if (np.abs(self.mean) > 1).any():
            self._mirror()

    def _mirror(self) -> None:
        """The mean has left the cube: its image takes its place, with all of the distribution as in that mirror."""
        before, self.mean = self.mean, folded(self.mean)
        sign = np.where(np.mod(before + 1, 4) > 2, -1.0, 1.0)
        self.C, self.B = sign[:, None] * self.C * sign, sign[:, None] * self.B
        self.path_c, self.path_s = sign * self.path_c, sign * self.path_s
        if self.late is not None:
            self.late.u = self.mean + sign * (self.late.u - before)

    def _judge_model(self, wins: bool, worse_than_half: bool) -> None:
        s = self.settings
        self.hits = [*self.hits, wins][-s.counted :]
        if wins:
            self.trust = min(s.trust_up * self.trust, s.trust_most)
        elif worse_than_half:
            self.trust = max(s.trust_down * self.trust, s.trust_least)

    def _asks_model(self) -> bool:
        s = self.settings
        if not self._uses_model or len(self.y) < self.n + 2:
            return False
        poor = len(self.hits) == s.counted and sum(self.hits) <= s.worthwhile * s.counted
        return not poor or bool(self.rng.random() < s.worthwhile)

    def _model_point(self) -> Array:
        """The model's minimum around the best point, in coordinates in which samples have length 1."""
        scale = self.sigma * math.sqrt(self.n)
        A, inverse = self.B * (self.D * scale), (self.B / (self.D * scale)).T
        g, H = self.model.learn(self.u, self.y, self.best_u, self.best_y, A, inverse)
        return np.clip(self.best_u + A @ ball_step(g, H, self.trust), -1, 1)

    def _reason_to_stop(self, y: Array) -> Reason | None:
        s = self.settings
        why = reason_to_stop(self.history, y, self.batches, self.n / self.size, s.noisy)
        if self.radius < s.smallest:
            return Reason.CONVERGED
        if self.D[-1] > 0.999 * s.largest_ratio * self.D[0]:  # D is kept within the ratio
            return Reason.DEGENERATE
        return why


def _rates(n: int, size: int) -> tuple[Rates, tuple[Array, Array]]:
    """Rates, and weights of the better and of the worse half (the latter: eq. 50 to 53)."""
    positive, negative = log_weights(size)
    r = Rates.of(n, positive)
    if negative.any():
        negative = negative / -negative.sum()
        mu_eff_negative = 1 / float(np.sum(negative**2))
        negative *= min(1 + r.c1 / r.cmu, 1 + 2 * mu_eff_negative / (r.mu_eff + 2), (1 - r.c1 - r.cmu) / (n * r.cmu))
    return r, (positive, negative)
