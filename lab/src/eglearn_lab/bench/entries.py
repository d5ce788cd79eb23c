"""The library's searches as entries of the benchmark.

``auto`` is the default of ``minimize``, ``continuation`` a search on its own; every name that begins with ``egl-`` is
the paper's algorithm 3, and with ``igl-`` its algorithm 1. ``egl-fc``, ``egl-spline``, ``igl-fc`` and ``igl-spline``
have equal settings but for what is learned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ours import ALONE, EGL, IGL, AskTell, AutoEGL, EGLSettings, IGLSettings, Settings
from .algorithms import Run, algorithm

_TORCH = ("torch",)


def _ask_tell(run: Run, kind: type[AskTell], settings: Settings | None) -> None:
    optimiser = kind(run.bounds, run.x0, budget=run.budget, seed=run.seed, scale=run.scale, settings=settings)
    try:
        while not optimiser.stop():
            x = optimiser.ask()
            optimiser.tell(x, [run.fun(point) for point in x])
            run.fits.note(optimiser.search, optimiser.nfev)
    finally:
        run.recommend(optimiser.x_favorite)


# Training steps per batch that cost about the same processor time: a step of the spline network takes 6 to 9 times that
# of the fully connected one (n = 2, 10, 40), and IGL's as much as EGL's.
_TRAINING = {"fc": 32, "spline": 4}


_LONG = 96  # batches that regions learn their shape from, where these are more than the gradient's


def trained(model: str, n: int = 40, **changes: Any) -> EGLSettings:
    """Settings of ``egl-fc`` and ``egl-spline``: planned zoom, about equal training time per batch."""
    return EGLSettings.planned(n, model=model, training_steps=_TRAINING[model], **changes)


def trained_indirectly(model: str, n: int = 40, **changes: Any) -> IGLSettings:
    """Settings of ``igl-fc`` and ``igl-spline``: those of ``trained`` but for what is learned."""
    return IGLSettings.planned(n, model=model, training_steps=_TRAINING[model], **changes)


def _egl(
    name: str, settings: Callable[[int], Settings], text: str, needs: tuple[str, ...], cost: float,
    kind: type[AskTell] = EGL,
) -> None:  # fmt: skip
    def entry(run: Run) -> None:
        _ask_tell(run, kind, settings(run.n))

    entry.__doc__ = text
    algorithm(name, needs=needs, cost=cost)(entry)


@algorithm("auto", cost=0.1)
def auto(run: Run) -> None:
    """The default of ``minimize``: AutoEGL."""
    _ask_tell(run, AutoEGL, None)


@algorithm("continuation", cost=0.07)
def continuation(run: Run) -> None:
    """Gaussian continuation alone, planned over the budget; ends when its last descent has converged."""
    _ask_tell(run, ALONE["gaussian-continuation"], None)


_egl("egl-constant", lambda n: EGLSettings(model="constant"), "One gradient for the whole region.", (), 0.05)
_egl("egl-affine", lambda n: EGLSettings(model="affine"), "Gradient affine in the point.", (), 0.4)
_egl(
    "egl-planned", lambda n: EGLSettings.planned(n, model="constant"), "One gradient, planned zoom, shaped regions.",
    (), 0.1,
)  # fmt: skip
_egl(
    "egl-planned-long", lambda n: EGLSettings.planned(n, model="constant", shape_replay=_LONG),
    "As egl-planned, with regions that learn their shape from 96 batches in place of 32.", (), 0.15,
)  # fmt: skip
_egl("egl-fc", lambda n: trained("fc", n), "Fully connected network, our settings.", (), 0.35)
_egl(
    "egl-fc-long", lambda n: trained("fc", n, shape_replay=_LONG),
    "As egl-fc, with regions that learn their shape from 96 batches in place of 32.", (), 0.4,
)  # fmt: skip
_egl("egl-spline", lambda n: trained("spline", n), "Spline network, our settings.", _TORCH, 0.8)
_egl("igl-fc", lambda n: trained_indirectly("fc", n), "IGL, fully connected: the partner of egl-fc.", (), 0.35, IGL)
_egl(
    "igl-fc-long", lambda n: trained_indirectly("fc", n, shape_replay=_LONG),
    "As igl-fc, with regions that learn their shape from 96 batches: the partner of egl-fc-long.", (), 0.35, IGL,
)  # fmt: skip
_egl(
    "igl-spline",
    lambda n: trained_indirectly("spline", n),
    "IGL, splines: the partner of egl-spline.",
    _TORCH,
    0.8,
    IGL,
)
_egl("egl-paper", lambda n: EGLSettings.paper_coco(n), "Table 1 of the paper: splines.", _TORCH, 100.0)
_egl("egl-paper-fc", lambda n: EGLSettings.paper_coco(n, model="fc"), "Table 1, fully connected.", (), 50.0)

# Table 1 with all pairs of one batch in each training step: the paper's loss at a tenth of the cost of single pairs.
TABLE_1_SETTINGS: dict[str, Callable[[int], Settings]] = {
    "egl-table1-fc": lambda n: EGLSettings.paper_coco(n, model="fc", pairing="all", minibatch=64),
    "egl-table1-spline": lambda n: EGLSettings.paper_coco(n, model="spline", pairing="all", minibatch=64),
    "igl-table1-fc": lambda n: IGLSettings.paper_coco(n, model="fc", minibatch=64),
}
for _name, _text, _needs, _cost in (("fc", "fully connected", (), 2.7), ("spline", "splines", _TORCH, 4.0)):
    _settings = TABLE_1_SETTINGS[f"egl-table1-{_name}"]
    _egl(f"egl-table1-{_name}", _settings, f"Table 1, {_text}, all pairs of a batch.", _needs, _cost)

_egl("egl-authors", lambda n: EGLSettings.authors_code(n), "What the authors' runs did.", _TORCH, 200.0)


_egl(
    "igl-table1-fc", TABLE_1_SETTINGS["igl-table1-fc"], "IGL with table 1, fully connected: partner of egl-table1-fc.",
    (), 2.6, IGL,
)  # fmt: skip
