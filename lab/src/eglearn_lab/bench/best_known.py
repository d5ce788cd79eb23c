"""What is known to be reachable: the best entry of COCO's archive for each function, dimension and gap.

`best_known.csv` holds, for every function of ``bbob`` (2, 3, 5, 10, 20, 40-D; entries of 2009 to 2016) and of
``bbob-largescale`` (20 to 640-D; entries of 2019), the expected running time (ERT) of the entry that was best for
that function, dimension and gap, at fourteen gaps: 100, 10, 1, 0.5, 0.1, 0.05, 0.01, 0.0025, 0.001, 1e-4, ..., 1e-8.
No single algorithm reaches this line: another one may be the best at each gap. ERT <= t is not a success rate
either: it says that t evaluations would be enough on average, restarts included, and a few values rest on a single
lucky trial of fifteen (`BestKnown.hit_rate` tells).

Gaps between two listed ones have bounds, since a smaller gap never takes fewer evaluations: at least the ERT of the
next larger listed gap, at most that of the next smaller. The rules:

- ``"log"`` (default): log ERT linear in log gap between the two; infinite if the smaller one was never reached.
- ``"upper"``: the ERT of the next smaller listed gap; never too good.
- ``"lower"``: the ERT of the next larger listed gap; never too bad.

Gaps above 100 take the value of 100 under ``"log"`` and ``"upper"`` and 1 evaluation under ``"lower"``; gaps below
1e-8 are infinite except under ``"lower"``.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from .._typing import Array, Mask

RULES = ("log", "upper", "lower")

FUNCTIONS = 24

TARGETS: Array = np.power(10.0, 2 - 0.2 * np.arange(51, dtype=np.float64))
"""COCO's 51 target gaps, 10^2 to 10^-8."""


def strict_target(initial_gap: npt.ArrayLike) -> Array:
    """The gap at which a run passes the paper's success test with the true optimum: min(1, (y0 - f_opt) / 100).

    Examples
    --------
    >>> strict_target([500.0, 25.0])
    array([1.  , 0.25])
    """
    return np.minimum(1.0, 0.01 * np.asarray(initial_gap, dtype=float))


@dataclass(frozen=True)
class BestKnown:
    """The reference for one suite.

    Parameters
    ----------
    suite : str
        COCO's name of the suite.
    dimensions : tuple of int
        Dimensions in the file.
    gaps : array (14,)
        Listed gaps, falling.
    ert : array (24, dimensions, 14)
        Expected running times, functions 1 to 24 first; infinite where no entry reached the gap.
    hit_rate : array (24, dimensions, 14)
        Share of the best entry's trials that reached the gap; 0 where none did.
    """

    suite: str
    dimensions: tuple[int, ...]
    gaps: Array
    ert: Array
    hit_rate: Array

    def running_time(self, dimension: int, gap: npt.ArrayLike, *, rule: str = "log") -> Array:
        """ERT of the best entry: ``gap`` (K,) gives (24, K); ``gap`` (24, K) has one row a function.

        Examples
        --------
        >>> load_best_known().running_time(40, [1.0])[14]
        array([430140.])
        """
        if rule not in RULES:
            raise ValueError(f"rule must be one of {RULES}, got {rule!r}")
        if dimension not in self.dimensions:
            raise ValueError(f"{self.suite} has no best-known times in {dimension}-D, only in {self.dimensions}")
        gap = np.asarray(gap, dtype=float)
        wanted = np.broadcast_to(gap, (FUNCTIONS, gap.shape[-1]))
        ert = self.ert[:, self.dimensions.index(dimension)]
        out = np.empty(wanted.shape)
        for row, (times, asked) in enumerate(zip(ert, wanted, strict=True)):
            out[row] = _between(self.gaps, times, asked, rule)
        return out

    def ceiling(self, dimension: int, evaluations: npt.ArrayLike, *, rule: str = "log") -> Array:
        """Share of the 24 x 51 (function, target) pairs with ERT <= t, for each t of ``evaluations``.

        In 40-D the rule ``"log"`` gives 0.451, 0.670, 0.753 at t = 1e4, 5e4, 1.5e5; the archive's full data, which
        list all 51 targets, give 0.447, 0.668, 0.753.
        """
        times = self.running_time(dimension, TARGETS, rule=rule)
        return _share_within(times.ravel(), evaluations)

    def solved(
        self, dimension: int, evaluations: float, initial_gap: Mapping[int, float], *, rule: str = "upper"
    ) -> tuple[int, ...]:
        """Functions whose strict-success gap has ERT <= ``evaluations``.

        ``initial_gap`` gives y0 - f_opt for each function to be judged, as the strict test needs it: the median over
        instances from the starting point that the runs used (`eglearn_lab.bench.metrics.initial_gaps`). The rule is
        ``"upper"`` here, since one jump between two listed gaps decides over a whole function: on f22 in 40-D the
        ERT goes from 17,498 at gap 1 to 648,092 at gap 0.5, and the test asks for 0.83.
        """
        wrong = sorted(set(initial_gap) - set(range(1, FUNCTIONS + 1)))
        if wrong:
            raise ValueError(f"initial_gap must name functions 1 to {FUNCTIONS}, got {wrong}")
        gaps = np.full((FUNCTIONS, 1), np.nan)
        for function, gap in initial_gap.items():
            gaps[function - 1] = strict_target(gap)
        times = self.running_time(dimension, gaps, rule=rule)[:, 0]
        return tuple(int(k) + 1 for k in np.flatnonzero(times <= evaluations))


def _between(gaps: Array, times: Array, asked: Array, rule: str) -> Array:
    """Times at ``asked`` gaps from those listed (falling gaps, rising times); NaN gaps are never reached."""
    # Targets such as 10^(2 - 0.2 k) carry rounding: one that is a listed gap up to 1e-9 is that gap.
    here: Mask = np.abs(asked[:, None] / gaps - 1) < 1e-9
    # Bracket: listed gap number after - 1 is larger than the asked one, number after is smaller.
    after = np.searchsorted(-gaps, -asked)
    padded = np.concatenate([[1.0], times, [np.inf]])
    larger, smaller = padded[after], padded[after + 1]
    if rule == "log":
        inside = (after > 0) & np.isfinite(smaller)
        k = np.where(inside, after, 1)
        slope = np.log(asked / gaps[k - 1]) / np.log(gaps[k] / gaps[k - 1])
        with np.errstate(invalid="ignore"):
            mixed = np.exp((1 - slope) * np.log(larger) + slope * np.log(smaller))
        out = np.where(inside, mixed, smaller)
    else:
        out = larger if rule == "lower" else smaller
    out = np.where(here.any(axis=1), times[here.argmax(axis=1)], out)
    return np.where(np.isnan(asked), np.inf, out)


def _share_within(times: Array, evaluations: npt.ArrayLike) -> Array:
    within = np.searchsorted(np.sort(times), np.asarray(evaluations, dtype=float), side="right")
    return np.asarray(within / times.size, dtype=float)


@cache
def load_best_known(suite: str = "bbob") -> BestKnown:
    """Read the reference for ``"bbob"`` or ``"bbob-largescale"`` from the package."""
    text = files(__package__).joinpath("best_known.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(line for line in text.splitlines() if not line.startswith("#"))
    mine = [row for row in rows if row[0] == suite]
    if not mine:
        known = sorted({row[0] for row in rows})
        raise ValueError(f"suite must be one of {known}, which have best-known times, got {suite!r}")
    dimensions = tuple(sorted({int(row[2]) for row in mine}))
    gaps = np.array([float(name) for name in header[3:]])
    ert = np.full((FUNCTIONS, len(dimensions), len(gaps)), np.inf)
    hit_rate = np.zeros_like(ert)
    for _, function, dimension, *cells in mine:
        place = int(function) - 1, dimensions.index(int(dimension))
        for k, cell in enumerate(cells):
            if cell:
                time, _, share = cell.partition(":")
                hits, _, trials = share.partition("/")
                ert[(*place, k)] = float(time)
                hit_rate[(*place, k)] = int(hits) / int(trials) if share else 1.0
    for array in (gaps, ert, hit_rate):
        array.setflags(write=False)
    return BestKnown(suite, dimensions, gaps, ert, hit_rate)
