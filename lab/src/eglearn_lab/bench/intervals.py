"""Bootstrap intervals over problems.

Runs on one problem are alike, runs on two problems are not: what limits how sure a benchmark can be is the number
of problems. So whole problems are drawn with replacement, each with all its seeds (a cluster bootstrap; Davison and
Hinkley, Bootstrap Methods and their Application, 1997, sec. 3.8). All algorithms see the same draws, which keeps
differences between them paired.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from .._typing import Array, Mask

METHODS = ("percentile", "bca")

# Draws are made in blocks of this many numbers: 16 MB at a time whatever the number of problems.
_BLOCK = 2_000_000


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval; the three arrays have one shape, that of the statistic."""

    estimate: Array
    low: Array
    high: Array


def bootstrap_mean(
    values: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    resamples: int = 10_000,
    level: float = 0.95,
    method: str = "percentile",
) -> Interval:
    """Mean over problems, with its interval.

    Parameters
    ----------
    values : array (P, ...)
        One score a problem along the first axis, seeds already averaged; NaN where the problem was not run, which
        leaves it out of that column's mean.
    rng : numpy.random.Generator
        Where the draws come from.
    resamples, level : int, float
        Number of bootstrap samples, and the coverage asked for. It takes 16 bytes for each sample and column: a
        thousand samples are enough for whole curves.
    method : str
        ``"percentile"``: quantiles (1 - level)/2 and (1 + level)/2 of the resampled means. ``"bca"``: these
        quantiles corrected for bias and skewness (Efron, 1987), better where successes are rare.

    Examples
    --------
    >>> bootstrap_mean([1.0, 1.0, 1.0], np.random.default_rng(0))
    Interval(estimate=array(1.), low=array(1.), high=array(1.))
    """
    values = np.asarray(values, dtype=float)
    there = ~np.isnan(values)
    return bootstrap_ratio(
        np.where(there, values, 0.0), there.astype(float), rng, resamples=resamples, level=level, method=method
    )


def bootstrap_ratio(
    numerator: npt.ArrayLike,
    denominator: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    resamples: int = 10_000,
    level: float = 0.95,
    method: str = "percentile",
) -> Interval:
    """Sum of ``numerator`` over sum of ``denominator``, both (P, ...) with problems first, with its interval.

    For expected running times (evaluations over hits) and costs (seconds over evaluations); other arguments as in
    `bootstrap_mean`. Denominators are not negative. A sample whose denominator is 0 counts as infinite; one that is
    0/0 is left out.
    """
    top, bottom = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    if top.shape != bottom.shape or top.ndim < 1 or len(top) < 1:
        raise ValueError(
            f"numerator and denominator must have one shape (P >= 1, ...), got {top.shape}, {bottom.shape}"
        )
    if not (np.isfinite(top).all() and np.isfinite(bottom).all() and (bottom >= 0).all()):
        raise ValueError("values, numerator and denominator must be finite, and no denominator negative")
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    if not 0 < level < 1 or resamples < 1:
        raise ValueError(f"level must be inside (0, 1) and resamples at least 1, got {level} and {resamples}")
    problems, shape = len(top), top.shape[1:]
    top, bottom = top.reshape(problems, -1), bottom.reshape(problems, -1)
    # A column that is the same number everywhere must give exactly that number back, not one that is off by
    # rounding: sums are taken of the distance to the first problem's value.
    first = np.argmax(bottom > 0, axis=0)[None]
    shift = np.nan_to_num(_divide(*(np.take_along_axis(part, first, axis=0) for part in (top, bottom))), posinf=0.0)
    top = top - shift * bottom
    estimate = _divide(top.sum(axis=0), bottom.sum(axis=0)) + shift[0]
    draws = _resample(top, bottom, rng, resamples) + shift
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    levels = np.repeat(tails[:, None], top.shape[1], axis=1)
    if method == "bca":
        levels = _bca_levels(tails, estimate, draws, top, bottom)
    low, high = _quantiles(draws, levels)
    return Interval(estimate.reshape(shape), low.reshape(shape), high.reshape(shape))


def _divide(top: Array, bottom: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return top / bottom


def _resample(top: Array, bottom: Array, rng: np.random.Generator, resamples: int) -> Array:
    """The statistic on each bootstrap sample, (resamples, columns): counts of drawn problems times the values."""
    problems = len(top)
    block = max(1, _BLOCK // problems)
    parts = []
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = rng.integers(problems, size=(rows, problems)) + problems * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * problems).reshape(rows, problems).astype(float)
        parts.append(_divide(counts @ top, counts @ bottom))
    return np.concatenate(parts)


def _bca_levels(tails: Array, estimate: Array, draws: Array, top: Array, bottom: Array) -> Array:
    """Efron's corrected quantile levels (2, columns): bias z0 from the draws, acceleration a from leaving one out.

    level = Phi(z0 + (z0 + z) / (1 - a (z0 + z))) with z the normal quantile of the tail.
    """
    below = (draws < estimate).mean(axis=0) + 0.5 * (draws == estimate).mean(axis=0)
    edge = 0.5 / len(draws)
    z0 = ndtri(np.clip(below, edge, 1 - edge))
    left_out = _divide(top.sum(axis=0) - top, bottom.sum(axis=0) - bottom)
    # Leaving out a problem that was not run changes nothing, so it says nothing about skewness.
    counted = (bottom != 0) & np.isfinite(left_out)
    mean = _divide(np.where(counted, left_out, 0.0).sum(axis=0), counted.sum(axis=0))
    apart = np.where(counted, mean - left_out, 0.0)
    spread = np.square(apart).sum(axis=0)
    a = np.where(spread > 0, (apart**3).sum(axis=0) / np.where(spread > 0, 6 * spread**1.5, 1.0), 0.0)
    z = z0 + ndtri(tails)[:, None]
    levels: Array = ndtr(z0 + z / (1 - a * z))
    return levels


def _quantiles(draws: Array, levels: Array) -> tuple[Array, Array]:
    """Quantiles of each column at its own levels, between order statistics; NaN draws are left out."""
    ordered = np.sort(draws, axis=0)  # NaN sorts last
    count: npt.NDArray[np.intp] = (~np.isnan(ordered)).sum(axis=0)
    place = levels * np.maximum(count - 1, 0)
    under = np.floor(place).astype(int)
    over = np.minimum(under + 1, np.maximum(count - 1, 0))
    low = np.take_along_axis(ordered, under, axis=0)
    high = np.take_along_axis(ordered, over, axis=0)
    share = place - under
    exact: Mask = (low == high) | (share == 0)
    with np.errstate(invalid="ignore"):
        between = np.where(exact, low, low + share * (high - low))
    return between[0], between[1]
