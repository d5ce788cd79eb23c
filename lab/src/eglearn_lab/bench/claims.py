"""The paper's claims about experiments, and what these results say to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .claim_checks import (
    TABLE_1,
    beats_all,
    beats_igl,
    better,
    cone_gain,
    crossing,
    gained,
    gap_grows,
    goes_on,
    high_dimension,
    late_help,
    passes_cma,
    radius,
    skewed_is_harder,
    spline_beats_fc,
    state_of_the_art,
    variants,
)
from .evidence import Conditions, Verdict
from .metrics import Results

__all__ = ["SUBJECTS", "Claim", "claims", "judge", "variants"]

TUNED = ("egl-spline", "egl-fc", "egl-planned")
"""The paper's algorithm 3 with settings of ours that solve more than the paper's."""

SUBJECTS = (*TABLE_1, *TUNED, "egl-constant")
"""May stand for the paper's EGL: its algorithm 3 with its own settings, and with ours. The default of ``minimize``,
``auto``, is another search and never does."""


@dataclass(frozen=True)
class Claim:
    """What the paper says, in our words, and where; how results answer; what it takes for them to speak against it."""

    place: str
    text: str
    test: Callable[[Conditions, Results], Verdict]
    conditions: Conditions


def judge(results: Results) -> list[tuple[Claim, Verdict]]:
    """Every claim with its verdict."""
    return [(claim, claim.test(claim.conditions, results)) for claim in claims(results)]


def claims(results: Results) -> list[Claim]:
    """All claims; those about EGL as a whole once for each algorithm here that may stand for it."""
    out = []
    subjects = [a for a in SUBJECTS if a in results.algorithms] or list(SUBJECTS[:1])
    for subject in subjects:
        for place, text, test in (
            ("sec. 5.1, fig. 3", "EGL solves more problems than each baseline in every dimension.", beats_all),
            ("sec. 5.1, fig. 3", "Its lead over the baselines grows with the dimension.", gap_grows),
            ("sec. 5.1, fig. 3", "Explicit learning beats indirect learning (IGL).", beats_igl),
            ("sec. 5.1, fig. 4a", "In 40-D EGL ends closer to the best value than CMA-ES.", passes_cma),
            ("sec. 5.1, fig. 4a", "It overtakes CMA-ES after about 10,000 evaluations.", crossing),
            ("sec. 5.1, fig. 4a", "EGL improves all the way, while baselines settle in local minima.", goes_on),
            ("abstract", "EGL is state of the art on COCO.", state_of_the_art),
            (
                "app. F, values",
                "Values with a normal or even distribution are easier to learn than skewed ones.",
                skewed_is_harder,
            ),
        ):
            out.append(
                Claim(place, f"{text} [{subject}]", partial(test, subject), Conditions(subject in (*TABLE_1, *TUNED)))
            )
    fc, both = "networks-fc", "networks-fc-tr-om"
    ends, whole = (1.0,), (0.1, 0.3, 1.0)
    rest = ("networks-fc", "networks-fc-tr", "networks-fc-om")
    for place, text, check in (
        ("fig. 4b", "Output map and trust region together beat each alone and neither.",
         partial(better, "networks", both, rest, ends)),
        ("fig. 4b", "The output map helps during the whole run.",
         partial(better, "networks", "networks-fc-om", (fc,), whole)),
        ("fig. 4b", "The trust region helps only near the minimum.", late_help),
        ("fig. 4b", "The spline network beats the fully connected one.",
         spline_beats_fc),
        ("fig. 4d", "A perturbation of 0.01 eps gains 14 %.", partial(gained, "replay-1-p0.01", 1.0)),
        ("fig. 4d", "A perturbation of 0.1 eps helps less than one of 0.01 eps.",
         partial(better, "replay-perturbation", "replay-1-p0.01", ("replay-1-p0.1",), ends)),
        ("fig. 4d", "A replay of 4 batches gains 10 %.", partial(gained, "replay-4-p0", 1.0)),
        ("fig. 4d", "A replay of 16 batches hurts.", partial(gained, "replay-16-p0", -1.0)),
        ("app. F, eps", "On f19 a smaller first eps (0.001 sqrt n) leads closer to the optimum.",
         partial(radius, 19, "epsilon-0.001")),
        ("app. F, eps", "On f21 a larger first eps (0.5 sqrt n) escapes local minima.",
         partial(radius, 21, "epsilon-0.5")),
        ("app. F, eps", "On f22 a larger first eps (0.5 sqrt n) escapes local minima.",
         partial(radius, 22, "epsilon-0.5")),
        ("alg. 3", "The learned gradient makes the progress, not jumps to the best samples.",
         partial(better, "jump", "jump-off", ("jump-only",), (1.0,))),
        ("fig. 4c", "In 784-D EGL with m = 64 beats CMA-ES, CG and IGL. [constant model]",
         partial(high_dimension, "egl-m64", ("cma", "cg", "igl-m64"))),
        ("fig. 4c", "In 784-D m = 800 ends better than m = 64. [constant model]",
         partial(high_dimension, "egl-m800", ("egl-m64",))),
        ("fig. 4c", "In 784-D EGL with m = 64 beats CMA-ES, CG and IGL. [fc network]",
         partial(high_dimension, "egl-fc-m64", ("cma", "cg", "igl-m64"))),
        ("fig. 4c", "In 784-D m = 800 ends better than m = 64. [fc network]",
         partial(high_dimension, "egl-fc-m800", ("egl-fc-m64",))),
        ("app. H", "In 784-D with m = 32, half cone and half ball gain 18 % over the ball.",
         cone_gain),
        ("app. H", "In 784-D the cone hurts if m is about n.",
         partial(high_dimension, "egl-ball-m784", ("egl-cone-m784",))),
    ):  # fmt: skip
        # The variants start from settings of ours, those for 784-D are cheaper than table 1, and egl-spline has fewer
        # training steps than the paper's.
        out.append(Claim(place, text, check, Conditions(settings=False)))
    return out
