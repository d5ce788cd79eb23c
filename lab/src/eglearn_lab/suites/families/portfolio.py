"""Portfolios with costs of trading. The variables are shares before they are scaled to the sum 1; values in percent.

Mean and variance: Markowitz (1952). Conditional value at risk, the mean of the worst 5 %: Rockafellar and Uryasev,
J. Risk 2 (2000) 21. Returns are synthetic: a few common factors and heavy-tailed own parts.
"""

from __future__ import annotations

import numpy as np

from ..base import Array, Build, Objective, Problem, uniform_box


def _returns(assets: int, scenarios: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    exposure = rng.normal(0.6, 0.4, (3, assets))
    common = rng.standard_t(4, (scenarios, 3)) * np.array([0.03, 0.015, 0.01])
    own = rng.standard_t(4, (scenarios, assets)) * rng.uniform(0.01, 0.04, assets)
    return np.asarray(common @ exposure + own + rng.uniform(0.0, 0.02, assets))


def _shares(x: Array) -> Array:
    return np.asarray((x + 1e-9) / (x.sum() + 1e-9 * x.size))


def _held(assets: int) -> Array:
    """Shares that are held now, the start of the search: a third of the assets, unequally."""
    held = np.where(np.arange(assets) % 3 == 0, 1.0 + np.arange(assets) % 5, 0.0)
    return np.asarray(held / held.max())


def _problem(assets: int, budget: int, build: Build, noisy: bool = False, steps: bool = False) -> Problem:
    return Problem(
        *uniform_box(assets, 0, 1), x0=_held(assets), budget=budget, build=build, noisy=noisy, steps=steps, kinks=True
    )


def rebalance_20() -> Problem:
    """Rebalance 20 assets: 3 times variance minus mean, plus 0.1 % of what is traded. 20 variables."""
    returns = _returns(20, 400, seed=31)
    mean, covariance = returns.mean(axis=0), np.cov(returns.T)
    held = _shares(_held(20))

    def loss(x: Array) -> float:
        w = _shares(x)
        return 100.0 * float(3.0 * w @ covariance @ w - mean @ w + 0.001 * np.abs(w - held).sum())

    return _problem(20, 5_000, lambda rng: loss)


def rebalance_lots_50() -> Problem:
    """Rebalance 50 assets in lots of half a percent; trades cost 0.1 % and a fee of 0.01 % each. 50 variables."""
    returns = _returns(50, 400, seed=32)
    mean, covariance = returns.mean(axis=0), np.cov(returns.T)
    held = _shares(_held(50))

    def loss(x: Array) -> float:
        traded = np.round((_shares(x) - held) / 0.005) * 0.005
        w = held + traded
        cash = 1.0 - w.sum()  # what the rounding leaves over; below zero it is borrowed at 5 %
        fees = 1e-4 * np.count_nonzero(traded) + 0.001 * np.abs(traded).sum() + 0.05 * max(-cash, 0.0)
        return 100.0 * float(3.0 * w @ covariance @ w - mean @ w + fees)

    return _problem(50, 10_000, lambda rng: loss, steps=True)


def tail_risk_30() -> Problem:
    """Tail risk of 30 assets in 500 scenarios, minus the mean, plus 0.5 % of what is traded. 30 variables."""
    returns = _returns(30, 500, seed=33)
    held = _shares(_held(30))

    def loss(x: Array) -> float:
        return _tail_loss(_shares(x), returns, held)

    return _problem(30, 10_000, lambda rng: loss)


def tail_risk_30_resampled() -> Problem:
    """Tail risk of 30 assets, minus the mean, plus costs; 200 scenarios drawn anew in each call. 30 variables."""
    returns = _returns(30, 2_000, seed=34)
    held = _shares(_held(30))

    def build(rng: np.random.Generator | None) -> Objective:
        if rng is None:
            return lambda x: _tail_loss(_shares(x), returns, held)
        return lambda x: _tail_loss(_shares(x), returns[rng.integers(len(returns), size=200)], held)

    return _problem(30, 5_000, build, noisy=True)


def _tail_loss(w: Array, returns: Array, held: Array) -> float:
    outcome = returns @ w
    worst = np.sort(outcome)[: outcome.size // 20]
    return 100.0 * float(-worst.mean() - outcome.mean() + 0.005 * np.abs(w - held).sum())


PROBLEMS = (rebalance_20, rebalance_lots_50, tail_risk_30, tail_risk_30_resampled)
