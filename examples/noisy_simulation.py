"""A noisy simulation: the stock levels of five goods with random demand. Use `x_favorite`, not `x`.

The lowest of many noisy values is partly luck. The search notices noise by itself and then recommends the mean of its
population, `result.x_favorite`.
"""

import numpy as np

from eglearn import minimize

rng = np.random.default_rng(1)
MEAN_DEMAND = np.array([20.0, 35.0, 50.0, 65.0, 80.0])


def cost(stock, days=30):
    """Mean cost per day: 1 for each unit that is left over, 4 for each that is missing."""
    demand = rng.gamma(4.0, MEAN_DEMAND / 4.0, (days, 5))
    return float(np.mean(np.sum(np.maximum(stock - demand, 0) + 4 * np.maximum(demand - stock, 0), axis=1)))


result = minimize(cost, bounds=[(0, 200)] * 5, budget=5_000, seed=0)
print(result.message)
for name, stock in (("lowest value", result.x), ("recommended", result.x_favorite)):
    print(f"{name:>12}: {np.round(stock)}, true cost {cost(stock, days=100_000):.2f}")
print(f"the lowest value, {result.fun:.2f}, was luck")
