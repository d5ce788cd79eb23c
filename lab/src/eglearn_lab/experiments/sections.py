"""Functions of one coordinate: COCO's problems in two dimensions along the diagonal, f(x, x), as in the paper's sec. 3.

The paper names the kinds of function but, but for one, not the problems. These are our choice:

| kind | problem |
|---|---|
| parabola | f1, sphere, instance 1 |
| piecewise linear | f13, sharp ridge, instance 1 |
| multiple minima | f21, Gallagher's 101 peaks, instance 1 |
| step | f7, step ellipsoid, instance 1 |
| harmonic decay | f17, Schaffer F7, instance 72: the paper's 246 |
| noise-like | f16, Weierstrass, instance 1 |
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from .._typing import Array
from ..bench.problems import NoiseFree, Problem, paper_problem

SECTIONS: dict[str, Problem] = {
    "parabola": Problem("bbob", 1, 2, 1),
    "piecewise linear": Problem("bbob", 13, 2, 1),
    "multiple minima": Problem("bbob", 21, 2, 1),
    "step": Problem("bbob", 7, 2, 1),
    "harmonic decay": paper_problem(246, 2),
    "noise-like": Problem("bbob", 16, 2, 1),
}
_HALF_WIDTH = 5.0  # of COCO's box: from z in [-1, 1] to x
_INTERVALS = 20_000  # of the quadrature


class Section:
    """A section of ``SECTIONS``, both axes scaled to [-1, 1].

    Attributes
    ----------
    title : str
        Its problem.
    """

    def __init__(self, kind: str) -> None:
        problem = SECTIONS[kind]
        self.title = f"f{problem.function} i{problem.instance}"
        self._f = NoiseFree(problem)
        self._middle, self._half = 0.0, 1.0
        self._fine = np.linspace(-1, 1, _INTERVALS + 1)
        y = self(self._fine)
        self._middle, self._half = (y.max() + y.min()) / 2, (y.max() - y.min()) / 2
        self._v = (y - self._middle) / self._half

    def __call__(self, z: Array) -> Array:
        """Scaled values (k,) at points (k,)."""
        y = np.array([self._f(np.full(2, _HALF_WIDTH * point)) for point in z])
        return (y - self._middle) / self._half

    def mean_gradient(self, z: Array, epsilon: float) -> Array:
        """The mean-gradient (definition 1) at points (k,), by the trapezoid rule.

        V_eps(z) is what lies within ``epsilon`` of z and in [-1, 1].
        """
        step = 2 / _INTERVALS
        centre = np.rint((z + 1) / step).astype(int)
        reach = max(1, round(epsilon / step))
        low, high = np.maximum(centre - reach, 0), np.minimum(centre + reach, _INTERVALS)

        def integral(values: Array) -> Array:
            """Of values on the fine grid, from ``low`` to ``high``: a difference of running sums."""
            running = np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2)])
            area: Array = running[high] - running[low]
            return area

        x, v = self._fine, self._v
        at, here = x[centre], v[centre]
        # The integrals of tau (f(x + tau) - f(x)) and of tau^2, tau = x' - x, multiplied out.
        gain = integral(x * v) - at * integral(v) - here * (integral(x) - at * integral(np.ones_like(x)))
        gradient: Array = gain / (integral(x * x) - 2 * at * integral(x) + at**2 * integral(np.ones_like(x)))
        return gradient


def sign_changes(values: Array) -> int:
    """How often the sign changes along ``values``; zeros do not count.

    Examples
    --------
    >>> sign_changes(np.array([-1.0, 0.0, 2.0, 3.0, -1.0]))
    2
    """
    signs = np.sign(values[values != 0])
    return int(np.sum(signs[1:] != signs[:-1]))


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute with one thread: these networks are too small for more, and sums keep their order."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
