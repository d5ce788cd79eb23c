"""eglearn as a method of ``scipy.optimize.minimize``."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, OptimizeWarning

from .box import low_high, make_box
from .names import stands_for
from .result import Result, Status
from .run import minimize

_PER_COORDINATE = 1000  # per coordinate, as SciPy's Powell
_XTOL = 1e-6  # of the width of the bounds, or of the scale
_PASSED_APART = ("fun", "bounds", "x0", "args", "budget", "callback", "xtol", "scale")
_STOPPED = 99  # what SciPy's status is if a callback stops a run
_LIMITS = (Status.BUDGET, Status.TIME)


def scipy_method(
    fun: Any,
    x0: Any,
    args: Any = (),
    *,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Any = None,
    maxfev: int | None = None,
    maxiter: int | None = None,
    tol: float | None = None,
    xtol: Any = None,
    scale: Any = None,
    disp: bool = False,
    **options: Any,
) -> OptimizeResult:
    """Minimise for ``scipy.optimize.minimize(fun, x0, method=eglearn.scipy_method, bounds=..., options=...)``.

    Parameters
    ----------
    fun, x0, args, bounds, callback
        As in SciPy. A callback with one parameter ``intermediate_result`` gets an OptimizeResult, any other the best
        point so far; either may raise StopIteration.
    jac, hess, hessp
        Not used; a warning says so.
    constraints
        Not supported: anything but bounds is a ValueError.
    maxfev : int or None
        Option: evaluations at most; None is 1000 n.
    maxiter : int or None
        Option: batches at most.
    tol : float or None
        SciPy's argument of that name: sets ``ftol``.
    xtol : float, array-like or None
        Option: see ``eglearn.minimize``. If none of ``tol``, ``ftol``, ``xtol``, ``patience`` and ``target`` is given,
        it is 1e-6 of the width of the bounds, or of ``scale``.
    scale : float, array-like or None
        Option: the expected distance from ``x0`` to the minimum, for coordinates without bounds. None is 1, or the size
        of the coordinate of ``x0`` if that is larger.
    disp : bool
        Option: print the message at the end.
    **options
        More options of ``eglearn.minimize``: ftol, patience, target, seed, workers, store, known, progress, ...

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``status`` is 0 and ``success`` True if the run has converged or reached its target. At ``maxfev``,
        ``maxiter`` or ``max_seconds`` status is 1, and 99 if the callback has stopped the run. Otherwise it is that of
        ``eglearn.Status``. ``x_favorite``, ``n_failed`` and ``history`` are those of ``eglearn.Result``.

    Examples
    --------
    >>> from scipy.optimize import minimize, rosen
    >>> import eglearn
    >>> result = minimize(rosen, [-1, 2, -1], method=eglearn.scipy_method, bounds=[(-5, 5)] * 3)
    >>> result.success, result.x.round(3).tolist()
    (True, [1.0, 1.0, 1.0])
    """
    if np.any(constraints):
        raise ValueError("constraints are not supported: pass bounds, or add a penalty to the objective")
    for name, given in (("jac", jac), ("hess", hess), ("hessp", hessp)):
        if given:
            warnings.warn(f"eglearn uses no derivatives: {name} is not used", RuntimeWarning, stacklevel=3)
    names = set(inspect.signature(minimize).parameters) - set(_PASSED_APART)
    if unknown := sorted(set(options) - names):
        meant = " (maxfev limits the evaluations)" if any(stands_for(name) == "budget" for name in unknown) else ""
        warnings.warn(f"Unknown solver options: {', '.join(unknown)}{meant}", OptimizeWarning, stacklevel=3)
        options = {name: value for name, value in options.items() if name in names}
    start = np.atleast_1d(np.asarray(x0, dtype=np.float64))
    size = np.maximum(1.0, np.abs(start)) if scale is None else scale
    low, high = low_high(bounds, start)
    if low.shape == start.shape and ((start < low) | (start > high)).any():  # SciPy's own methods do the same
        warnings.warn("Initial guess is not within the specified bounds", OptimizeWarning, stacklevel=3)
        start = np.clip(start, low, high)
    box = make_box(bounds, start, size)
    width = box.high - box.low
    if scale is None:  # a guess says nothing about finite bounds
        size = np.where(np.isfinite(width), np.maximum(size, width), size)
    if tol is not None:
        options.setdefault("ftol", tol)
    if xtol is None and not any(options.get(name) is not None for name in ("ftol", "patience", "target")):
        xtol = _XTOL * np.where(np.isfinite(width), width, box.scale)
    counts = _Counted(callback, maxiter)
    result = minimize(
        fun,
        (box.low, box.high),
        start,
        args,
        budget=_PER_COORDINATE * box.n if maxfev is None else maxfev,
        scale=size,
        xtol=xtol,
        callback=counts,
        **options,
    )
    answer = _translated(result, counts.stopped)
    if disp:
        print(answer.message)  # noqa: T201
    return answer


class _Counted:
    """The user's callback behind ours, and the number of batches."""

    def __init__(self, callback: Any, maxiter: int | None) -> None:
        self.callback, self.maxiter, self.stopped = callback, maxiter, False
        self._named = callback is not None and set(inspect.signature(callback).parameters) == {"intermediate_result"}

    def __call__(self, intermediate_result: Result) -> None:
        if self.callback is not None:
            try:
                if self._named:
                    self.callback(intermediate_result=_translated(intermediate_result))
                else:
                    self.callback(intermediate_result.x.copy())
            except StopIteration:
                self.stopped = True
                raise
        if self.maxiter is not None and intermediate_result.nit >= self.maxiter:
            raise StopIteration


def _translated(result: Result, stopped: bool = False) -> OptimizeResult:
    """A result in SciPy's terms."""
    fields = {name: result[name] for name in result}
    if stopped:
        fields |= {"status": _STOPPED, "message": "`callback` raised `StopIteration`.", "success": False}
    elif result.status is Status.CALLBACK:
        fields |= {"status": 1, "message": "Maximum number of iterations has been reached.", "success": False}
    elif result.status in _LIMITS:
        fields |= {"status": 1, "success": False}
    else:
        fields |= {"status": 0 if result.success and result.status else int(result.status)}
    del fields["budget"], fields["progress"]
    return OptimizeResult(fields, history=result.history)
