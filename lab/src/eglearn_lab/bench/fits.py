"""How well a network explains the batch that it has just learned: two numbers for each decade of evaluations."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, isfinite, log10, nan

import numpy as np

from ..ours import GradientLearning, IndirectGradientLearning, pair_loss, penalty
from ..runner import Row

COLUMNS = ("fit_until", "fit_unexplained", "fit_skewness")
"""The decade's last evaluation; medians over the fits in it."""

FEWEST = 3  # values that have a skewness


@dataclass
class Fits:
    """After each fit of a network: the share of the newest batch that it leaves unexplained, and that batch's skewness.

    The share is the loss after training over the loss without any slope, both of mapped values, so 0 is perfect and 1
    says that nothing was learned. The skewness is that of the mapped values.
    """

    decades: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    _last: float = nan

    def note(self, search: object, evaluations: int) -> None:
        """Look at a search after it was told values; only a plain network that has just learned is of interest."""
        if not isinstance(search, GradientLearning) or search.loss == self._last or not isfinite(search.loss):
            return
        s, self._last = search.settings, search.loss
        if s.model not in ("fc", "spline") or getattr(s, "anchor", "none") != "none":
            return
        batch = search.samples().newest()
        v = batch.v - batch.v.mean()
        if isinstance(search, IndirectGradientLearning):
            flat = float(penalty(v, s.loss).mean())
        else:
            flat = pair_loss(np.zeros_like(batch.z), batch, s.pair_order, s.loss)
        if len(v) >= FEWEST and flat > 0:
            skewness = float(np.mean(v**3) / np.mean(v**2) ** 1.5)
            end = 10 ** ceil(log10(evaluations))
            self.decades.setdefault(end, []).append((search.loss / flat, skewness))

    def columns(self) -> Row:
        """As columns of a row."""
        ends = sorted(self.decades)
        medians = [np.median(self.decades[end], axis=0).astype(np.float32).tolist() for end in ends]
        shares, skewness = ([m[k] for m in medians] for k in (0, 1))
        return dict(zip(COLUMNS, (ends, shares, skewness), strict=True))
