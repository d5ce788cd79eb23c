"""``minimize``: joins an algorithm, the evaluation of the objective, the store and the user's callback."""

from __future__ import annotations

import functools
import inspect
import logging
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, get_args

import numpy as np

from .algorithms import AskTell, find_algorithm
from .arguments import check_path, check_whole, is_number
from .box import make_box
from .control import Control
from .evaluation import Command, make_evaluator
from .evaluation.interrupts import calls, handled, keeps, pending
from .history import RunHistory
from .loop import RunLoop, WorkersLost
from .names import explained
from .narration import Narrator
from .objective import as_function, identified
from .progress import ProgressBar
from .result import Result, Status
from .search.base import default_batch
from .settings import Settings
from .stop_rules import StopRules
from .store import History, KeepX, Store, StoreError
from .store.layout import to_text
from .warm_start import read_known

Callback = Callable[..., Any]
_LOG = logging.getLogger("eglearn")


@explained
@keeps
def minimize(
    fun: Callable[[Any], Any] | str | Command,
    bounds: Any,
    x0: Any = None,
    args: Any = (),
    *,
    budget: int,
    seed: int | None = 0,
    settings: Settings | None = None,
    scale: Any = None,
    vectorized: bool = False,
    workers: Any = 1,
    width: int | None = None,
    ordered: bool = False,
    on_error: str | float | None = None,
    timeout: float | None = None,
    retries: int = 0,
    store: str | os.PathLike[str] | None = None,
    keep_x: KeepX = "all",
    fingerprint: str | None = None,
    about: Mapping[str, Any] | None = None,
    callback: Callback | None = None,
    target: float | None = None,
    max_seconds: float | None = None,
    ftol: float | None = None,
    xtol: Any = None,
    patience: int | None = None,
    known: tuple[Any, Any] | None = None,
    progress: bool = False,
    keep_history: bool = True,
    algorithm: str | type[AskTell] | None = None,
) -> Result:
    """Minimise ``fun`` inside ``bounds`` with at most ``budget`` evaluations.

    Parameters
    ----------
    fun : callable, "module:function" or Command
        ``fun(x)`` takes a float64 array (n,) and returns a number. An evaluation fails if it raises an exception or
        returns NaN, an infinite value, or anything other than one real number. ``eglearn.evaluation.Command`` is an
        external program. A ``torch.nn.Module`` gets a tensor, a function with a ``functools`` cache a tuple.
    bounds : sequence of (low, high), ``scipy.optimize.Bounds``, or a (low, high) pair of arrays
        Every evaluated point is inside. Equal bounds fix a coordinate. None or an infinite value means no bound,
        and needs ``x0`` and ``scale``.
    x0 : array-like or None
        Where to start; None is the centre of the box.
    args : tuple
        More arguments of the objective: ``fun(x, *args)``.
    budget : int
        Number of evaluations, never exceeded. Failed evaluations count; a point counts once, however often it is
        retried. A run in a ``store`` may be given a larger budget later: it continues where the old one ended.
    seed : int or None
        The same seed, settings, width and values, told in the same order, give the same points. None draws a seed.
    settings : Settings or None
        The settings of the algorithm, an instance of its own class: AutoSettings, EGLSettings, ...
    scale : float, array-like or None
        The expected distance from ``x0`` to the minimum, for coordinates with an infinite side, or whose box is more
        than a hundred times as wide. Minima farther away are found too, at the cost of one restart per factor of four.
    vectorized : bool
        ``fun`` takes many points at once (m, n), one per row, and returns m values.
    workers : int, Executor, dask Client, joblib Parallel or map-like callable
        Who evaluates: this process (1), a number of local processes (-1: one per core), or others. The docstring of
        ``eglearn.evaluation`` lists what each kind guarantees.
    width : int or None
        How many evaluations are in flight at a time. None: the number of workers, as far as it is known when the run
        begins (for Dask, the threads of all workers), or that of the run in ``store``; for a vectorized objective
        4 + 3 ln n, the points of one call. It is part of the run. With
        width 1, the run is a function of the seed and the values: the search gets the points it asks for at once
        evaluated before it continues. With more, answers are used in the order in which they arrive.
    ordered : bool
        Use answers in the order in which the points were asked for: the points then do not depend on which evaluation
        ends first, but workers wait for the slowest.
    on_error : {"skip", "raise"}, float or None
        What to do with a failed evaluation: skip it, end the run with an ``ObjectiveError``, or use this finite value,
        which must be above the values of successful evaluations. None is "skip", except that an error which suggests
        a mistake in the program (NameError, AttributeError, TypeError, ImportError, SyntaxError) is raised if it
        occurs in the very first evaluation.
    timeout : float or None
        Seconds per evaluation; a longer one is killed and counts as failed.
    retries : int
        How often to retry a failed evaluation.
    store : path or None
        A file for history and checkpoints. If it exists, its run continues, bit for bit if versions, threads and
        processor are the same.
    keep_x : {"all", "improvements", "none"}
        Which points the store keeps; values are always kept.
    fingerprint : str or None
        Identifies the objective in the store: any text, such as the version of a simulator. None uses the name of
        ``fun``, "module:function", without the arguments of a partial function. A store of a different objective is
        refused; "any" accepts it.
    about : mapping or None
        Notes for later readers of the store, as JSON data; they do not affect the run.
    callback : callable or None
        Called after each group of answers: with width 1 a batch of the search, else one answer. It is called as
        ``callback(intermediate_result=Result)`` if it has a parameter of that name, otherwise as ``callback(x)`` with
        the best point so far. To stop the run, it raises StopIteration.
    target : float or None
        Stop after the first group of answers with a value at or below this.
    max_seconds : float or None
        Stop after the first group of answers that is used after this many seconds. Evaluations in flight are given up.
    ftol : float or None
        Stop if no value has been lower by more than this, in the units of ``fun``, for ``patience`` evaluations.
    xtol : float, array-like (n,) or None
        Stop if no coordinate of the best point has moved by more than this for ``patience`` evaluations.
    patience : int or None
        How many evaluations that is, restarts included; None is 20 (n + 20). Without ``ftol`` and ``xtol``, the run
        stops if there was no lower value at all for so many evaluations. All three are off unless given: the search
        then looks for better minima until the budget is used.
    known : (X, y) or None
        Points (k, n) inside the bounds and their values (k,) that you have already. The search is told of them before
        its first batch; they do not count against the budget. The best of them may be the result.
    progress : bool
        Show a progress bar: in a notebook, in a terminal (best with the package rich), or as lines on standard error.
    keep_history : bool
        Keep all evaluations in ``Result.history``; ``eglearn.history.RunHistory`` says how much memory that takes.
    algorithm : str, class or None
        A name in ``eglearn.algorithms.ALGORITHMS`` ("auto", "egl", "igl", "convergent-egl", "cma-es", ...), or a class
        such as ``eglearn.EGL``. None is "auto", which is ``AutoEGL``; "egl" is the paper's algorithm.

    Returns
    -------
    Result
        Always the best point found so far, even after Ctrl-C or SIGTERM (status INTERRUPTED) or when the workers are
        lost (status WORKERS).

    Examples
    --------
    >>> import numpy as np
    >>> result = minimize(lambda x: np.sum((x - 1) ** 2), [(-5, 5)] * 10, budget=2000)
    >>> result.nfev, bool(result.fun < 1e-12)
    (2000, True)
    """
    _check_on_error(on_error)
    if not isinstance(vectorized, bool | np.bool_):
        raise ValueError(f"vectorized = {vectorized!r}: it must be True or False")
    _check_about(about)
    if max_seconds is not None and not (is_number(max_seconds) and max_seconds > 0):
        raise ValueError(f"max_seconds = {max_seconds!r}: it must be a number above 0, or None")
    if target is not None and not is_number(target):
        raise ValueError(f"target = {target!r}: it must be a number, or None")
    if store is not None:
        check_path("store", store)
    if keep_x not in get_args(KeepX):
        raise ValueError(f"keep_x = {keep_x!r}: it must be one of {', '.join(map(repr, get_args(KeepX)))}")
    if store is not None and seed is None:
        raise ValueError("seed = None: a run with a store needs a seed, so that it can be continued")
    for name, switch in (("ordered", ordered), ("progress", progress), ("keep_history", keep_history)):
        if not isinstance(switch, bool | np.bool_):
            raise ValueError(f"{name} = {switch!r}: it must be True or False")
    if xtol is not None and store is not None and keep_x == "none":
        raise ValueError("xtol needs points, but keep_x = 'none': keep 'improvements' at least, or leave out xtol")
    check_whole("width", width, "evaluations", 1, optional=True)
    kind = find_algorithm(algorithm, settings)
    report = None if callback is None else _caller(callback)
    started = time.monotonic()
    status, reason = None, ""
    with ExitStack() as stack:
        evaluator = make_evaluator(
            as_function(fun, args), workers=workers, vectorized=vectorized, timeout=timeout, retries=retries
        )
        stack.callback(evaluator.close)
        before = _held(store)
        usual = default_batch(max(make_box(bounds, x0, scale).n_free, 1)) if vectorized else evaluator.width
        width = int(width or (before and before.identity.get("width")) or usual)
        make = functools.partial(kind, bounds, x0, seed=seed, scale=scale, settings=settings, width=width)
        optimiser = make(budget=budget)
        told = read_known(optimiser.box, known)
        rules = StopRules(optimiser.box.n, ftol, xtol, patience)
        history = RunHistory(optimiser.box.low, optimiser.box.high) if keep_history else None
        file, total = None, int(budget)
        if store is not None:
            identity = {
                "algorithm": kind.name,
                "budget": optimiser.budget,
                "seed": seed,
                "on_error": "skip" if on_error is None else on_error,
                "width": width,
                "ordered": bool(ordered),
                "box": optimiser.box.state(),
                "settings": optimiser.settings.state(),
                **({} if told is None else {"known": {"x": told[0], "y": told[1]}}),
            }
            environment = optimiser.state()["made_with"] | identified(fun, fingerprint, before)
            file = stack.enter_context(Store(store, identity, environment, keep_x, about))
            if file.budgets[0] != optimiser.budget:
                optimiser = make(budget=file.budgets[0])
            total = max(total, file.budgets[-1])  # raised while the run was under way
        narrator = Narrator(kind.name, optimiser.n, total)
        if told is not None:
            optimiser.tell(*told)
            rules.given_before(*told)
        bar = stack.enter_context(closing(ProgressBar(total))) if progress else None
        listeners: list[Callable[[Result], None]] = [narrator.batch] if narrator.talks else []
        listeners += [each for each in (None if bar is None else bar.learned, report) if each is not None]
        limits = {"target": target, "max_seconds": max_seconds, **rules.limits}
        loop = RunLoop(
            optimiser,
            total,
            evaluator,
            file,
            width=width,
            ordered=ordered,
            together=vectorized,
            on_error=on_error,
            limits=limits,
        )
        if history is not None:
            history.begin(told, file)
        loop.rules, loop.history = rules, history
        loop.watchers = [watcher for watcher in (history, bar) if watcher is not None]
        control = stack.enter_context(closing(Control(loop)))
        interrupts = stack.enter_context(handled())
        try:
            loop.resume()
            narrator.begin(loop.optimiser.nfev, loop.found, 0 if told is None else len(told[1]))
            if bar is not None:
                bar.learned(loop.result(Status.RUNNING))
            status = rules.status()
            if target is not None and loop.found <= target:  # reached before, if the run is resumed
                status = Status.TARGET
            while status is None:
                if control.obey():
                    status, reason = Status.INTERRUPTED, "stopped by eglearn ui"
                    break
                status = loop.stop()
                if status is None:
                    loop.step()
                    if target is not None and loop.found <= target:
                        status = Status.TARGET
                    elif max_seconds is not None and time.monotonic() - started - control.paused >= max_seconds:
                        status = Status.TIME
                    else:
                        status = rules.status()
                    if listeners:
                        so_far = loop.result(status or loop.stop() or Status.RUNNING)
                        for listener in listeners:
                            listener(so_far)
        except StopIteration:
            status = Status.CALLBACK
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except WorkersLost as error:
            status, reason = Status.WORKERS, str(error)
        except StoreError as error:
            status, reason = Status.STORE, str(error)
        try:
            loop.settle()
            control.hear()
        except StoreError as error:
            status, reason = Status.STORE, reason or str(error)
        if status is Status.STORE:
            if loop.optimiser.nfev == 0:  # nothing would be lost by an exception, and nothing gained by a result
                raise StoreError(reason)
            return loop.result(status, reason)
        if pending():
            status = Status.INTERRUPTED
        interrupts.acted()
        result = loop.result(status, reason)
        narrator.end(result)
        if bar is not None:
            bar.end(result)
        if file is not None:
            try:
                file.finish({name: result[name] for name in result})
            except StoreError as error:
                _LOG.warning("%s", error)
        return result


def _held(store: str | os.PathLike[str] | None) -> History | None:
    """The run in the file, if there is one that can be read: of others, the store itself will tell."""
    with suppress(StoreError, OSError):
        return History(store) if store is not None and Path(store).exists() else None
    return None


def _check_on_error(on_error: Any) -> None:
    said = on_error is None or (isinstance(on_error, str) and on_error in ("skip", "raise"))
    if not said and not (is_number(on_error) and math.isfinite(on_error)):
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


def _caller(callback: Callback) -> Callable[[Result], None]:
    """The callback behind one signature, chosen as SciPy does."""
    if not callable(callback):
        raise TypeError(f"callback = {callback!r}: it must be a function, or None")
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # some built-ins have no signature
        named = False
    else:
        named = "intermediate_result" in signature.parameters
        try:
            signature.bind(*([] if named else [None]), **({"intermediate_result": None} if named else {}))
        except TypeError as error:
            raise TypeError(
                f"callback has the parameters {signature}: it must take one, the best point or intermediate_result"
            ) from error

    @calls
    def report(result: Result) -> None:
        if named:
            callback(intermediate_result=result)
        else:
            callback(result.x.copy())

    return report
