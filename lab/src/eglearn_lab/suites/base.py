"""What a benchmark problem is: a box, a start, a budget, and an objective that a seed makes deterministic."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Objective = Callable[[Array], float]
Build = Callable[[np.random.Generator | None], Objective]

WINDOW = 20.0
"""Half-width, in units of ``scale``, of the box that stands in for an infinite one.

The farthest minimiser of a Moré-Wild problem (Watson in 12-D) is 10.8 scales from its start."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One problem, as a user would bring it.

    Parameters
    ----------
    lower, upper : array of shape (n,)
        The box. Sides may be infinite.
    x0 : array of shape (n,)
        Where a user would start, inside the box.
    budget : int
        Evaluations that a solver may use.
    build : callable
        Takes a random generator and returns the objective; takes None and returns it without noise. The data of a
        problem is the same in each call.
    name : str
        Unique in its suite; the registry of the suite fills it in.
    family : str
        What the problem is about; problems of a family share code.
    doc : str
        What a user would call the problem, and where the formulas come from.
    scale : array of shape (n,), optional
        The length that matters in each coordinate. The width of the box if not given; required where a side is
        infinite.
    best_known : float, optional
        The lowest value known of the objective without noise.
    noisy : bool
        Two calls at one point differ.
    fails : bool
        In part of the box the objective returns NaN or raises `RuntimeError`.
    steps : bool
        Not continuous: piecewise constant in some coordinates, or with cliffs.
    kinks : bool
        Continuous, not differentiable at points that matter.
    penalty : bool
        Values of 1e6 and more where something is violated.
    set_aside : bool
        Not to be looked at while methods are being chosen or tuned.
    sequential : int
        How many steps of one evaluation follow each other, such as time steps. All else is vectorised, so the number
        of Python instructions of one evaluation is bounded by a constant times this.

    Examples
    --------
    >>> import numpy as np
    >>> bowl = Problem(-np.ones(2), np.ones(2), np.ones(2), budget=100, build=lambda rng: lambda x: float(x @ x))
    >>> bowl.make(seed=3)(bowl.x0)
    2.0
    """

    lower: Array
    upper: Array
    x0: Array
    budget: int
    build: Build = field(repr=False)
    name: str = ""
    family: str = ""
    doc: str = field(default="", repr=False)
    scale: Array = field(default_factory=lambda: np.empty(0))
    best_known: float | None = None
    noisy: bool = False
    fails: bool = False
    steps: bool = False
    kinks: bool = False
    penalty: bool = False
    set_aside: bool = False
    sequential: int = 1

    def __post_init__(self) -> None:
        for label, side in (("lower", self.lower), ("upper", self.upper), ("scale", self.scale)):
            if side.shape != (self.n,) and not (label == "scale" and side.size == 0):
                raise ValueError(f"{self.name}: {label} has shape {side.shape}, x0 has {self.x0.shape}.")
        if self.scale.size == 0:
            object.__setattr__(self, "scale", self.upper - self.lower)
        if not (np.isfinite(self.scale).all() and (self.scale > 0).all()):
            raise ValueError(f"{self.name}: scale must be positive and finite; give it where a side is infinite.")
        if not ((self.lower <= self.x0) & (self.x0 <= self.upper)).all():
            raise ValueError(f"{self.name}: x0 lies outside the box.")
        if self.budget < 1:
            raise ValueError(f"{self.name}: budget is {self.budget}, must be at least 1.")

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.x0.size

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the difficulties that hold, in a fixed order."""
        return tuple(flag for flag in ("noisy", "fails", "steps", "kinks", "penalty") if getattr(self, flag))

    def make(self, seed: int = 0) -> Objective:
        """Return the objective that a solver sees.

        Two objectives made with the same seed return the same sequence of values at the same sequence of points.
        """
        return self.build(np.random.default_rng([seed, zlib.crc32(self.name.encode())]) if self.noisy else None)

    def exact(self) -> Objective:
        """Return the objective without noise, to score the point that a solver returns."""
        return self.build(None)

    def box(self) -> tuple[Array, Array]:
        """Return a finite box, for solvers that require one.

        An infinite side is replaced by ``x0`` minus or plus `WINDOW` times ``scale``. Solvers that need no box, or
        accept infinite sides, should be given ``lower`` and ``upper`` as they are.
        """
        lower = np.where(np.isfinite(self.lower), self.lower, self.x0 - WINDOW * self.scale)
        upper = np.where(np.isfinite(self.upper), self.upper, self.x0 + WINDOW * self.scale)
        return lower, upper


def uniform_box(n: int, low: float, high: float) -> tuple[Array, Array]:
    """Return the sides of a box that is the same in each coordinate.

    Examples
    --------
    >>> uniform_box(2, 0, 3)
    (array([0., 0.]), array([3., 3.]))
    """
    return np.full(n, float(low)), np.full(n, float(high))


def with_noise(objective: Objective, rng: np.random.Generator | None, deviation: float) -> Objective:
    """Add normal noise of a standard deviation to an objective; return it as it is where the generator is None.

    Examples
    --------
    >>> import numpy as np
    >>> clean = lambda x: 1.0
    >>> with_noise(clean, None, 0.1) is clean
    True
    >>> noisy = with_noise(clean, np.random.default_rng(0), 0.1)
    >>> noisy(np.zeros(2)) == noisy(np.zeros(2))
    False
    """
    if rng is None:
        return objective
    return lambda x: objective(x) + deviation * float(rng.standard_normal())


def rotation(n: int, seed: int) -> Array:
    """Return a random orthogonal matrix, uniform over rotations and reflections.

    Examples
    --------
    >>> import numpy as np
    >>> Q = rotation(4, seed=1)
    >>> bool(np.allclose(Q @ Q.T, np.eye(4)))
    True
    """
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))
    return np.asarray(q * np.sign(np.diag(r)))
