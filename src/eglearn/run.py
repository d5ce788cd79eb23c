"""The loop that joins an algorithm, the evaluation of the objective, the store and the user's callback."""

from __future__ import annotations

import inspect
import logging
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from .algorithms import AskTell, find_algorithm
from .evaluation import Command, Evaluator, ObjectiveError, Outcome, make_evaluator
from .recall import Memory
from .result import Result, Status, counted, describe
from .serialize import dumps
from .settings import Settings
from .store import KeepX, Store, StoreError
from .store.layout import to_text

Callback = Callable[..., Any]
_LOG = logging.getLogger("eglearn")

# A checkpoint is written once in so many batches: what comes after it is learned again from the stored values.
_CHECKPOINT_EVERY = 20


def minimize(
    fun: Callable[[Any], Any] | str | Command,
    bounds: Any,
    x0: Any = None,
    *,
    budget: int,
    seed: int | None = 0,
    settings: Settings | None = None,
    scale: Any = None,
    vectorized: bool = False,
    workers: Any = 1,
    on_error: str | float = "skip",
    timeout: float | None = None,
    retries: int = 0,
    store: str | os.PathLike[str] | None = None,
    keep_x: KeepX = "all",
    about: Mapping[str, Any] | None = None,
    callback: Callback | None = None,
    target: float | None = None,
    max_seconds: float | None = None,
    algorithm: str | type[AskTell] | None = None,
) -> Result:
    """Minimise ``fun`` inside ``bounds`` with at most ``budget`` evaluations.

    Parameters
    ----------
    fun : callable, "module:function" or Command
        ``fun(x)`` takes a float64 array (n,) and returns a number. NaN, an infinite value, anything that is not one
        real number, or an exception is a failed evaluation. ``eglearn.evaluation.Command`` is an external program.
    bounds : sequence of (low, high), ``scipy.optimize.Bounds``, or a (low, high) pair of arrays
        Every evaluated point is inside. Equal bounds fix a coordinate. None or an infinite value means no bound,
        and needs ``x0`` and ``scale``.
    x0 : array-like or None
        Where to start; None is the centre of the box.
    budget : int
        Number of evaluations, never exceeded. Failed evaluations count; a point counts once, whatever its attempts.
        A run in a ``store`` may be given more than it was begun with: it goes on where its budget ended.
    seed : int or None
        Same seed, settings and values: same points, whatever the workers. None draws one.
    settings : Settings or None
        What can be chosen about the algorithm, in its own class: AutoSettings, EGLSettings, ...
    scale : float, array-like or None
        For coordinates with an infinite side: the distance from ``x0`` within which the minimum is expected. Minima
        farther off are found, too, at the cost of a restart for each factor of four.
    vectorized : bool
        ``fun`` takes a whole batch (m, n), one point a row, and returns m values.
    workers : int, Executor, dask Client or map-like callable
        Who evaluates: this process (1), so many local processes (-1: one for each core), or others. What each kind
        guarantees is a table in ``eglearn.evaluation``.
    on_error : {"skip", "raise"} or float
        What a failed evaluation is: left out, the end of the run (``ObjectiveError``), or this finite value, which
        must be above those of evaluations that succeed.
    timeout : float or None
        Seconds for one evaluation; a longer one is killed and has failed.
    retries : int
        How often a failed evaluation is tried again.
    store : path or None
        A file for history and checkpoints. If it exists, the run in it is continued, bit for bit where versions,
        threads and processor are the same; that its values are those of ``fun`` is for the user to know.
    keep_x : {"all", "improvements", "none"}
        Which points the store keeps; values are always kept.
    about : mapping or None
        Notes for later readers of the store, as JSON data; they do not define the run.
    callback : callable or None
        Called after each batch that was evaluated: as ``callback(intermediate_result=Result)`` if it has a parameter
        of that name, else as ``callback(x)`` with the best point so far. It stops the run by raising StopIteration.
    target : float or None
        Stop after the batch in which a value at or below this is found.
    max_seconds : float or None
        Stop after the batch in which this time is over.
    algorithm : str, class or None
        A name in ``eglearn.algorithms.ALGORITHMS`` ("auto", "egl", "igl", "convergent-egl", "cma-es", ...), or a class
        such as ``eglearn.EGL``; None is "auto".

    Returns
    -------
    Result
        Always the best point found so far, also after Ctrl-C (status INTERRUPTED).

    Examples
    --------
    >>> import numpy as np
    >>> result = minimize(lambda x: np.sum((x - 1) ** 2), [(-5, 5)] * 10, budget=2000)
    >>> result.nfev, bool(result.fun < 1e-12)
    (2000, True)
    """
    penalty = _penalty(on_error)
    if not isinstance(vectorized, bool | np.bool_):
        raise ValueError(f"vectorized = {vectorized!r}: it must be True or False")
    _check_about(about)
    if max_seconds is not None and not (_is_number(max_seconds) and max_seconds > 0):
        raise ValueError(f"max_seconds = {max_seconds!r}: it must be a number above 0, or None")
    if target is not None and not _is_number(target):
        raise ValueError(f"target = {target!r}: it must be a number, or None")
    if store is not None and seed is None:
        raise ValueError("seed = None: a run with a store needs a seed, so that it can be continued")
    kind = find_algorithm(algorithm, settings)
    optimiser = kind(bounds, x0, budget=budget, seed=seed, scale=scale, settings=settings)
    report = _caller(callback)
    started = time.monotonic()
    status = None
    with ExitStack() as stack:
        evaluator = make_evaluator(fun, workers=workers, vectorized=vectorized, timeout=timeout, retries=retries)
        stack.callback(evaluator.close)
        file = None
        if store is not None:
            identity = {
                "algorithm": kind.name,
                "budget": optimiser.budget,
                "seed": seed,
                "on_error": on_error,
                "box": optimiser.box.state(),
                "settings": optimiser.settings.state(),
            }
            environment = optimiser.state()["made_with"] | {"objective": _name(fun)}
            file = stack.enter_context(Store(store, identity, environment, keep_x, about))
            if file.budgets[0] != optimiser.budget:
                optimiser = kind(bounds, x0, budget=file.budgets[0], seed=seed, scale=scale, settings=settings)
        limits = {"target": target, "max_seconds": max_seconds}
        loop = _Loop(optimiser, int(budget), evaluator, file, on_error == "raise", penalty, limits)
        try:
            loop.resume()
            if target is not None and loop.found <= target:  # reached before, if the run is resumed
                status = Status.TARGET
            while status is None:
                status = loop.stop()
                if status is None:
                    loop.one_batch()
                    if target is not None and loop.found <= target:
                        status = Status.TARGET
                    elif max_seconds is not None and time.monotonic() - started >= max_seconds:
                        status = Status.TIME
                    report(loop.result(status or loop.stop() or Status.RUNNING))
        except StopIteration:
            status = Status.CALLBACK
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except StoreError as error:
            if loop.optimiser.nfev == 0:
                raise  # nothing would be lost by an exception, and nothing gained by a result
            return loop.result(Status.STORE, str(error))
        result = loop.result(status)
        if file is not None:
            try:
                file.finish({name: result[name] for name in result})
            except StoreError as error:
                _LOG.warning("%s", error)
        return result


class _Loop:
    """Ask, evaluate, tell, store."""

    def __init__(
        self,
        optimiser: AskTell,
        budget: int,
        evaluator: Evaluator,
        store: Store | None,
        raises: bool,
        penalty: float,
        limits: dict[str, float | None],
    ) -> None:
        self.optimiser, self.budget, self.evaluator, self.store = optimiser, budget, evaluator, store
        self.raises, self.penalty, self.limits = raises, penalty, limits
        self.n_failed = 0
        self.first_error: str | None = None
        self.memory = Memory(store, self._count)

    def resume(self) -> None:
        """Go on from the store's newest checkpoint, and learn from whatever was evaluated after it."""
        if self.store is None:
            return
        self.memory.reported = max((row["batch"] for row in self.store.progress()), default=-1)
        checkpoint = self.store.latest_checkpoint()
        if checkpoint is not None:
            batch, state = checkpoint
            try:
                self.optimiser = type(self.optimiser).from_state(state)
            except ValueError as error:
                raise StoreError(
                    f"{self.store.path} cannot be continued ({error}): use the eglearn that wrote it"
                ) from error
            for evaluation in self.store.evaluations(with_x=False):
                if max(evaluation.batch, -1 - evaluation.batch) <= batch:  # or set aside up to there
                    self._count(evaluation.outcome)
        before = len(self.store.notes)
        for note in self.store.notes:
            _LOG.warning("%s", note)
        while self.stop() is None:
            x, known = self.memory.ask(self.optimiser)
            if len(known) < len(x):
                break
            if len(x):
                self.one_batch()
        else:
            self.memory.end(self.optimiser)
        for note in dict.fromkeys(self.store.notes[before:]):  # damaged rows; each batch is looked at twice
            _LOG.warning("%s", note)

    def stop(self) -> Status | None:
        """Why the run is over, or None. Where the budget it was begun with was too small, the next one follows."""
        status, store = self.optimiser.stop(), self.store
        # What counts as hopeless depends on the budget, too.
        while status in (Status.BUDGET, Status.ALL_FAILED) and store and self.optimiser.budget < self.budget:
            if store.budgets[-1] == self.optimiser.budget:
                done = counted(store.budgets[-1], "evaluation")
                _LOG.warning("%s holds a run of %s: it goes on to %d", store.path, done, self.budget)
                store.extend(self.budget)
            self.optimiser.extend(next(budget for budget in store.budgets if budget > self.optimiser.budget))
            status = self.optimiser.stop()
        return status

    def one_batch(self) -> None:
        """Evaluate what the store does not know yet, and tell everything at once.

        An interruption tells what has arrived before it goes on its way: no finished evaluation is lost.
        """
        number = self.optimiser.nit
        x, known = self.memory.ask(self.optimiser)
        if not len(x):
            return
        y = np.full(len(x), np.nan)
        answered = np.zeros(len(x), dtype=bool)
        at = x.copy() if known else x
        for row, (outcome, place) in known.items():
            y[row], answered[row], at[row] = self._count(outcome), True, place
        missing = np.flatnonzero(~answered)
        begun = time.perf_counter()
        try:
            for k, outcome in self.evaluator.evaluate(x[missing]) if len(missing) else ():
                row = int(missing[k])
                if outcome.error is not None and self.raises:
                    raise ObjectiveError(f"{outcome.error}, at x = {np.array2string(x[row], threshold=10)}")
                y[row], answered[row] = self._count(outcome), True
                if self.store is not None:
                    self.store.record(number, row, x[row], outcome)
        finally:
            evaluated = time.perf_counter()
            self.optimiser.tell(at[answered], y[answered])
        learned = time.perf_counter()
        if self.store is not None and number > self.memory.reported:
            due = number % _CHECKPOINT_EVERY == _CHECKPOINT_EVERY - 1
            progress = self.optimiser.progress() | {
                "best": self.found,
                "nfev": self.optimiser.nfev,
                "n_failed": self.n_failed,
                "seconds_evaluating": evaluated - begun,
                "seconds_learning": learned - evaluated,
            }
            self.store.end_batch(number, dumps(self.optimiser.state()) if due else None, progress)

    def _count(self, outcome: Outcome) -> float:
        """What is told for an outcome."""
        if outcome.error is None:
            return outcome.y
        self.n_failed += 1
        self.first_error = self.first_error or outcome.error
        return self.penalty

    @property
    def found(self) -> float:
        """The lowest value; NaN if there is none, or only the one that stands for failures."""
        return math.nan if self._stands_in else float(self.optimiser.best_y)

    @property
    def _stands_in(self) -> bool:
        return self.n_failed > 0 and self.optimiser.best_y == self.penalty

    def result(self, status: Status, reason: str = "") -> Result:
        """The state of the run as a result."""
        opt = self.optimiser
        progress = opt.progress()
        message = describe(
            status, opt.nfev, self.n_failed, self.first_error, fixed=opt.n == 0, noisy=progress.get("noisy") == 1,
            penalty=self.penalty if self._stands_in else None, **self.limits,
        )  # fmt: skip
        return Result(
            x=opt.best_x,
            fun=self.found,
            x_favorite=opt.x_favorite,
            nfev=opt.nfev,
            nit=opt.nit,
            n_failed=self.n_failed,
            status=status,
            message=f"{message} ({reason})" if reason else message,
            progress=progress,
        )


def _name(fun: Callable[[Any], Any] | str | Command) -> str | list[str]:
    """What the store remembers of an objective: "module:function", or the words of a command."""
    if isinstance(fun, Command):
        return list(fun.words)
    if isinstance(fun, str):
        return fun
    kind = fun if hasattr(fun, "__qualname__") else type(fun)
    return f"{kind.__module__}:{kind.__qualname__}"


def _penalty(on_error: str | float) -> float:
    """What is told for a failed evaluation."""
    if isinstance(on_error, str):
        if on_error in ("skip", "raise"):
            return math.nan
    elif _is_number(on_error) and math.isfinite(on_error):
        return float(on_error)
    raise ValueError(f"on_error = {on_error!r}: it must be 'skip', 'raise' or a finite penalty value")


def _check_about(about: Any) -> None:
    if about is None:
        return
    if not isinstance(about, Mapping):
        raise ValueError(f"about = {about!r}: it must be a mapping of names to JSON data, or None")
    for name, value in about.items():
        try:
            to_text(name, {name: value})
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"about[{name!r}] = {value!r}: it must be JSON data or an array") from error


def _is_number(value: Any) -> bool:
    """Whether that is one real number and not NaN."""
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return real and not math.isnan(value)


def _caller(callback: Callback | None) -> Callable[[Result], None]:
    """The callback behind one signature, chosen as SciPy does."""
    if callback is None:
        return lambda result: None
    if not callable(callback):
        raise TypeError(f"callback = {callback!r}: it must be a function, or None")
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # some built-ins have no signature
        return lambda result: callback(result.x.copy())
    named = "intermediate_result" in signature.parameters
    try:
        signature.bind(*([] if named else [None]), **({"intermediate_result": None} if named else {}))
    except TypeError as error:
        raise TypeError(
            f"callback has the parameters {signature}: it must take one, the best point or intermediate_result"
        ) from error
    if named:
        return lambda result: callback(intermediate_result=result)
    return lambda result: callback(result.x.copy())
