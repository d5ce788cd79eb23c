"""The algorithms by name: the default, the paper's three, and each other search on its own."""

from __future__ import annotations

from typing import Any, ClassVar

from ._typing import State
from .asktell import AskTell
from .auto.default import Auto, AutoSettings
from .auto.plan import Plan
from .search.base import Search
from .search.convergent import ConvergentGradientLearning
from .search.egl import ExplicitGradientLearning
from .search.igl import IndirectGradientLearning
from .search.registry import SEARCHES


class AutoEGL(AskTell):
    """The default of ``minimize``: a planned set of searches that all learn a gradient from samples.

    They include a trust region, coordinate search and CMA-ES or, from 64 dimensions on, L-BFGS and a diagonal evolution
    strategy, and they run until the budget is used. A plan for the dimension and the budget says which searches run and
    how they take turns (``eglearn.auto.plan``). Now and then the best point is evaluated again. If the values are so
    noisy that they hide the progress, the search continues with large populations. Then ``best_x`` is partly luck, and
    ``x_favorite`` is the point to use.

    Parameters
    ----------
    bounds, x0, budget, seed, scale
        See ``eglearn.minimize``.
    settings : AutoSettings or None
    plan : Plan or None
        For experiments: a plan that replaces ``eglearn.auto.plan.plan(n, budget)``.

    Examples
    --------
    >>> import numpy as np
    >>> opt = AutoEGL([(-5, 5)] * 10, budget=2000, seed=1)
    >>> while not opt.stop():
    ...     X = opt.ask()
    ...     opt.tell(X, [np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2) for x in X])
    >>> bool(opt.best_y < 1e-2)
    True
    """

    name: ClassVar[str] = "auto"
    search_class: ClassVar[type[Search]] = Auto

    def __init__(
        self,
        bounds: Any,
        x0: Any = None,
        *,
        settings: AutoSettings | None = None,
        plan: Plan | None = None,
        **rest: Any,
    ) -> None:
        if plan is not None:
            settings = (settings or AutoSettings()).changed(plan=plan)
        super().__init__(bounds, x0, settings=settings, **rest)


class EGL(AskTell):
    """Explicit Gradient Learning, the paper's algorithm 3, by ask and tell.

    Examples
    --------
    >>> import numpy as np
    >>> opt = EGL([(-5, 5)] * 10, budget=2000, seed=1)
    >>> while not opt.stop():
    ...     X = opt.ask()
    ...     opt.tell(X, [np.sum((x - 1) ** 2) for x in X])
    >>> bool(opt.best_y < 1e-2)
    True
    """

    name: ClassVar[str] = "egl"
    search_class: ClassVar[type[Search]] = ExplicitGradientLearning


class IGL(AskTell):
    """Indirect Gradient Learning, the paper's algorithm 1: learns values with a network and differentiates it.

    Examples
    --------
    >>> opt = IGL([(-5, 5)] * 3, budget=100)
    >>> opt.ask().shape
    (16, 3)
    """

    name: ClassVar[str] = "igl"
    search_class: ClassVar[type[Search]] = IndirectGradientLearning


class ConvergentEGL(AskTell):
    """The paper's algorithm 2, the variant with a convergence proof.

    Examples
    --------
    >>> import numpy as np
    >>> opt = ConvergentEGL([(-1, 1)] * 3, x0=[0.5, 0.5, 0.5], budget=2000)
    >>> while not opt.stop():
    ...     X = opt.ask()
    ...     opt.tell(X, np.sum(X**2, axis=1))
    >>> bool(opt.best_y < 1e-4)
    True
    """

    name: ClassVar[str] = "convergent-egl"
    search_class: ClassVar[type[Search]] = ConvergentGradientLearning


def _alone(name: str) -> type[AskTell]:
    """A search of the default as an algorithm of its own; the run ends when the search does."""
    search = SEARCHES[name]
    text = f"``{search.__name__}`` on its own, by ask and tell."
    return type(f"{search.__name__}Alone", (AskTell,), {"name": name, "search_class": search, "__doc__": text})


ALGORITHMS: dict[str, type[AskTell]] = {kind.name: kind for kind in (AutoEGL, EGL, IGL, ConvergentEGL)}
"""All algorithms by name."""
ALGORITHMS |= {name: _alone(name) for name in SEARCHES if name not in ALGORITHMS}


def find_algorithm(wanted: Any, settings: Any = None) -> type[AskTell]:
    """The algorithm for ``minimize(algorithm=...)``; None is the default.

    Examples
    --------
    >>> find_algorithm(None).__name__, find_algorithm("egl").__name__
    ('AutoEGL', 'EGL')
    """
    if isinstance(wanted, str) and wanted in ALGORITHMS:
        kind = ALGORITHMS[wanted]
    elif wanted is None:
        kind = AutoEGL
    elif isinstance(wanted, type) and issubclass(wanted, AskTell):
        kind = wanted
    else:
        names = ", ".join(map(repr, ALGORITHMS))
        raise ValueError(f"algorithm = {wanted!r}: it must be one of {names}, or a class such as eglearn.EGL")
    if settings is not None and not isinstance(settings, kind.settings_class()):
        fitting = [name for name, other in ALGORITHMS.items() if other.settings_class() is type(settings)]
        hint = f"; these are for algorithm={fitting[0]!r}" if fitting else ""
        raise TypeError(
            f"settings has the type {type(settings).__name__}, but the algorithm {kind.name!r} takes "
            f"{kind.settings_class().__name__}{hint}"
        )
    return kind


def optimiser_from(state: State) -> AskTell:
    """The optimiser that ``AskTell.state()`` described, whatever its algorithm.

    Examples
    --------
    >>> optimiser_from(EGL([(-1, 1)] * 2, budget=100).state())
    <EGL in 2 coordinates: 0 of 100 evaluations, lowest value nan>
    """
    return ALGORITHMS[state["algorithm"]].from_state(state)


__all__ = ["ALGORITHMS", "EGL", "IGL", "AskTell", "AutoEGL", "ConvergentEGL", "find_algorithm", "optimiser_from"]
