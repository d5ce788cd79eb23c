"""CMA-ES: adaptation of a normal distribution, helped by the learned model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._typing import Array
from ..learning.models.least_change import LeastChange, ball_step, median, memory
from ..learning.steps import length
from .base import Search
from .stopping import reason_to_stop
from .trust_region import default_batch

# Standard deviations below this, and ratios of them above that, end the pass.
_SMALLEST, _LARGEST_RATIO = 1e-11, 1e7
# Over so many uses of the model is its success counted; with less than this share, it is rarely used.
_COUNTED, _WORTHWHILE = 20, 0.1


@dataclass(frozen=True)
class Rates:
    """Weights of sorted samples and rates of learning from them (the tutorial, table 1)."""

    positive: Array
    """Of the better half; their sum is 1."""
    negative: Array
    """Of the worse half."""
    mu_eff: float
    cc: float
    cs: float
    c1: float
    cmu: float
    damping: float

    @classmethod
    def of(cls, n: int, size: int) -> Rates:
        """For ``size`` samples in ``n`` dimensions."""
        raw = math.log((size + 1) / 2) - np.log(np.arange(1, size + 1))
        mu = max(size // 2, 1)
        positive, negative = raw[:mu] / raw[:mu].sum() if size > 1 else np.ones(1), raw[mu:]
        mu_eff = 1 / float(np.sum(positive**2))
        c1 = 2 / ((n + 1.3) ** 2 + mu_eff)
        cmu = min(1 - c1, 2 * (0.25 + mu_eff + 1 / mu_eff - 2) / ((n + 2) ** 2 + mu_eff))
        cs = (mu_eff + 2) / (n + mu_eff + 5)
        if negative.any():
            negative = negative / -negative.sum()
            mu_eff_negative = 1 / float(np.sum(negative**2))
            negative *= min(1 + c1 / cmu, 1 + 2 * mu_eff_negative / (mu_eff + 2), (1 - c1 - cmu) / (n * cmu))
        return cls(
            positive, negative, mu_eff, cc=(4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n), cs=cs, c1=c1, cmu=cmu,
            damping=1 + 2 * max(0.0, math.sqrt((mu_eff - 1) / (n + 1)) - 1) + cs,
        )  # fmt: skip


class CMAES(Search):
    """CMA-ES with active update (Hansen 2016, the tutorial) in the cube; samples outside are mirrored at the faces.

    Its samples also feed the least-change model. One point of the next batch is the model's minimum within a trust
    radius; if that point is the best of its batch, the mean moves there.

    Parameters
    ----------
    rng, start
        See ``Search``.
    sigma : float
        The first standard deviation.
    size : int or None
        Points in a batch; None: the usual number. The model is used up to twice that, since the samples of large
        populations are too far apart for a quadratic.
    noisy : bool
        Whether medians, in place of the best values, tell when to stop. The model, which is centred at the best
        sample, is not used then.
    """

    fields: ClassVar[tuple[str, ...]] = (
        *Search.fields,
        *("mean", "sigma", "size", "noisy", "C", "B", "D", "path_c", "path_s", "batches", "decomposed"),
        *("H", "exponent", "u", "y", "trust", "injected", "hits", "history"),
    )

    def __init__(
        self,
        rng: np.random.Generator,
        start: Array,
        sigma: float = 0.4,
        size: int | None = None,
        noisy: bool = False,
    ) -> None:
        super().__init__(rng, start)
        n = self.n
        self.mean, self.sigma = start.copy(), sigma
        self.size, self.noisy = size if size is not None else default_batch(n), noisy
        self.C, self.B, self.D = np.eye(n), np.eye(n), np.ones(n)
        """The covariance matrix is sigma^2 C, and C = B D^2 B^T."""
        self.path_c, self.path_s = np.zeros(n), np.zeros(n)
        self.batches = self.decomposed = 0
        """Batches so far, and at the last decomposition of C."""
        self.H, self.exponent = np.zeros((n, n)), 0
        self.u, self.y = np.empty((0, n)), np.empty(0)
        """Samples for the model, oldest first."""
        self.trust = 1.0
        self.injected: Array | None = None
        """The model's point for the next batch."""
        self.hits: list[bool] = []
        """Whether the last injected points were the best of their batches."""
        self.history: list[float] = []
        """The best values of the last batches, or their medians."""
        self._derive()

    def _derive(self) -> None:
        """What follows from dimension and population."""
        n, size = self.n, self.size
        self._rates = Rates.of(n, size)
        self._expected = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))
        self._uses_model = not self.noisy and size <= 2 * default_batch(n)

    @property
    def radius(self) -> float:
        """The largest standard deviation."""
        return self.sigma * float(self.D[-1])

    @property
    def value_now(self) -> float:
        """The median of what the last batches had best: falls also while the distribution contracts."""
        return median(self.history[-max(1, 10 * self.n // self.size) :]) if self.history else math.nan

    def propose(self) -> Array:
        """Samples of the distribution; the first is the model's point, if there is one."""
        z = self.rng.standard_normal((self.size, self.n))
        u = self.mean + self.sigma * (z * self.D) @ self.B.T
        u = np.where(np.abs(u) > 1, 2 * np.sign(u) - u, u)
        if self.injected is not None:
            u[0] = self.injected
        return np.clip(u, -1, 1)

    def _learn(self, u: Array, y: Array) -> None:
        good = np.isfinite(y)
        if not good.any():
            self._after_failure()
            return
        if len(y) < self.size:  # the budget is at its end, and nothing follows
            self._note_best(u, y)
            return
        order = np.argsort(y, kind="stable")  # failed ones, NaN, are the last
        injected = self.injected is not None
        wins = injected and order[0] == 0
        if injected:
            self._judge_model(bool(wins), not y[0] <= y[order[good.sum() // 2]])
        self._note_best(u, y)
        jump = u[0].copy() if wins and self.trust >= 1 else None
        place = int(np.argmin(order)) if injected and good[0] else None
        self._adapt(u[order[: int(good.sum())]], place)
        if jump is not None:
            self.mean = jump
        if self._uses_model:
            size = 3 * memory(self.n)
            self.u, self.y = np.vstack([self.u, u[good]])[-size:], np.concatenate([self.y, y[good]])[-size:]
        self.injected = self._model_point() if self._asks_model() else None
        self.done = self._reason_to_stop(y[good])

    def _after_failure(self) -> None:
        """Nothing was learned: back to what worked, and closer."""
        if math.isnan(self.best_y):
            self.done = "failed"
        self.mean, self.injected = self.best_u.copy(), None
        self.sigma *= 0.5
        if self.done is None and self.radius < _SMALLEST:
            self.done = "converged"

    # --- the distribution ---------------------------------------------------------------------------------------

    def _adapt(self, u: Array, injected: int | None) -> None:
        """Move mean, paths, C and sigma; ``u`` are the points that did not fail, the best first."""
        n = self.n
        r = self._rates if len(u) == self.size else Rates.of(n, len(u))
        steps = (u - self.mean) / self.sigma
        if injected is not None:  # a long way of the model must not blow up the distribution (Hansen 2011: injection)
            far = length((self.B.T @ steps[injected]) / self.D)
            steps[injected] *= min(1.0, (self._expected + 2) / far) if far > 0 else 1.0
        mean_step = r.positive @ steps[: len(r.positive)]
        self.mean = np.clip(self.mean + self.sigma * mean_step, -1, 1)
        white = self.B @ ((self.B.T @ mean_step) / self.D)
        cs, cc, c1, cmu = r.cs, r.cc, r.c1, r.cmu
        self.path_s = (1 - cs) * self.path_s + math.sqrt(cs * (2 - cs) * r.mu_eff) * white
        self.batches += 1
        speed = length(self.path_s) / self._expected
        steady = speed / math.sqrt(1 - (1 - cs) ** (2 * self.batches)) < 1.4 + 2 / (n + 1)
        self.path_c = (1 - cc) * self.path_c + steady * math.sqrt(cc * (2 - cc) * r.mu_eff) * mean_step
        weights = np.concatenate([r.positive, r.negative])
        keep = 1 + c1 * (1 - steady) * cc * (2 - cc) - c1 - cmu * float(weights.sum())
        bad = weights < 0
        lengths = np.sum(((steps[bad] @ self.B) / self.D) ** 2, axis=1)
        weights[bad] *= n / np.maximum(lengths, 1e-12)
        self.C = keep * self.C + c1 * np.outer(self.path_c, self.path_c) + cmu * (steps.T * weights) @ steps
        self.sigma *= math.exp(min(1.0, cs / r.damping * (speed - 1)))
        if self.batches - self.decomposed > 1 / (c1 + cmu) / n / 10:
            self.C = 0.5 * (self.C + self.C.T)
            variances, self.B = np.linalg.eigh(self.C)
            self.D = np.sqrt(np.maximum(variances, variances[-1] / _LARGEST_RATIO**2))
            self.decomposed = self.batches

    # --- the model ----------------------------------------------------------------------------------------------

    def _judge_model(self, wins: bool, worse_than_half: bool) -> None:
        self.hits = [*self.hits, wins][-_COUNTED:]
        if wins:
            self.trust = min(1.5 * self.trust, 3.0)
        elif worse_than_half:
            self.trust = max(0.7 * self.trust, 0.1)

    def _asks_model(self) -> bool:
        if not self._uses_model or len(self.y) < self.n + 2:
            return False
        poor = len(self.hits) == _COUNTED and sum(self.hits) <= _WORTHWHILE * _COUNTED
        return not poor or bool(self.rng.random() < _WORTHWHILE)

    def _model_point(self) -> Array:
        """The model's minimum around the best point, in coordinates in which samples have length 1."""
        scale = self.sigma * math.sqrt(self.n)
        A, inverse = self.B * (self.D * scale), (self.B / (self.D * scale)).T
        model = LeastChange(self.H, self.exponent)
        g, H = model.fit(self.u, self.y, self.best_u, self.best_y, A, inverse)
        self.H, self.exponent = model.H, model.exponent
        return np.clip(self.best_u + A @ ball_step(g, H, self.trust), -1, 1)

    # --- the end ------------------------------------------------------------------------------------------------

    def _reason_to_stop(self, y: Array) -> str | None:
        why = reason_to_stop(self.history, y, self.batches, self.n / self.size, self.noisy)
        if self.radius < _SMALLEST:
            return "converged"
        if self.D[-1] > 0.999 * _LARGEST_RATIO * self.D[0]:  # D is kept within the ratio
            return "degenerate"
        return why
