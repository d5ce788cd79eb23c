"""Minimise a bowl covered with ripples in 40 dimensions: 7^40 local minima, one global one.

A first descent ends in a local minimum. The search then notices that the coordinates do not interact, finds the right
ripple along each of them, and a second descent finishes. (Rotated, the function takes more evaluations.)
"""

import sys

import numpy as np

from eglearn import minimize


def rippled_bowl(x):
    return np.sum((x - 2) ** 2 + 1 - np.cos(2 * np.pi * (x - 2)))


def show(intermediate_result):
    r = intermediate_result
    if sys.stdout.isatty():
        print(f"{r.nfev:6d} evaluations, best value {r.fun:<12.6g}", end="\r", flush=True)


result = minimize(rippled_bowl, bounds=[(-5, 5)] * 40, budget=25_000, seed=0, callback=show)
if sys.stdout.isatty():
    print()
print(result.message)
print(f"best value {result.fun:.3g} (the minimum is 0), largest error in x {abs(result.x - 2).max():.1e}")
