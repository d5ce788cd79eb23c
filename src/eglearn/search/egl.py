"""Explicit Gradient Learning: the paper's algorithm 3."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .._typing import Array, Mask, State
from ..asktell import AskTell
from ..learning.memory import Replay
from ..learning.models import CurvedFit, Fit, Model, make_model
from ..learning.output import OutputMap
from ..learning.regions import REGIONS, InputMap
from ..learning.samplers import sampler
from ..learning.steps import gradient_step, newton_step


@dataclass
class Position:
    """Where the search stands."""

    candidate: Array
    """The current candidate, z coordinates (the paper's x tilde_k)."""
    epsilon: float
    """Exploration radius, z coordinates."""
    gradient: Array
    """The last learned gradient at a candidate, z coordinates; zeros: none yet."""
    warm: bool = False
    """Whether the region has been explored once already."""
    steps: int = 0
    """Candidates since the region began, the first not counted."""
    bad: int = 0
    """Candidates since the last good one, by the shrink rule."""
    values: list[float] = field(default_factory=list)
    """Values of the last candidates in this region, oldest first; NaN if all have failed so far."""
    best_candidate: float = math.nan
    """The lowest value of a candidate."""
    loss: float = math.nan
    """The model's loss at its last fit."""


class EGL(AskTell):
    """Explicit Gradient Learning by ask and tell.

    Examples
    --------
    >>> import numpy as np
    >>> opt = EGL([(-5, 5)] * 10, budget=2000, seed=1)
    >>> while not opt.stop():
    ...     X = opt.ask()
    ...     opt.tell(X, [np.sum((x - 1) ** 2) for x in X])
    >>> bool(opt.best_y < 1e-2)
    True
    """

    _learns_values = False

    def _start(self) -> None:
        s, n = self.settings, self.n
        self._m, self._n_max = s.batch_size(n), s.patience(n)
        self._sample = sampler(s.exploration, s.cone_angle)
        self._region: InputMap = REGIONS[s.region].whole(n)
        self._output = OutputMap(s.output_map, s.output_quantile, s.output_rate)
        self._replay = Replay(s.replay)
        self._model: Model = make_model(s, n, self._rng, of_values=self._learns_values)
        self._search = Position(self._region.to_z(self.box.start), s.epsilon * math.sqrt(n), np.zeros(n))

    @property
    def candidate_u(self) -> Array:
        """The current candidate in canonical coordinates."""
        return self._region.to_u(self._search.candidate)

    # --- explore ------------------------------------------------------------------------------------------------

    def _propose(self) -> Array:
        """The candidate and samples around it; more of them where the region is new."""
        search = self._search
        count = self._m if search.warm else self._m * self.settings.warmup_factor
        offsets = self._sample(self._rng, count - 1, self.n, -search.gradient)
        z = np.vstack([search.candidate, search.candidate + search.epsilon * offsets])
        return self._region.to_u(z)

    # --- learn --------------------------------------------------------------------------------------------------

    def _learn(self, u: Array, y: Array, foreign_u: Array, foreign_y: Array) -> None:
        search = self._search
        good = np.isfinite(y)
        for start in range(0, len(y), self._m):  # a warm-up counts as several batches of the usual size
            rows = np.flatnonzero(good[start : start + self._m]) + start
            self._replay.add(u[rows], y[rows], self._region)
        if len(foreign_y) > 1:
            self._replay.add(foreign_u, foreign_y, self._region)
        if good.any():
            self._output.update(y[good])
        self._judge(float(y[0]))
        search.warm = search.warm or bool(good.any())
        if self._should_shrink():
            self._shrink()
        elif math.isnan(y[0]):
            self._return_to_best()
        elif len(self._replay):
            self._step(u, y)

    def _judge(self, value: float) -> None:
        """Keep count of good and bad candidates; a failed one is bad."""
        search, rule = self._search, self.settings.shrink_rule
        last = search.values[-1] if search.values else math.nan
        if rule == "row":  # alg. 3: worse than the candidate before; a tie is not worse
            improved, worse = value <= last, value > last
        else:
            improved, worse = not value >= search.best_candidate, value >= search.best_candidate
        if math.isnan(value) or worse:
            search.bad += 1
        elif improved:
            search.bad = 0
        if not value >= search.best_candidate and not math.isnan(value):
            search.best_candidate = value
        search.steps += len(search.values) > 0
        if math.isnan(value):  # in a mean, a failed candidate stands as the worst one known
            value = max((v for v in search.values if not math.isnan(v)), default=math.nan)
        search.values = [*search.values, value][-2 * self._n_max :]

    def _should_shrink(self) -> bool:
        s, search = self.settings, self._search
        if search.steps < max(s.n_min, 1):
            return False
        if s.shrink_rule != "mean":
            return search.bad >= self._n_max
        if len(search.values) < 2 * self._n_max:
            return False
        # Sec. 4.2: the running mean has stopped falling. Divided first, since a sum of huge values overflows.
        parts = np.array(search.values) / self._n_max
        return not np.sum(parts[self._n_max :]) < np.sum(parts[: self._n_max])

    def _shrink(self) -> None:
        """A new region around the best point, and a new beginning inside it."""
        s, search = self.settings, self._search
        self._region = self._region.shrunk(self.best_u, s.region_factor)
        self._replay.move_to(self._region)
        self._output.reset()
        self._model.reset()
        search.epsilon = max(search.epsilon * s.epsilon_factor, s.epsilon_min)
        search.warm, search.steps, search.bad, search.values = False, 0, 0, []
        self._return_to_best()

    def _return_to_best(self) -> None:
        self._search.candidate = self._region.to_z(self.best_u)

    # --- step ---------------------------------------------------------------------------------------------------

    def _fit(self) -> Fit:
        v = self._output(self._replay.y)
        samples = self._replay.samples(v, self._search.candidate)
        return self._model.fit(samples, self.settings.perturbation * self._search.epsilon, self._rng)

    def _step(self, u: Array, y: Array) -> None:
        s, search = self.settings, self._search
        if s.jump:
            search.candidate = self._region.to_z(u[np.nanargmin(y)])
        fit = self._fit()
        gradient = fit.gradient(search.candidate[None])[0]
        if not np.isfinite(gradient).all():  # beyond the range of floats: no step rather than a wild one
            gradient = np.zeros_like(gradient)
        search.gradient, search.loss = gradient, fit.loss
        if s.step == "newton":
            radius = search.epsilon * self._known_share()
            assert isinstance(fit, CurvedFit)  # Settings allows these steps for no other model
            step = newton_step(fit, gradient, radius, self._may_move(-gradient))
        else:
            step = gradient_step(gradient, s.alpha, search.epsilon if s.cap else None)
        # Through u and back: the candidate is a point of the region, projected where need be.
        search.candidate = self._region.to_z(self._region.to_u(search.candidate + step))

    def _known_share(self) -> float:
        """How far the curvature can be trusted: fewer samples than unknowns see it in part of the directions only."""
        unknowns = self.n * (self.n + 3) / 2
        return min(1.0, math.sqrt(len(self._replay.y) / unknowns))

    def _may_move(self, descent: Array) -> Mask:
        """Coordinates that are not at a face of the region towards which ``descent`` points."""
        u, region = self.candidate_u, self._region
        at_low, at_high = u <= region.mu - region.sigma, u >= region.mu + region.sigma
        return ~((at_low & (descent < 0)) | (at_high & (descent > 0)))

    # --- state --------------------------------------------------------------------------------------------------

    def _progress(self) -> dict[str, float]:
        search = self._search
        return {
            "candidate": search.values[-1] if search.values else math.nan,
            "epsilon": search.epsilon,
            "region": float(np.max(self._region.sigma)),
            "gradient_norm": float(np.linalg.norm(search.gradient)),
            "loss": search.loss,
        }

    def _environment(self) -> dict[str, Any]:
        return super()._environment() | (self._model.environment() if self.n > 0 else {})

    def _search_state(self) -> State:
        return {
            "search": asdict(self._search),
            "mu": self._region.mu.copy(),
            "sigma": self._region.sigma.copy(),
            "output": self._output.state(),
            "replay": self._replay.state(),
            "model": self._model.state(),
        }

    def _load_search_state(self, state: State) -> None:
        self._search = Position(**state["search"])
        self._region = REGIONS[self.settings.region](state["mu"], state["sigma"])
        self._output.load_state(state["output"])
        self._replay.load_state(state["replay"], self._region)
        self._model.load_state(state["model"])
