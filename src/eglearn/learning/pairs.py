"""The losses of the mean-gradient: all pairs of a batch from one matrix product.

For points z_1..z_m with values v_1..v_m and model gradients g_1..g_m, with P_ij = g_i . z_j:

    first order  R_ij = P_ij - P_ii - (v_j - v_i)                          the paper's loss (sec. 4.1)
    trapezoid    T_ij = (P_ij - P_ii + P_jj - P_ji) / 2 - (v_j - v_i)      exact for every quadratic

Everything broadcasts over leading axes. With the slopes of the penalty as weights w_ij, `pull` gives the derivative of
the loss with respect to the gradients; training and the iterative closed form both follow it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ORDERS = ("first", "trapezoid")
LOSSES = ("squared", "huber")


def residuals(gradients: Any, z: Any, v: Any, order: str) -> Any:
    """Residuals (..., m, m) of all ordered pairs (i, j), from gradients and points (..., m, n) and values (..., m).

    Points are best given relative to the batch's centre: residuals do not depend on the origin, their rounding does.

    >>> import numpy as np
    >>> z = np.array([[0.0], [1.0], [2.0]])
    >>> v = z[:, 0] ** 2
    >>> residuals(2 * z, z, v, "trapezoid").tolist()  # the true gradient of a quadratic: no residual
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    projected = gradients @ z.swapaxes(-1, -2)
    predicted = projected - (gradients * z).sum(-1)[..., None]
    if order == "trapezoid":
        predicted = (predicted - predicted.swapaxes(-1, -2)) / 2
    return predicted - (v[..., None, :] - v[..., :, None])


def penalty(residual: Any, loss: str) -> Any:
    """Squared residuals, or Huber's with its corner at 1 (the unit of v), times 2 so that both agree near 0."""
    if loss == "squared":
        return residual * residual
    size = abs(residual)
    inner = size.clip(max=1)
    return inner * (2 * size - inner)


def penalty_slope(residual: Any, loss: str) -> Any:
    """The derivative of the penalty."""
    return 2 * (residual if loss == "squared" else np.clip(residual, -1, 1))


def pull(weights: Any, z: Any, order: str) -> Any:
    """Derivative (..., m, n) of sum w_ij R_ij with respect to the gradients, for weights (..., m, m).

    >>> import numpy as np
    >>> pull(np.ones((2, 2)), np.array([[0.0], [1.0]]), "first").tolist()  # of g_1 (z_2 - z_1) + g_2 (z_1 - z_2)
    [[1.0], [-1.0]]
    """
    if order == "trapezoid":
        weights = (weights - weights.swapaxes(-1, -2)) / 2
    return weights @ z - weights.sum(-1)[..., None] * z
