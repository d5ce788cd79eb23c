"""Arguments by the names of other tools: one sentence says which argument of ours does it.

The names are those of SciPy, cma, Optuna, scikit-optimize, nevergrad and NLopt.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])

_OURS = {
    "budget": "maxiter maxfun maxfev maxfevals maxeval max_evals max_nfev max_iter n_trials n_calls n_iter niter nfev "
    "iterations evaluations max_evaluations n_evaluations num_trials trials",
    "scale": "sigma0 sigma rhobeg initial_step",
    "ftol": "tol tolfun fatol atol ftol_abs",
    "xtol": "tolx xatol xtol_abs rhoend",
    "target": "ftarget f_target stopval f_min fmin minfstop",
    "seed": "rng random_state random_seed",
    "workers": "n_jobs n_workers num_workers max_workers nproc processes parallel",
    "width": "popsize population_size batch_size",
    "max_seconds": "maxtime max_time time_limit max_runtime",
    "progress": "disp verbose verb_disp iprint show_progress_bar",
    "callback": "callbacks",
    "algorithm": "method solver optimizer sampler strategy",
    "store": "storage checkpoint filename file load_if_exists",
    "on_error": "catch",
    "bounds": "lb ub lower upper dimensions space",
    "x0": "init start initial x_init xstart",
    "known": "x0s y0",
}
_WHAT = {
    "budget": "the number of evaluations",
    "scale": "the expected distance from x0 to the minimum, for coordinates without bounds",
    "ftol": "in units of the objective",
    "xtol": "in units of the coordinates",
    "target": "a value at which the run ends",
    "seed": "a whole number",
    "workers": "how many processes evaluate",
    "width": "how many evaluations are in flight; the search chooses its samples itself",
    "max_seconds": "the time of the whole run",
    "progress": "True for a progress bar",
    "callback": "one function",
    "algorithm": "a name such as 'cma-es'",
    "store": "the path of a file, which a later call continues",
    "on_error": "'skip', 'raise' or a value",
    "bounds": "(low, high) for each coordinate",
    "x0": "where to start",
    "known": "a pair (X, y) of points and values",
}
_NEEDED = {
    "fun": "fun, a function of one array",
    "bounds": "bounds, such as [(-5, 5)] * 3, or None if x0 and scale are given",
    "budget": "budget, the number of evaluations, such as budget=1000",
}
_FOREIGN = {name: ours for ours, names in _OURS.items() for name in names.split()}
_NOT_THERE = {
    **dict.fromkeys(("jac", "grad", "gradient", "hess", "hessp"), "eglearn uses no derivatives; leave it out"),
    "gtol": "no gradient is measured: end the run by ftol or xtol",
    "constraints": "bounds are the only constraints: add a penalty to the objective, or use SciPy's COBYQA",
    **dict.fromkeys(("options", "inopts"), "pass each option as an argument, such as budget=1000"),
}


def explained(function: _Function) -> _Function:
    """A function, or ``__init__``, with sentences for arguments that it does not have, and for those that are missing.

    >>> from eglearn import minimize
    >>> minimize(sum, [(0, 1)], maxiter=100)
    Traceback (most recent call last):
    TypeError: minimize() has no argument 'maxiter': use budget, the number of evaluations
    """
    parameters = inspect.signature(function).parameters
    needed = [name for name, p in parameters.items() if p.default is p.empty and name != "self"]
    placed = [name for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        method = placed[0] == "self"
        what = f"{type(args[0]).__name__ if method else function.__name__}()"
        if unknown := [name for name in named if name not in parameters]:
            kind = args[0].settings_class() if method else None
            raise TypeError(f"{what} has no argument {unknown[0]!r}: {_advice(unknown[0], parameters, kind)}")
        order = ", ".join(placed[method:])
        if len(args) > len(placed):
            raise TypeError(f"{what} takes only {order} by position: name all others, such as budget=1000")
        if twice := [name for name in placed[: len(args)] if name in named]:
            raise TypeError(f"{what} got {twice[0]} twice, by position and by name: the order is {order}")
        given = {*placed[: len(args)], *named}
        if missing := [name for name in needed if name not in given]:
            raise TypeError(f"{what} needs {'; and '.join(_NEEDED.get(name, name) for name in missing)}")
        return function(*args, **named)

    return cast("_Function", call)


def stands_for(name: str) -> str:
    """The argument of ours that a name of another tool stands for; others stand for themselves.

    >>> stands_for("maxfun"), stands_for("bounds")
    ('budget', 'bounds')
    """
    return _FOREIGN.get(name, name)


def _advice(name: str, parameters: Collection[str], settings: type[Any] | None) -> str:
    """What to do instead of passing that."""
    if name in _NOT_THERE:
        return _NOT_THERE[name]
    if ours := _FOREIGN.get(name):
        return f"use {ours}, {_WHAT[ours]}" if ours in parameters else _elsewhere(ours)
    if name in _WHAT or name in ("args", "patience", "timeout", "retries", "vectorized"):
        return _elsewhere(name)
    if settings is not None and hasattr(settings(), name):
        return f"it is a setting, pass settings={settings.__name__}({name}=...)"
    names = [each for each in parameters if each != "self"]
    close = difflib.get_close_matches(name, names, 1)
    return f"did you mean {close[0]}?" if close else f"it has {', '.join(names)}"


def _elsewhere(name: str) -> str:
    if name == "algorithm":
        return "each algorithm has a class, such as eglearn.EGL; eglearn.algorithms.ALGORITHMS has all of them"
    return f"that is {name} of eglearn.minimize; by ask and tell, it is up to your loop"
