"""The loop that joins an algorithm, the evaluation of the objective, and the user's callback."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .algorithms import EGL, AskTell
from .evaluation.base import Evaluator, ObjectiveError, Outcome
from .evaluation.serial import Serial, Vectorized
from .result import Result, Status, describe
from .settings import Settings

Callback = Callable[..., Any]


def minimize(
    fun: Callable[[Any], Any],
    bounds: Any,
    x0: Any = None,
    *,
    budget: int,
    seed: int | None = 0,
    settings: Settings | None = None,
    scale: Any = None,
    vectorized: bool = False,
    on_error: str | float = "skip",
    retries: int = 0,
    callback: Callback | None = None,
    target: float | None = None,
    max_seconds: float | None = None,
    algorithm: type[AskTell] = EGL,
) -> Result:
    """Minimise ``fun`` inside ``bounds`` with at most ``budget`` evaluations.

    Parameters
    ----------
    fun : callable
        ``fun(x)`` takes a float64 array (n,) and returns a number. NaN, an infinite value, anything that is not one
        real number, or an exception is a failed evaluation.
    bounds : sequence of (low, high), ``scipy.optimize.Bounds``, or a (low, high) pair of arrays
        Every evaluated point is inside. Equal bounds fix a coordinate. None or an infinite value means no bound,
        and needs ``x0`` and ``scale``.
    x0 : array-like or None
        Where to start; None is the centre of the box.
    budget : int
        Number of evaluations, never exceeded. Failed evaluations count; a point counts once, whatever its attempts.
    seed : int or None
        Same seed, settings and values: same points. None draws one.
    settings : Settings or None
        Everything about the algorithm.
    scale : float, array-like or None
        For coordinates with an infinite side: the distance from ``x0`` within which the minimum is expected.
    vectorized : bool
        ``fun`` takes a whole batch (m, n), one point a row, and returns m values.
    on_error : {"skip", "raise"} or float
        What a failed evaluation is: left out, the end of the run (``ObjectiveError``), or this finite value.
    retries : int
        How often a failed evaluation is tried again.
    callback : callable or None
        Called after each batch: as ``callback(intermediate_result=Result)`` if it has a parameter of that name, else as
        ``callback(x)`` with the best point so far. It stops the run by raising StopIteration.
    target : float or None
        Stop after the batch in which a value at or below this is found.
    max_seconds : float or None
        Stop after the batch in which this time is over.
    algorithm : class
        EGL, IGL or ConvergentEGL.

    Returns
    -------
    Result
        Always the best point found so far, also after Ctrl-C (status INTERRUPTED).

    Examples
    --------
    >>> import numpy as np
    >>> result = minimize(lambda x: np.sum((x - 1) ** 2), [(-5, 5)] * 10, budget=2000)
    >>> result.nfev, bool(result.fun < 1e-2)
    (2000, True)
    """
    if not callable(fun):
        raise TypeError(f"fun is a {type(fun).__name__}: it must be callable")
    penalty = _penalty(on_error)
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ValueError(f"retries = {retries!r}: it must be a whole number, 0 or more")
    if max_seconds is not None and not max_seconds > 0:
        raise ValueError(f"max_seconds = {max_seconds!r}: it must be above 0, or None")
    optimiser = algorithm(bounds, x0, budget=budget, seed=seed, scale=scale, settings=settings)
    evaluator = (Vectorized if vectorized else Serial)(fun, retries)
    loop = _Loop(optimiser, evaluator, on_error == "raise", penalty)
    report = _caller(callback)
    started = time.monotonic()
    status = None
    try:
        while status is None:
            status = optimiser.stop()
            if status is None:
                loop.one_batch()
                if target is not None and optimiser.best_y <= target:
                    status = Status.TARGET
                elif max_seconds is not None and time.monotonic() - started >= max_seconds:
                    status = Status.TIME
                report(loop.result(optimiser.stop() or Status.BUDGET))
    except StopIteration:
        status = Status.CALLBACK
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    finally:
        evaluator.close()
    return loop.result(status)


class _Loop:
    def __init__(self, optimiser: AskTell, evaluator: Evaluator, raises: bool, penalty: float) -> None:
        self.optimiser, self.evaluator = optimiser, evaluator
        self.raises, self.penalty = raises, penalty
        self.n_failed = 0
        self.first_error: str | None = None

    def one_batch(self) -> None:
        """Ask, evaluate, tell; each value is told as it comes, so that an interruption loses none."""
        x = self.optimiser.ask()
        for row, outcome in self.evaluator.evaluate(x):
            self.optimiser.tell(x[row], self._value(x[row], outcome))

    def _value(self, x: Any, outcome: Outcome) -> float:
        if outcome.error is None:
            return outcome.y
        if self.raises:
            raise ObjectiveError(f"{outcome.error}, at x = {np.array2string(x, threshold=10)}")
        self.n_failed += 1
        self.first_error = self.first_error or outcome.error
        return self.penalty

    def result(self, status: Status) -> Result:
        """The state of the run as a result."""
        opt = self.optimiser
        return Result(
            x=opt.best_x,
            fun=float(opt.best_y),
            x_favorite=opt.x_favorite,
            nfev=opt.nfev,
            nit=opt.nit,
            n_failed=self.n_failed,
            status=status,
            message=describe(status, opt.nfev, self.n_failed, self.first_error),
        )


def _penalty(on_error: str | float) -> float:
    """What is told for a failed evaluation."""
    if on_error in ("skip", "raise"):
        return math.nan
    if isinstance(on_error, int | float) and not isinstance(on_error, bool) and math.isfinite(on_error):
        return float(on_error)
    raise ValueError(f"on_error = {on_error!r}: it must be 'skip', 'raise' or a finite penalty value")


def _caller(callback: Callback | None) -> Callable[[Result], None]:
    """The callback behind one signature, chosen as SciPy does."""
    if callback is None:
        return lambda result: None
    try:
        named = "intermediate_result" in inspect.signature(callback).parameters
    except (TypeError, ValueError):  # some built-ins have no signature
        named = False
    if named:
        return lambda result: callback(intermediate_result=result)
    return lambda result: callback(result.x.copy())
