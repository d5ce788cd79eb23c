"""Fit the four rates of a predator-prey model to noisy observations of both populations.

The solver fails for some rates; such points are skipped. `ftol` ends the run when the misfit no longer falls.
"""

import numpy as np
from scipy.integrate import solve_ivp

from eglearn import minimize

TRUE = np.array([1.1, 0.4, 0.1, 0.4])
TIMES = np.linspace(0, 15, 40)


def populations(rates):
    a, b, c, d = rates

    def change(_, state):
        prey, predators = state
        return [a * prey - b * prey * predators, c * prey * predators - d * predators]

    solved = solve_ivp(change, (0, 15), [10.0, 5.0], t_eval=TIMES, rtol=1e-6, method="LSODA")
    if not solved.success:
        raise RuntimeError(solved.message)
    return solved.y


observed = populations(TRUE) * np.exp(0.05 * np.random.default_rng(0).standard_normal((2, 40)))


def misfit(rates):
    return float(np.mean((np.log(np.maximum(populations(rates), 1e-12)) - np.log(observed)) ** 2))


result = minimize(misfit, bounds=[(0.1, 2.0)] + [(0.01, 1.0)] * 3, budget=2_000, ftol=1e-7, patience=200)
print(result.message)
print(f"misfit {result.fun:.5f} after {result.nfev} evaluations, {misfit(TRUE):.5f} at the true rates")
for name, true, found in zip("abcd", TRUE, result.x, strict=True):
    print(f"{name}: true {true:.3f}, found {found:.3f}")
