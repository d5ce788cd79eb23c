"""Hyperparameters of learning machines, scored on synthetic validation data.

Learners and data are small and written here: boosted regression stumps on histograms, kernel ridge regression,
least-squares support vectors and weighted nearest neighbours. Rates and lengths are searched as powers of ten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from ..base import Array, Build, Objective, Problem

Rows = NDArray[np.int64]
Score = Callable[[Array, Rows, Rows], float]
"""From hyperparameters, training rows and validation rows to an error."""

TREES = 60
HALF = 120
FEATURES = 8


class Data(NamedTuple):
    """Inputs (rows, features) and answers (rows,)."""

    x: Array
    y: Array


def friedman(rows: int, features: int, seed: int) -> Data:
    """Return the regression data of Friedman, Ann. Stat. 19 (1991) 1, eq. 61; features beyond five are irrelevant."""
    rng = np.random.default_rng(seed)
    x = rng.random((rows, features))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return Data(x, y + rng.standard_normal(rows))


def shells(rows: int, features: int, seed: int) -> Data:
    """Return two noisy classes, -1 and 1, divided by an ellipsoid in the first four of the features."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, features))
    radius = (x[:, :4] ** 2 * np.array([2.0, 1.0, 0.5, 0.5])).sum(axis=1) + 0.5 * x[:, 0] * x[:, 1]
    return Data(x, np.sign(radius + 0.4 * rng.standard_normal(rows) - np.median(radius)))


def _split(score: Score, rows: int) -> Build:
    """Validate on one fixed half."""
    half = np.arange(rows)[:HALF], np.arange(rows)[HALF:]
    return lambda rng: lambda x: score(x, *half)


def _resampled(score: Score, rows: int) -> Build:
    """Validate on a half drawn anew in each call; without noise: the mean over eight fixed draws."""

    def once(x: Array, rng: np.random.Generator) -> float:
        order = rng.permutation(rows)
        return score(x, order[:HALF], order[HALF:])

    def build(rng: np.random.Generator | None) -> Objective:
        if rng is not None:
            return lambda x: once(x, rng)
        return lambda x: float(np.mean([once(x, np.random.default_rng(k)) for k in range(8)]))

    return build


def _stumps(data: Data) -> Score:
    """Boosted stumps (Friedman, Ann. Stat. 29 (2001) 1189) with the regularised gain of Chen and Guestrin (2016)."""
    features = data.x.shape[1]
    draws = np.random.default_rng(7).random((TREES, HALF))  # rows of a tree: the same in each call

    def error(h: Array, train: Rows, test: Rows) -> float:
        rate, l2 = 10.0 ** h[0], 10.0 ** h[1]
        trees, least, bins = int(h[2]), int(h[3]), int(h[4])
        trust = 10.0 ** h[6:, None]
        edges = np.quantile(data.x[train], np.linspace(0, 1, bins + 1)[1:-1], axis=0)
        codes = (data.x[:, :, None] > edges.T).sum(axis=2)
        flat = codes[train] + bins * np.arange(features)
        guess = np.full(data.y.size, data.y[train].mean())
        for tree in range(trees):
            rows = draws[tree] < h[5]
            residual = np.repeat((data.y - guess)[train][rows], features)
            cell = flat[rows].ravel()
            sums = np.bincount(cell, residual, minlength=bins * features).reshape(features, bins).cumsum(axis=1)
            counts = np.bincount(cell, minlength=bins * features).reshape(features, bins).cumsum(axis=1)
            total, count = sums[0, -1], counts[0, -1]
            gain = sums**2 / (counts + l2) + (total - sums) ** 2 / (count - counts + l2)
            gain *= trust
            gain[(counts < least) | (count - counts < least)] = -np.inf
            best = int(gain.argmax())
            feature, cut = divmod(best, bins)
            if gain[feature, cut] == -np.inf:
                break  # the leaves may not be as small as any split makes them
            left = rate * sums[feature, cut] / (counts[feature, cut] + l2)
            right = rate * (total - sums[feature, cut]) / (count - counts[feature, cut] + l2)
            guess += np.where(codes[:, feature] <= cut, left, right)
        return float(np.sqrt(np.mean((data.y - guess)[test] ** 2)))

    return error


def _distances(x: Array, inverse_lengths: Array) -> Array:
    z = x * inverse_lengths
    s = (z * z).sum(axis=1)
    return np.asarray(np.maximum(s[:, None] + s - 2.0 * z @ z.T, 0.0))


def _kernel_ridge(data: Data) -> Score:
    """Kernel ridge regression; the kernel is a mixture of Gaussian and exponential, one length per feature."""

    def error(h: Array, train: Rows, test: Rows) -> float:
        d2 = _distances(data.x, 10.0 ** -h[:-2])
        kernel = h[-1] * np.exp(-0.5 * d2) + (1.0 - h[-1]) * np.exp(-np.sqrt(d2))
        mean = data.y[train].mean()
        factor = cho_factor(kernel[np.ix_(train, train)] + 10.0 ** h[-2] * np.eye(train.size))
        guess = mean + kernel[np.ix_(test, train)] @ cho_solve(factor, data.y[train] - mean)
        return float(np.sqrt(np.mean((data.y[test] - guess) ** 2)))

    return error


def _support_vectors(data: Data) -> Score:
    """Least-squares support vectors (Suykens and Vandewalle 1999), kernel a mixture of Gaussian and polynomial."""

    def error(h: Array, train: Rows, test: Rows) -> float:
        cost, gamma, balance, degree = 10.0 ** h[0], 10.0 ** h[1], 10.0 ** h[2], int(h[4])
        powers = (1.0 + data.x @ data.x.T / data.x.shape[1]) ** degree
        kernel = h[3] * np.exp(-gamma * _distances(data.x, np.ones(data.x.shape[1]))) + (1.0 - h[3]) * powers
        slack = np.where(data.y[train] > 0, balance, 1.0 / balance) / cost
        factor = cho_factor(kernel[np.ix_(train, train)] + np.diag(slack))
        guess = kernel[np.ix_(test, train)] @ cho_solve(factor, data.y[train])
        return float(np.mean(np.sign(guess) != data.y[test]))

    return error


def _neighbours(data: Data) -> Objective:
    """Leave-one-out error of a vote of the k nearest, by weighted distance."""
    rows = np.arange(data.y.size)

    def error(h: Array) -> float:
        d2 = _distances(data.x, 10.0 ** h[:-2])
        d2[rows, rows] = np.inf
        nearest = np.argsort(d2, axis=1)[:, : int(h[-2])]
        votes = data.y[nearest] / (1e-3 + np.take_along_axis(d2, nearest, axis=1)) ** h[-1]
        return float(np.mean(np.sign(votes.sum(axis=1)) != data.y))

    return error


def _stumps_problem(build: Build, budget: int, noisy: bool) -> Problem:
    return Problem(
        lower=np.array([-3.0, -3.0, 1.0, 1.0, 2.0, 0.2] + [-1.0] * FEATURES),
        upper=np.array([0.0, 3.0, TREES + 0.99, 60.0, 32.99, 1.0] + [1.0] * FEATURES),
        x0=np.array([-2.0, 0.0, 20.0, 30.0, 8.0, 0.5] + [0.0] * FEATURES),
        budget=budget,
        build=build,
        noisy=noisy,
        steps=True,
        sequential=TREES,
    )


def boosted_stumps() -> Problem:
    """Tune gradient boosting: rate, L2, trees, leaf size, bins, row share, log trust in each feature. 14 variables."""
    return _stumps_problem(_split(_stumps(friedman(2 * HALF, FEATURES, seed=1)), 2 * HALF), 300, noisy=False)


def nearest_neighbours() -> Problem:
    """Tune nearest neighbours: log weights of 10 features, number of neighbours, vote power. 12 variables."""
    error = _neighbours(shells(160, 10, seed=2))
    return Problem(
        lower=np.array([-2.0] * 10 + [1.0, 0.0]),
        upper=np.array([1.0] * 10 + [30.99, 3.0]),
        x0=np.array([0.0] * 10 + [5.0, 0.0]),
        budget=1_000,
        build=lambda rng: error,
        steps=True,
    )


def _ridge_problem(build: Build, budget: int, noisy: bool) -> Problem:
    return Problem(
        lower=np.array([-1.5] * FEATURES + [-6.0, 0.0]),
        upper=np.array([2.0] * FEATURES + [2.0, 1.0]),
        x0=np.array([-0.5] * FEATURES + [-1.0, 0.5]),
        budget=budget,
        build=build,
        noisy=noisy,
    )


def kernel_ridge() -> Problem:
    """Tune kernel ridge regression: log lengths of 8 features, log ridge, kernel mixture. 10 variables, 150 trials."""
    return _ridge_problem(_split(_kernel_ridge(friedman(2 * HALF, FEATURES, seed=3)), 2 * HALF), 150, noisy=False)


def support_vectors() -> Problem:
    """Tune a support-vector classifier: log C, log gamma, log balance, mixture, degree. 5 variables, 50 trials."""
    return Problem(
        lower=np.array([-3.0, -4.0, -1.0, 0.0, 1.0]),
        upper=np.array([4.0, 1.0, 1.0, 1.0, 5.99]),
        x0=np.array([0.0, -2.0, 0.0, 0.5, 2.0]),
        budget=50,
        build=_split(_support_vectors(shells(2 * HALF, 6, seed=4)), 2 * HALF),
        steps=True,
    )


def boosted_stumps_resampled() -> Problem:
    """Tune gradient boosting, as `boosted_stumps`, with a new random split in each trial. 14 variables."""
    return _stumps_problem(_resampled(_stumps(friedman(2 * HALF, FEATURES, seed=5)), 2 * HALF), 1_000, noisy=True)


def kernel_ridge_resampled() -> Problem:
    """Tune kernel ridge regression with a new random split in each trial. 10 variables, 300 trials."""
    return _ridge_problem(_resampled(_kernel_ridge(friedman(2 * HALF, FEATURES, seed=6)), 2 * HALF), 300, noisy=True)


PROBLEMS = (
    boosted_stumps,
    nearest_neighbours,
    kernel_ridge,
    support_vectors,
    boosted_stumps_resampled,
    kernel_ridge_resampled,
)
