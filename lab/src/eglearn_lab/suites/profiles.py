"""Data and performance profiles: what share of the problems each solver has solved, by evaluations.

A problem counts as solved to the accuracy tau at the first evaluation with

    f(x) <= fL + tau (f(x0) - fL),

fL the lowest value that any solver found within the budget (Moré and Wild 2009, eq. 2.2). The data profile (eq. 2.10)
counts evaluations in units of simplex gradients, n + 1; the performance profile (Dolan and Moré 2002; eq. 2.4) in units
of the best solver on the problem. A profile with all solvers' best as reference changes when a solver is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .base import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TAUS = (1e-1, 1e-3, 1e-5, 1e-7)

Histories = Mapping[str, Sequence[Array]]
"""By solver, one array of values per problem, in the order of evaluation. Of a noisy problem: the noise-free values.
NaN stands for a failed evaluation. The arrays of a problem may differ in length."""


def evaluations_needed(
    histories: Histories, start_values: Array, tau: float, best_values: Array | None = None
) -> dict[str, Array]:
    """Return how many evaluations each solver needed on each problem, inf where it did not get there.

    Parameters
    ----------
    histories : mapping of str to sequence of arrays
        See `Histories`.
    start_values : array of shape (problems,)
        f(x0).
    tau : float
        The accuracy, between 0 and 1.
    best_values : array of shape (problems,), optional
        fL; the lowest value in the histories and of the start if not given.

    Examples
    --------
    >>> import numpy as np
    >>> histories = {"a": [np.array([9.0, 4.0, 0.0])], "b": [np.array([9.0, 8.0, 7.0])]}
    >>> evaluations_needed(histories, np.array([10.0]), tau=0.5)
    {'a': array([2.]), 'b': array([inf])}
    """
    if not 0.0 < tau < 1.0:
        raise ValueError(f"tau is {tau}, must lie between 0 and 1.")
    start = np.asarray(start_values, dtype=float)
    for solver, runs in histories.items():
        if len(runs) != start.size:
            raise ValueError(
                f"{solver} has {len(runs)} histories, start_values has {start.size}: give one per problem."
            )
    if best_values is None:
        lowest = [[np.nanmin(run, initial=np.inf) for run in runs] for runs in histories.values()]
        best = np.minimum(np.min(lowest, axis=0), start)
    else:
        best = np.asarray(best_values, dtype=float)
    target = best + tau * (start - best)

    def first(run: Array, level: float) -> float:
        hits = np.flatnonzero(np.asarray(run) <= level)  # NaN compares as False
        return float(hits[0] + 1) if hits.size else np.inf

    return {
        s: np.array([first(r, level) for r, level in zip(runs, target, strict=True)]) for s, runs in histories.items()
    }


def data_profile(needed: Mapping[str, Array], dimensions: Array, grid: Array) -> dict[str, Array]:
    """Return the share of problems solved within each number of simplex gradients of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> data_profile({"a": np.array([6.0, np.inf])}, np.array([2, 2]), np.array([1.0, 2.0]))
    {'a': array([0. , 0.5])}
    """
    return {s: _share(t / (np.asarray(dimensions) + 1.0), grid) for s, t in needed.items()}


def performance_profile(needed: Mapping[str, Array], grid: Array) -> dict[str, Array]:
    """Return the share of problems solved within each multiple of the best solver's evaluations.

    Problems that no solver solved count as unsolved for each.

    Examples
    --------
    >>> import numpy as np
    >>> performance_profile({"a": np.array([5.0, 8.0]), "b": np.array([10.0, 4.0])}, np.array([1.0, 2.0]))
    {'a': array([0.5, 1. ]), 'b': array([0.5, 1. ])}
    """
    best = np.min(list(needed.values()), axis=0)
    unit = np.where(np.isfinite(best), best, 1.0)  # inf / 1: unsolved by all is unsolved by each
    return {s: _share(t / unit, grid) for s, t in needed.items()}


def _share(costs: Array, grid: Array) -> Array:
    return np.asarray(np.searchsorted(np.sort(costs), grid, side="right") / costs.size)


def plot_profiles(curves: Mapping[str, Array], grid: Array, kind: str, title: str, axes: Axes | None = None) -> Axes:
    """Draw profiles as steps; needs matplotlib.

    Parameters
    ----------
    curves : mapping of str to array
        From `data_profile` or `performance_profile`.
    grid : array
        The grid they were computed on.
    kind : {"data", "performance"}
        Names the horizontal axis; that of a performance profile is logarithmic.
    title : str
        Printed above.
    axes : matplotlib axes, optional
        Where to draw; a new figure if not given.
    """
    labels = {"data": "evaluations / (n + 1)", "performance": "evaluations / those of the best solver"}
    if kind not in labels:
        raise ValueError(f"kind is {kind!r}; choose 'data' or 'performance'.")
    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure(figsize=(5.0, 3.6), layout="constrained").subplots()
    styles = ("-", "--", "-.", ":")
    for i, (solver, share) in enumerate(curves.items()):
        axes.step(grid, share, where="post", label=solver, linestyle=styles[i // 10 % 4])
    if kind == "performance":
        axes.set_xscale("log", base=2)
    axes.set(
        xlim=(grid[0], grid[-1]), ylim=(0.0, 1.02), xlabel=labels[kind], ylabel="share of problems solved", title=title
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize="small")
    return axes
