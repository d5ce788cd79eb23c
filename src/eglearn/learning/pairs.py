"""The losses of the mean-gradient: all pairs of a batch from one matrix product.

For points z_1..z_m with values v_1..v_m and model gradients g_1..g_m, with P_ij = g_i . z_j:

    first order  R_ij = P_ij - P_ii - (v_j - v_i)                          the paper's loss (sec. 4.1)
    trapezoid    T_ij = (P_ij - P_ii + P_jj - P_ji) / 2 - (v_j - v_i)      exact for every quadratic

Everything is written with operators that NumPy arrays and torch tensors share, and broadcasts over leading
axes, so the networks train on the very code that the tests compare with a double loop.
"""

from __future__ import annotations

from typing import Any

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
