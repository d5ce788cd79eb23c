"""Entries for the 784-D problems: fig. 4c of the paper, and ball against cone (app. H).

A network as large as the paper's, trained as long as there, takes seconds per batch at n = 784. So the entries with
networks keep table 1 but for two things: the network is 784-128-128, and it takes 10 training steps per batch, each on
all pairs of one batch. The others learn one gradient for the region in closed form, from the fewest batches that hold
the n + 1 points of theorem 1, but at least the 4 that were best in fig. 4d. `benchmarks/high_dimension.py` tells what
the models cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..ours import EGL, IGL, AskTell, EGLSettings, IGLSettings, Settings
from . import entries
from .ablations import ABLATIONS, Ablation
from .algorithms import Run, algorithm

_FEWEST_BATCHES = 4


def _batches(n: int, m: int) -> int:
    """How many batches of m points to learn from in closed form."""
    return max(_FEWEST_BATCHES, math.ceil((n + 1) / m))


def _closed_form(m: int) -> Callable[[int], Settings]:
    """Our settings for the constant model."""
    return lambda n: EGLSettings(model="constant", m=m, replay=_batches(n, m))


def _network(m: int) -> Callable[[int], Settings]:
    """Table 1 of the paper with a smaller network and less training."""
    cheap: dict[str, Any] = {"hidden": (128, 128), "pairing": "all", "minibatch": m, "training_steps": 10}
    return lambda n: EGLSettings.paper_coco(n, model="fc", m=m, **cheap)


def _value_network(m: int) -> Callable[[int], Settings]:
    """The same for IGL, which has no pairs."""
    cheap: dict[str, Any] = {"hidden": (128, 128), "minibatch": m, "training_steps": 10}
    return lambda n: IGLSettings.paper_coco(n, model="fc", m=m, **cheap)


def _exploring(kind: str, m: int = 32) -> Callable[[int], Settings]:
    """Table 1 of the paper with m = 32 as in app. H, the constant model in place of a network."""
    return lambda n: EGLSettings.paper_coco(n, model="constant", m=m, replay=_batches(n, m), exploration=kind)


def _register(
    name: str,
    kind: type[AskTell],
    settings: Callable[[int], Settings],
    text: str,
    cost: float,
) -> None:
    def entry(run: Run) -> None:
        entries._ask_tell(run, kind, settings(run.n))

    entry.__doc__ = text
    algorithm(name, cost=cost)(entry)


_register("egl-m64", EGL, _closed_form(64), "Closed form, batches of 64 points.", 0.04)
_register("egl-m800", EGL, _closed_form(800), "Closed form, batches of 800 points.", 0.04)
_register("egl-fc-m64", EGL, _network(64), "Table 1 with a small network, batches of 64 points.", 0.15)
_register("egl-fc-m800", EGL, _network(800), "Table 1 with a small network, batches of 800 points.", 0.6)
_register("igl-m64", IGL, _value_network(64), "IGL with the settings of egl-fc-m64.", 0.1)
_register("egl-ball", EGL, _exploring("ball"), "App. H: 32 points uniform in a ball.", 0.09)
_register("egl-cone", EGL, _exploring("cone"), "App. H: 32 points in a cone around the descent direction.", 0.09)
_register("egl-cone-ball", EGL, _exploring("cone-ball"), "App. H: 16 points in the cone, 16 in the ball.", 0.09)
_register("egl-ball-m784", EGL, _exploring("ball", 784), "App. H: 784 points uniform in a ball.", 0.09)
_register("egl-cone-m784", EGL, _exploring("cone", 784), "App. H: 784 points in a cone around the descent.", 0.09)

ABLATIONS["exploration"] = Ablation(
    "exploration",
    "Exploration in a ball, in a cone, and half of each, 32 points in 784-D",
    "Half of the points in the cone gain 18 % over the ball (app. H).",
    ("egl-ball", "egl-cone", "egl-cone-ball"),
    "egl-ball",
    suite="coco-784",
    dims=(784,),
    budget=10_000,
)
ABLATIONS["exploration-many"] = Ablation(
    "exploration-many",
    "Exploration in a ball and in a cone, 784 points in 784-D",
    "With m about n the cone hurts (app. H).",
    ("egl-ball-m784", "egl-cone-m784"),
    "egl-ball-m784",
    suite="coco-784",
    dims=(784,),
    budget=30_000,
)
