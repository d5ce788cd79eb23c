"""The 22 systems of residuals of Moré and Wild (2009), and their standard starting points.

Functions 1 to 18 are those of Moré, Garbow and Hillstrom, *Testing unconstrained optimization software*, ACM TOMS 7
(1981) 17-41, where they have other numbers, given here as "MGH 32"; functions 19 to 22 (Bdqrtic, Cube, Mancino, Heart8)
are of the CUTEr collection. The selection is that of Moré and Wild, *Benchmarking derivative-free optimization
algorithms*, SIAM J. Optim. 20 (2009) 172-191.
Each function takes x and the number of residuals m. Overflow is left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .base import Array

Residuals = Callable[[Array, int], Array]

BARD = np.array([0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39])
KOWALIK_Y = np.array([0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246])
KOWALIK_U = np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625])
# fmt: off
MEYER = np.array([
    34780.0, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872,
])
OSBORNE_1 = np.array([
    0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628,
    0.603, 0.580, 0.558, 0.538, 0.522, 0.506, 0.490, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.420,
    0.414, 0.411, 0.406,
])
OSBORNE_2 = np.array([
    1.366, 1.191, 1.112, 1.013, 0.991, 0.885, 0.831, 0.847, 0.786, 0.725, 0.746, 0.679, 0.608, 0.655, 0.616,
    0.606, 0.602, 0.626, 0.651, 0.724, 0.649, 0.649, 0.694, 0.644, 0.624, 0.661, 0.612, 0.558, 0.533, 0.495,
    0.500, 0.423, 0.395, 0.375, 0.372, 0.391, 0.396, 0.405, 0.428, 0.429, 0.523, 0.562, 0.607, 0.653, 0.672,
    0.708, 0.633, 0.668, 0.645, 0.632, 0.591, 0.559, 0.597, 0.625, 0.739, 0.710, 0.729, 0.720, 0.636, 0.581,
    0.428, 0.292, 0.162, 0.098, 0.054,
])
# fmt: on


def _counting(m: int) -> Array:
    return np.arange(1.0, m + 1)


def linear_full_rank(x: Array, m: int) -> Array:
    """MGH 32."""
    r = np.full(m, -2.0 * x.sum() / m - 1.0)
    r[: x.size] += x
    return r


def linear_rank_one(x: Array, m: int) -> Array:
    """MGH 33."""
    return _counting(m) * (_counting(x.size) @ x) - 1.0


def linear_rank_one_zeros(x: Array, m: int) -> Array:
    """MGH 34: rank one, with zero columns and rows."""
    factor = np.arange(m, dtype=float)
    factor[-1] = 0.0
    return factor * (np.arange(2.0, x.size) @ x[1:-1]) - 1.0


def rosenbrock(x: Array, m: int) -> Array:
    """MGH 1."""
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def helical_valley(x: Array, m: int) -> Array:
    """MGH 7. The angle runs from -1/4 to 3/4 of a full turn; on the axis x1 = 0 it is a quarter."""
    turn = 0.25 if x[0] == 0.0 else np.arctan(x[1] / x[0]) / (2 * np.pi) + 0.5 * (x[0] < 0)
    return np.array([10.0 * (x[2] - 10.0 * turn), 10.0 * (np.hypot(x[0], x[1]) - 1.0), x[2]])


def powell_singular(x: Array, m: int) -> Array:
    """MGH 13."""
    a, b, c, d = x
    return np.array([a + 10 * b, np.sqrt(5.0) * (c - d), (b - 2 * c) ** 2, np.sqrt(10.0) * (a - d) ** 2])


def freudenstein_roth(x: Array, m: int) -> Array:
    """MGH 2."""
    a, b = x
    return np.array([a - 13 + ((5 - b) * b - 2) * b, a - 29 + ((b + 1) * b - 14) * b])


def bard(x: Array, m: int) -> Array:
    """MGH 8."""
    u = _counting(15)
    v = 16.0 - u
    return np.asarray(BARD - (x[0] + u / (v * x[1] + np.minimum(u, v) * x[2])))


def kowalik_osborne(x: Array, m: int) -> Array:
    """MGH 15."""
    u = KOWALIK_U
    return np.asarray(KOWALIK_Y - x[0] * u * (u + x[1]) / (u * (u + x[2]) + x[3]))


def meyer(x: Array, m: int) -> Array:
    """MGH 10."""
    return np.asarray(x[0] * np.exp(x[1] / (45.0 + 5.0 * _counting(16) + x[2])) - MEYER)


def watson(x: Array, m: int) -> Array:
    """MGH 20."""
    t = _counting(29) / 29.0
    powers = np.vander(t, x.size, increasing=True)
    slope = powers[:, :-1] @ (np.arange(1.0, x.size) * x[1:])
    return np.concatenate([slope - (powers @ x) ** 2 - 1.0, [x[0], x[1] - x[0] ** 2 - 1.0]])


def box_3d(x: Array, m: int) -> Array:
    """MGH 12."""
    t = _counting(m) / 10.0
    return np.asarray(np.exp(-t * x[0]) - np.exp(-t * x[1]) - x[2] * (np.exp(-t) - np.exp(-10.0 * t)))


def jennrich_sampson(x: Array, m: int) -> Array:
    """MGH 6."""
    i = _counting(m)
    return np.asarray(2.0 + 2.0 * i - (np.exp(i * x[0]) + np.exp(i * x[1])))


def brown_dennis(x: Array, m: int) -> Array:
    """MGH 16."""
    t = _counting(m) / 5.0
    return np.asarray((x[0] + t * x[1] - np.exp(t)) ** 2 + (x[2] + x[3] * np.sin(t) - np.cos(t)) ** 2)


def chebyquad(x: Array, m: int) -> Array:
    """MGH 35: means of the shifted Chebyshev polynomials minus their integrals."""
    i = _counting(m)
    means = np.polynomial.chebyshev.chebvander(2.0 * x - 1.0, m)[:, 1:].mean(axis=0)
    even = i % 2 == 0
    means[even] += 1.0 / (i[even] ** 2 - 1.0)
    return np.asarray(means)


def brown_almost_linear(x: Array, m: int) -> Array:
    """MGH 27."""
    r = x + x.sum() - (x.size + 1.0)
    r[-1] = x.prod() - 1.0
    return np.asarray(r)


def osborne_1(x: Array, m: int) -> Array:
    """MGH 17."""
    t = 10.0 * np.arange(33)
    return np.asarray(OSBORNE_1 - (x[0] + x[1] * np.exp(-x[3] * t) + x[2] * np.exp(-x[4] * t)))


def osborne_2(x: Array, m: int) -> Array:
    """MGH 19."""
    t = np.arange(65) / 10.0
    peaks = np.exp(-x[5:8] * (t[:, None] - x[8:11]) ** 2) @ x[1:4]
    return np.asarray(OSBORNE_2 - (x[0] * np.exp(-x[4] * t) + peaks))


def bdqrtic(x: Array, m: int) -> Array:
    """Bdqrtic of CUTEr, m = 2 (n - 4)."""
    s = x**2
    quartic = s[:-4] + 2 * s[1:-3] + 3 * s[2:-2] + 4 * s[3:-1] + 5 * s[-1]
    return np.concatenate([3.0 - 4.0 * x[:-4], quartic])


def cube(x: Array, m: int) -> Array:
    """Cube of CUTEr."""
    return np.concatenate([[x[0] - 1.0], 10.0 * (x[1:] - x[:-1] ** 3)])


def _mancino_sums(squares: Array) -> Array:
    i = _counting(squares.size)
    v = np.sqrt(squares[:, None] + i[:, None] / i)
    return np.asarray((v * (np.sin(np.log(v)) ** 5 + np.cos(np.log(v)) ** 5)).sum(axis=1))


def mancino(x: Array, m: int) -> Array:
    """Mancino of CUTEr."""
    return np.asarray(1400.0 * x + (_counting(x.size) - 50.0) ** 3 + _mancino_sums(x**2))


def heart_8(x: Array, m: int) -> Array:
    """Heart8 of CUTEr: the moments of two dipoles. In complex form, sum of z_k w_k^p for p = 0..3."""
    z = x[0:2] + 1j * x[2:4]
    w = x[4:6] + 1j * x[6:8]
    moments = (z * w ** np.arange(4)[:, None]).sum(axis=1)
    return np.asarray(moments.view(float) + np.array([0.69, 0.044, 1.57, 1.31, 2.65, -2.0, 12.6, -9.48]))


def _mancino_start(n: int) -> Array:
    return -8.710996e-4 * ((_counting(n) - 50.0) ** 3 + _mancino_sums(np.zeros(n)))


def _constant(value: float) -> Callable[[int], Array]:
    return lambda n: np.full(n, value)


def _given(*values: float) -> Callable[[int], Array]:
    return lambda n: np.array(values, dtype=float)


FUNCTIONS: dict[int, tuple[Residuals, Callable[[int], Array]]] = {
    1: (linear_full_rank, _constant(1.0)),
    2: (linear_rank_one, _constant(1.0)),
    3: (linear_rank_one_zeros, _constant(1.0)),
    4: (rosenbrock, _given(-1.2, 1)),
    5: (helical_valley, _given(-1, 0, 0)),
    6: (powell_singular, _given(3, -1, 0, 1)),
    7: (freudenstein_roth, _given(0.5, -2)),
    8: (bard, _constant(1.0)),
    9: (kowalik_osborne, _given(0.25, 0.39, 0.415, 0.39)),
    10: (meyer, _given(0.02, 4000, 250)),
    11: (watson, _constant(0.5)),
    12: (box_3d, _given(0, 10, 20)),
    13: (jennrich_sampson, _given(0.3, 0.4)),
    14: (brown_dennis, _given(25, 5, -5, -1)),
    15: (chebyquad, lambda n: _counting(n) / (n + 1)),
    16: (brown_almost_linear, _constant(0.5)),
    17: (osborne_1, _given(0.5, 1.5, 1, 0.01, 0.02)),
    18: (osborne_2, _given(1.3, 0.65, 0.65, 0.7, 0.6, 3, 5, 7, 2, 4.5, 5.5)),
    19: (bdqrtic, _constant(1.0)),
    20: (cube, _constant(0.5)),
    21: (mancino, _mancino_start),
    22: (heart_8, _given(-0.3, -0.39, 0.3, -0.344, -1.2, 2.69, 1.59, -1.5)),
}
"""Residuals and standard starting point by the number ``nprob`` of Moré and Wild."""
