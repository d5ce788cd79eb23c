"""What is measured on benchmark runs.

Metrics score runs: each takes a `Results` table and returns one number (or one row of numbers, one for each number
of evaluations t asked for) a run. `score_table` averages the seeds inside a problem, `bootstrap_mean` puts an
interval on the mean over problems, and `compare` sets two algorithms against each other.

All values are gaps, y - f_opt. A gap of NaN or infinity means that nothing was found: such a run is never successful,
reaches no target and stays at distance 1. A run that crashed later counts with the best it had found.
Between two entries of a trace the earlier one holds, and the last one holds for ever, so a curve read from traces is
late by at most one step of the trace's grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._typing import Array, Mask
from .best_known import TARGETS, BestKnown, load_best_known, strict_target
from .intervals import Interval, bootstrap_mean, bootstrap_ratio
from .problems import TRACE_PER_DECADE
from .result_table import Problem, Results

__all__ = [
    "TARGETS",
    "BestKnown",
    "Comparison",
    "Interval",
    "Problem",
    "Results",
    "ScoreTable",
    "bootstrap_mean",
    "bootstrap_ratio",
    "budget_limits",
    "compare",
    "cpu_per_evaluation",
    "expected_running_time",
    "gap_at",
    "initial_gaps",
    "load_best_known",
    "running_times",
    "scaled_distance",
    "score_table",
    "strict_target",
    "success",
    "success_test",
    "targets_reached",
]

REFERENCES = ("compared", "optimum")


def success_test(gap: npt.ArrayLike, initial_gap: npt.ArrayLike, best_gap: npt.ArrayLike = 0.0) -> Mask:
    """The paper's test (sec. 5.1): y - y* <= 1 and (y - y*) / (y0 - y*) <= 1/100.

    Parameters
    ----------
    gap, initial_gap, best_gap : array
        y - f_opt, y0 - f_opt and y* - f_opt, broadcast together; y* = f_opt gives the strict test.

    The second clause is tested as y - y* <= (y0 - y*) / 100, so a start that nobody improved on is a success for
    whoever stayed there. NaN and infinite gaps fail.

    Examples
    --------
    >>> success_test([0.9, 0.9, 1.1], [100.0, 80.0, 1000.0])
    array([ True, False, False])
    """
    y, y0, star = (np.asarray(a, dtype=float) for a in (gap, initial_gap, best_gap))
    with np.errstate(invalid="ignore"):
        apart, room = y - star, y0 - star
        return np.asarray(np.isfinite(y) & (apart <= 1) & (apart <= 0.01 * room))


def gap_at(results: Results, t: npt.ArrayLike) -> Array:
    """Best gap within t evaluations, from the traces: (N, T).

    ``t`` is (T,), the same for all runs, or (N, T), a row a run. Before the first entry of a trace: infinity.
    """
    limits = _limits(results, t)
    out = np.full(limits.shape, np.inf)
    rows = zip(results["trace_evaluations"], results["trace_gap"], limits, strict=True)
    for row, (when, gap, limit) in enumerate(rows):
        if len(when):
            lowest = np.fmin.accumulate(np.where(np.isnan(gap), np.inf, gap))
            place = np.searchsorted(when, limit, side="right")
            out[row] = np.where(place > 0, lowest[place - 1], np.inf)
    return out


def stored_before(evaluations: float) -> int:
    """The last moment up to ``evaluations`` at which every trace has an entry.

    >>> stored_before(15_000), stored_before(10_000)
    (14125, 10000)
    """
    step = math.floor(TRACE_PER_DECADE * math.log10(evaluations) + 1e-9)  # log10(10**k) may be a little below k
    moments = (round(10 ** (k / TRACE_PER_DECADE)) for k in (step + 1, step))
    return next((moment for moment in moments if moment <= evaluations), 1)


def cut(results: Results, evaluations: float) -> Results:
    """The runs as they were after so many evaluations; those with a smaller budget stay as they are.

    Only for algorithms that do not look at their budget is a cut run the one that it would have been with that budget,
    and only without noise, where the best point is the recommended one. Gaps are those at `stored_before`, also of
    runs with just that budget, so that all are compared at the same moment.
    """
    moment = stored_before(evaluations)
    enough = results["budget"] >= evaluations
    columns = dict(results.columns)
    for name in ("budget", "evaluations"):
        columns[name] = np.minimum(results[name], evaluations)
    gap = gap_at(results, [moment])[:, 0]
    for name in ("best_gap", "recommended_gap"):
        if name in columns:
            columns[name] = np.where(enough, gap, results[name])
    if "target_evaluations" in columns:
        hits = results["target_evaluations"]
        columns["target_evaluations"] = np.where(hits > evaluations, -1, hits)
    for name in ("trace_evaluations", "trace_gap"):
        columns[name] = np.empty(len(results), dtype=object)
        for row, (entry, when) in enumerate(zip(results[name], results["trace_evaluations"], strict=True)):
            columns[name][row] = entry[when <= moment] if enough[row] else entry
    return Results(columns)


def success(
    results: Results, t: npt.ArrayLike | None = None, *, reference: str = "compared", gap: str = "best_gap"
) -> Mask:
    """Which runs pass `success_test`.

    Parameters
    ----------
    results : Results
        Runs; with ``reference="compared"`` all of them are the compared ones, so leaving an algorithm out can turn
        failures of the others into successes. Score the whole table first, choose algorithms afterwards.
    t : array (T,) or (N, T), optional
        Evaluations after which to test, from the traces; None is the end of each run, from column ``gap``.
    reference : str
        ``"compared"``: y* is the lowest value that any run of the table has on the problem at its end (the paper).
        ``"optimum"``: y* = f_opt (strict).
    gap : str
        The column to judge at the end of runs and for y*: ``"best_gap"``, or ``"recommended_gap"`` under noise.
    """
    initial, star = _initial_gap(results), _star(results, reference, gap)
    if t is None:
        return success_test(results[gap], initial, star)
    return success_test(gap_at(results, t), initial[:, None], star[:, None])


def scaled_distance(results: Results, t: npt.ArrayLike, *, reference: str = "compared") -> Array:
    """The paper's (min_{k <= t} y_k - y*) / (y0 - y*) of each run: (N, T), within [0, 1].

    y_0 belongs to the minimum, so the distance starts at 1 also for an algorithm that begins elsewhere. It is 0 if
    y0 = y*, and 1 if the run, or every run on the problem, found nothing better than y0. y* as in `success`, of
    column ``best_gap``.
    """
    initial = _initial_gap(results)[:, None]
    star = _star(results, reference, "best_gap")[:, None]
    lowest = np.fmin(gap_at(results, t), initial)
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = (lowest - star) / (initial - star)
    distance = np.where((lowest <= star) & ~(initial < star), 0.0, distance)
    return np.clip(np.where(np.isnan(distance), 1.0, distance), 0.0, 1.0)


def targets_reached(results: Results, t: npt.ArrayLike) -> Array:
    """Share of COCO's 51 targets (gaps 10^2, 10^1.8, ..., 10^-8) that a run has hit within t evaluations: (N, T).

    Averaged over problems this is COCO's ECDF of run times (Hansen et al., COCO: Performance Assessment, 2016).
    ``t`` as in `gap_at`; `budget_limits` gives shares of the budget.
    """
    limits = _limits(results, t)
    hits = results["target_evaluations"]
    return np.stack([((hits > 0) & (hits <= column[:, None])).mean(axis=1) for column in limits.T], axis=1)


def budget_limits(results: Results, shares: npt.ArrayLike = (0.01, 0.1, 1.0), *, budget: float | None = None) -> Array:
    """Evaluations at given shares of the budget: (N, shares), for the argument ``t`` of other metrics.

    Budgets may differ between problems (100 n, say), not between runs of one problem: that is refused unless
    ``budget`` names the one that counts. Runs with less then keep what they had at their end.
    """
    share = np.asarray(shares, dtype=float)
    if budget is not None:
        whole = np.full(len(results), float(budget))
    else:
        whole = np.asarray(results["budget"], dtype=float)
        problems, index = results.problems()
        for k in np.flatnonzero(_spread(index, whole, len(problems)) > 0)[:1]:
            found = np.unique(whole[index == k]).astype(int).tolist()
            raise ValueError(f"runs on {problems[k]} have different budgets {found}: name the one that counts")
    # Rounded, since 0.29 * 100 is a little less than 29.
    return np.asarray(np.round(whole[:, None] * share, 6), dtype=float)


def expected_running_time(hit_evaluations: npt.ArrayLike, evaluations: npt.ArrayLike) -> float:
    """ERT (Auger and Hansen, 2005): (evaluations until the hit, or all if there was none) summed / number of hits.

    ``hit_evaluations`` is not positive for runs that never hit; infinity if none did.

    Examples
    --------
    >>> expected_running_time([100, -1, 200], [500, 1000, 500])
    650.0
    """
    hit, spent = np.asarray(hit_evaluations, dtype=float), np.asarray(evaluations, dtype=float)
    done = hit > 0
    return float(np.where(done, hit, spent).sum() / done.sum()) if done.any() else float("inf")


def running_times(results: Results, target: float) -> dict[tuple[str, int, int, str], float]:
    """ERT to one of the 51 target gaps for each (suite, function, dimension, algorithm), over instances and seeds."""
    near = int(np.argmin(np.abs(np.log(TARGETS / target))))
    if not np.isclose(TARGETS[near], target, rtol=1e-9):
        raise ValueError(
            f"target must be one of the 51 gaps 10^(2 - 0.2 k), got {target}; the nearest is {TARGETS[near]}"
        )
    groups: dict[tuple[str, int, int, str], list[int]] = {}
    names = (results[name].tolist() for name in ("suite", "function", "dimension", "algorithm"))
    for row, key in enumerate(zip(*names, strict=True)):
        groups.setdefault(key, []).append(row)
    hits, spent = results["target_evaluations"][:, near], results["evaluations"]
    return {key: expected_running_time(hits[rows], spent[rows]) for key, rows in groups.items()}


def cpu_per_evaluation(results: Results) -> Array:
    """CPU seconds inside the optimiser for each evaluation, f itself left out: (N,); NaN for a run without any."""
    spent = np.asarray(results["evaluations"], dtype=float)
    return np.asarray(results["cpu_optimiser"], dtype=float) / np.where(spent > 0, spent, np.nan)


def initial_gaps(results: Results, suite: str, dimension: int) -> dict[int, float]:
    """Median of y0 - f_opt over the runs of each function: what `BestKnown.solved` asks for."""
    here = results.select(suite=suite, dimension=dimension)
    gaps, function = _initial_gap(here), here["function"]
    return {int(k): float(np.median(gaps[function == k])) for k in np.unique(function)}


@dataclass(frozen=True)
class ScoreTable:
    """Scores with seeds averaged: ``values`` (problems, algorithms) or (problems, algorithms, T); NaN: not run."""

    problems: tuple[Problem, ...]
    algorithms: tuple[str, ...]
    values: Array

    def complete(self) -> ScoreTable:
        """Only the problems that every algorithm has run: means are then over the same ones."""
        there = np.asarray(~np.isnan(self.values).any(axis=tuple(range(1, self.values.ndim))))
        kept = tuple(p for p, keep in zip(self.problems, there, strict=True) if keep)
        return ScoreTable(kept, self.algorithms, self.values[there])

    def column(self, algorithm: str) -> Array:
        """Scores of one algorithm, (problems,) or (problems, T)."""
        if algorithm not in self.algorithms:
            raise ValueError(f"algorithm must be one of {self.algorithms}, got {algorithm!r}")
        return np.asarray(self.values[:, self.algorithms.index(algorithm)])


def score_table(
    results: Results, score: npt.ArrayLike, algorithms: Sequence[str] | None = None, *, skip_nan: bool = False
) -> ScoreTable:
    """Average a score (N,) or (N, T) of runs over the seeds of each problem and algorithm.

    A NaN score is refused, since dropping it could hide a failed run; ``skip_nan`` drops such runs on purpose.
    """
    scores = np.asarray(score, dtype=float)
    if scores.ndim < 1 or len(scores) != len(results):
        raise ValueError(f"score must have one row for each of {len(results)} runs, got shape {scores.shape}")
    bad = np.isnan(scores.reshape(len(scores), -1)).any(axis=1) if len(scores) else np.zeros(0, dtype=bool)
    if bad.any():
        if not skip_nan:
            raise ValueError(f"score is NaN for {int(bad.sum())} of {len(scores)} runs: give failed runs a value")
        results, scores = results.where(~bad), scores[~bad]
    names = tuple(results.algorithms if algorithms is None else algorithms)
    place = {name: k for k, name in enumerate(names)}
    problems, index = results.problems()
    column = np.array([place.get(name, -1) for name in results["algorithm"].tolist()], dtype=int)
    mine = column >= 0
    total = np.zeros((len(problems), len(names), *scores.shape[1:]))
    count = np.zeros((len(problems), len(names)))
    np.add.at(total, (index[mine], column[mine]), scores[mine])
    np.add.at(count, (index[mine], column[mine]), 1.0)
    count = count.reshape(count.shape + (1,) * (scores.ndim - 1))
    return ScoreTable(problems, names, np.where(count > 0, total / np.maximum(count, 1.0), np.nan))


@dataclass(frozen=True)
class Comparison:
    """Algorithm a against b over the ``problems`` problems both have run; ``difference`` is mean a - mean b."""

    a: str
    b: str
    problems: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int


def compare(
    results: Results,
    score: npt.ArrayLike,
    a: str,
    b: str,
    rng: np.random.Generator,
    *,
    higher_is_better: bool = True,
    tie: float = 0.0,
    mixed_budgets: bool = False,
    resamples: int = 10_000,
    level: float = 0.95,
    method: str = "percentile",
) -> Comparison:
    """Paired comparison: the mean over shared problems of score(a) - score(b), seeds averaged inside a problem.

    ``score`` (N,) belongs to the rows of ``results``. The interval is `bootstrap_mean` of the differences. A problem
    is a tie if the two differ by at most ``tie``. Different budgets on a shared problem are refused unless
    ``mixed_budgets``, for scores that do not depend on the budget. No shared problem is an error.
    """
    if np.ndim(score) != 1:
        raise ValueError(f"score must be one number a run, got shape {np.shape(score)}")
    table = score_table(results, score, (a, b)).complete()
    if not table.problems:
        raise ValueError(f"{a!r} and {b!r} have no problem in common")
    if not mixed_budgets:
        pair = results.select(algorithm=(a, b))
        problems, index = pair.problems()
        shared = np.isin(index, [k for k, problem in enumerate(problems) if problem in set(table.problems)])
        budget_limits(pair.where(shared))
    of_a, of_b = table.column(a), table.column(b)
    apart = of_a - of_b
    interval = bootstrap_mean(apart, rng, resamples=resamples, level=level, method=method)
    ahead = apart if higher_is_better else -apart
    wins, losses = int((ahead > tie).sum()), int((ahead < -tie).sum())
    return Comparison(
        a=a,
        b=b,
        problems=len(apart),
        mean_a=float(of_a.mean()),
        mean_b=float(of_b.mean()),
        difference=float(interval.estimate),
        low=float(interval.low),
        high=float(interval.high),
        wins=wins,
        ties=len(apart) - wins - losses,
        losses=losses,
    )


def _initial_gap(results: Results) -> Array:
    return np.asarray(results["y0"] - results["f_opt"], dtype=float)


def _star(results: Results, reference: str, gap: str) -> Array:
    """y* - f_opt of each run's problem (N,); NaN if no run on it found anything."""
    if reference not in REFERENCES:
        raise ValueError(f"reference must be one of {REFERENCES}, got {reference!r}")
    if reference == "optimum":
        return np.zeros(len(results))
    found = np.asarray(results[gap], dtype=float)
    problems, index = results.problems()
    lowest = np.full(len(problems), np.inf)
    np.minimum.at(lowest, index, np.where(np.isfinite(found), found, np.inf))
    return np.asarray(np.where(np.isfinite(lowest), lowest, np.nan)[index])


def _spread(index: npt.NDArray[np.intp], values: Array, groups: int) -> Array:
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(low, index, values)
    np.maximum.at(high, index, values)
    return np.asarray(high - low)


def _limits(results: Results, t: npt.ArrayLike) -> Array:
    limits = np.asarray(t, dtype=float)
    if limits.ndim not in (1, 2) or (limits.ndim == 2 and len(limits) != len(results)):
        raise ValueError(f"t must be (T,) or ({len(results)}, T), one row a run, got shape {limits.shape}")
    return np.broadcast_to(limits, (len(results), limits.shape[-1]))
