"""The algorithms of this package as entries of the benchmark."""

from __future__ import annotations

from collections.abc import Callable

from ..ours import EGL, IGL, AskTell, AutoEGL, Settings
from .algorithms import Run, algorithm

_TORCH = ("torch",)


def _ask_tell(run: Run, kind: type[AskTell], settings: Settings | None) -> None:
    optimiser = kind(run.bounds, run.x0, budget=run.budget, seed=run.seed, settings=settings)
    try:
        while not optimiser.stop():
            x = optimiser.ask()
            optimiser.tell(x, [run.fun(point) for point in x])
    finally:
        run.recommend(optimiser.x_favorite)


# Training steps a batch that cost about the same processor time: a step of the spline network takes 6 to 9 times that
# of the fully connected one (n = 2, 10, 40), and IGL's as much as EGL's.
_TRAINING = {"fc": 32, "spline": 4}


def trained(model: str) -> Settings:
    """Settings of ``egl-fc`` and ``egl-spline``: about equal training time a batch."""
    return Settings.for_model(model, training_steps=_TRAINING[model])


def _egl(name: str, settings: Callable[[int], Settings], text: str, needs: tuple[str, ...], cost: float) -> None:
    def entry(run: Run) -> None:
        _ask_tell(run, EGL, settings(run.n))

    entry.__doc__ = text
    algorithm(name, needs=needs, cost=cost)(entry)


@algorithm("egl", cost=0.1)
def egl(run: Run) -> None:
    """The default of ``minimize``: AutoEGL."""
    _ask_tell(run, AutoEGL, None)


_egl("egl-constant", lambda n: Settings.for_model("constant"), "One gradient for the whole region.", (), 0.05)
_egl("egl-affine", lambda n: Settings.for_model("affine"), "Gradient affine in the point.", (), 0.4)
_egl("egl-fc", lambda n: trained("fc"), "Fully connected network, our settings.", _TORCH, 0.6)
_egl("egl-spline", lambda n: trained("spline"), "Spline network, our settings.", _TORCH, 0.8)
_egl("egl-paper", lambda n: Settings.paper_coco(n), "Table 1 of the paper: splines.", _TORCH, 100.0)
_egl("egl-paper-fc", lambda n: Settings.paper_coco(n, model="fc"), "Table 1, fully connected.", _TORCH, 50.0)
_egl("egl-authors", lambda n: Settings.authors_code(n), "What the authors' runs did.", _TORCH, 200.0)


@algorithm("igl", needs=_TORCH, cost=0.6)
def igl(run: Run) -> None:
    """Indirect gradient learning: the values are learned, the step follows the network's gradient."""
    _ask_tell(run, IGL, trained("fc"))
