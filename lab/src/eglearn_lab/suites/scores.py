"""Scores of a table of final values: ranks, wins against a reference, and how often an algorithm is last.

All scores depend on the order of the values only, so problems of any scale count alike. The unit of the intervals is
the problem: they are percentile bootstraps over problems and say how far a score would move with other problems of the
same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from .base import Array

CLEAR = 0.71
"""Probability of superiority from which an effect is called large (Vargha and Delaney 2000)."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Score:
    """How one algorithm did.

    Parameters
    ----------
    name : str
        The algorithm.
    mean_rank, mean_rank_interval : float, (float, float)
        Mean of the ranks within each problem and seed, 1 the best, ties shared.
    better, equal, worse : int
        Problems by comparison with the reference.
    net, net_interval : float, (float, float)
        (better - worse) / problems.
    last, never_last : int, bool
        Problems on which each other algorithm has a lower mean rank, and whether there are none.
    """

    name: str
    mean_rank: float
    mean_rank_interval: Interval
    better: int
    equal: int
    worse: int
    net: float
    net_interval: Interval
    last: int

    @property
    def never_last(self) -> bool:
        """Whether some other algorithm did no better on each problem."""
        return self.last == 0


def problem_ranks(values: Array, floors: Array | None = None) -> Array:
    """Return the mean rank over seeds of each algorithm on each problem, as an array (algorithms, problems).

    Parameters
    ----------
    values : array of shape (algorithms, problems, seeds)
        Final values, lower is better. NaN, a run without result, counts as inf.
    floors : array of shape (problems,), optional
        Values at or below count as equally good, such as the best known value plus a precision.

    Examples
    --------
    >>> import numpy as np
    >>> problem_ranks(np.array([[[1.0, 2.0]], [[3.0, 2.0]]]))
    array([[1.25],
           [1.75]])
    """
    return np.asarray(rankdata(_floored(values, floors), axis=0).mean(axis=2))


def superiority(values: Array, reference: int, floors: Array | None = None) -> Array:
    """Return by algorithm and problem the probability of a value below the reference's, ties half.

    The probability is over all pairs of seeds.

    Examples
    --------
    >>> import numpy as np
    >>> superiority(np.array([[[1.0, 2.0]], [[3.0, 2.0]]]), reference=1)
    array([[0.875],
           [0.5  ]])
    """
    v = _floored(values, floors)
    ours, theirs = v[:, :, :, None], v[reference][None, :, None, :]
    return np.asarray(((ours < theirs) + 0.5 * (ours == theirs)).mean(axis=(2, 3)))


def scores(
    names: Sequence[str],
    values: Array,
    reference: str,
    floors: Array | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> list[Score]:
    """Score a table of final values.

    An algorithm is better than the reference on a problem where its probability of superiority is at least `CLEAR`,
    worse where at most 1 - `CLEAR`, equal otherwise.

    Parameters
    ----------
    names : sequence of str
        The algorithms.
    values, floors
        As for `problem_ranks`.
    reference : str
        The algorithm that the others are compared with.
    level : float
        Of the intervals.
    resamples, seed : int
        Of the bootstrap.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
    >>> a, b = scores(["a", "b"], table, reference="b")
    >>> a.mean_rank, a.better, a.never_last, b.last
    (1.0, 2, True, 2)
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 3 or values.shape[0] != len(names):
        raise ValueError(f"values has shape {values.shape}, must be ({len(names)} algorithms, problems, seeds).")
    if reference not in names:
        raise ValueError(f"reference is {reference!r}; choose one of {', '.join(names)}.")
    ranks = problem_ranks(values, floors)
    wins = superiority(values, list(names).index(reference), floors)
    sign = np.where(wins >= CLEAR, 1, np.where(wins <= 1 - CLEAR, -1, 0))
    last = _last(ranks)

    picks = np.random.default_rng(seed).integers(ranks.shape[1], size=(resamples, ranks.shape[1]))
    tails = [(1 - level) / 2, (1 + level) / 2]
    rank_low, rank_high = np.quantile(ranks[:, picks].mean(axis=2), tails, axis=1)
    net_low, net_high = np.quantile(sign[:, picks].mean(axis=2), tails, axis=1)
    return [
        Score(
            name=name,
            mean_rank=float(ranks[a].mean()),
            mean_rank_interval=(float(rank_low[a]), float(rank_high[a])),
            better=int((sign[a] > 0).sum()),
            equal=int((sign[a] == 0).sum()),
            worse=int((sign[a] < 0).sum()),
            net=float(sign[a].mean()),
            net_interval=(float(net_low[a]), float(net_high[a])),
            last=int(last[a].sum()),
        )
        for a, name in enumerate(names)
    ]


def markdown(table: Sequence[Score], reference: str) -> str:
    """Return scores as a Markdown table, best mean rank first.

    Examples
    --------
    >>> import numpy as np
    >>> print(markdown(scores(["a", "b"], np.array([[[1.0]], [[2.0]]]), "b"), "b"))
    | algorithm | mean rank | better / equal / worse than b | net | last on |
    |---|---|---|---|---|
    | a | 1.00 [1.00, 1.00] | 1 / 0 / 0 | +1.00 [+1.00, +1.00] | 0 |
    | b | 2.00 [2.00, 2.00] | 0 / 1 / 0 | +0.00 [+0.00, +0.00] | 1 |
    """
    lines = [
        f"| algorithm | mean rank | better / equal / worse than {reference} | net | last on |",
        "|---|---|---|---|---|",
    ]
    for s in sorted(table, key=lambda score: score.mean_rank):
        (r0, r1), (n0, n1) = s.mean_rank_interval, s.net_interval
        lines.append(
            f"| {s.name} | {s.mean_rank:.2f} [{r0:.2f}, {r1:.2f}] | {s.better} / {s.equal} / {s.worse} "
            f"| {s.net:+.2f} [{n0:+.2f}, {n1:+.2f}] | {s.last} |"
        )
    return "\n".join(lines)


def _floored(values: Array, floors: Array | None) -> Array:
    v = np.where(np.isnan(values), np.inf, values)
    return v if floors is None else np.maximum(v, np.asarray(floors)[None, :, None])


def _last(ranks: Array) -> NDArray[np.bool_]:
    """Where an algorithm alone has the highest mean rank of a problem."""
    worst = ranks == ranks.max(axis=0)
    return np.asarray(worst & (worst.sum(axis=0) == 1))
