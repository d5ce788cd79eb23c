"""Noisy objectives, and the default under noise."""

import numpy as np
from tests.auto.driver import sphere

from eglearn.auto.default import Auto


class Noise:
    """An objective with noise from its own generator."""

    def __init__(self, kind, fun=sphere, seed=0):
        self.kind, self.fun, self.rng = kind, fun, np.random.default_rng(seed)

    def __call__(self, u):
        y, rng = self.fun(u), self.rng
        k = len(y)
        if self.kind == "severe":
            return y * np.exp(rng.standard_normal(k))
        if self.kind == "slight":
            return y * np.exp(0.01 * rng.standard_normal(k))
        if self.kind == "rare":
            struck = rng.random(k) < 0.2
            return y + struck * rng.standard_cauchy(k)
        return y + 0.1 * rng.standard_normal(k)


def auto(n, seed=0, budget=None):
    return Auto(np.random.default_rng(seed), np.full(n, -0.3), budget=budget)


def noisy_auto(n):
    """Noise that matters is taken for granted after the first value."""
    s = auto(n)
    u = s.propose(1)
    s.repeats.strikes = 3
    s.learn(u, 1 + sphere(u))
    assert s.noisy is not None
    return s
