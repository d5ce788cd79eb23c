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
    settle,
    skewed_is_harder,
    spline_beats_fc,
    state_of_the_art,
    variants,
)
from .evidence import Conditions, Verdict
from .metrics import Results

__all__ = ["SUBJECTS", "Claim", "claims", "judge", "variants"]

TUNED = ("egl-spline", "egl-fc", "egl-planned", "egl-fc-long", "egl-planned-long")
"""The paper's algorithm 3 with settings of ours that solve more than the paper's."""

SUBJECTS = (*TABLE_1, *TUNED, "egl-constant")
"""May stand for the paper's EGL: its algorithm 3 with its own settings, and with ours. The default of ``minimize``,
``auto``, is another search and never does."""


Test = Callable[[Conditions, Results], Verdict]


@dataclass(frozen=True)
class Claim:
    """What the paper says, in our words, and where; how results answer; what it takes for them to speak against it."""

    place: str
    text: str
    test: Test
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
            ("sec. 5.1, fig. 4a", "EGL improves all the way.", goes_on),
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
    out.append(Claim("sec. 5.1, fig. 4a", "The baselines settle in local minima.", settle, Conditions(True)))
    fc, both = "networks-fc", "networks-fc-tr-om"
    ends, whole = (1.0,), (0.1, 0.3, 1.0)
    rest = ("networks-fc", "networks-fc-tr", "networks-fc-om")
    samples = [
        ("fig. 4c", f"In 784-D {text} [{model}]", partial(high_dimension, a, b, share))
        for model, kind in (("constant model", "egl-m"), ("fc network", "egl-fc-m"))
        for text, a, b, share in (
            ("EGL with m = 64 beats CMA-ES.", f"{kind}64", "cma", 1.0),
            ("EGL with m = 64 beats CG.", f"{kind}64", "cg", 1.0),
            ("m = 800 ends better than m = 64.", f"{kind}800", f"{kind}64", 1.0),
            ("m = 64 is better than m = 800 for a small budget.", f"{kind}64", f"{kind}800", 0.1),
        )
    ]
    parts: tuple[tuple[str, str, Test], ...] = (
        ("fig. 4b", "Output map and trust region together beat each alone and neither.",
         partial(better, "networks", both, rest, ends)),
        ("fig. 4b", "The output map helps during the whole run.",
         partial(better, "networks", "networks-fc-om", (fc,), whole)),
        ("fig. 4b", "The trust region helps near the minimum.",
         partial(better, "networks", both, ("networks-fc-om",), ends)),
        ("fig. 4b", "Early in a run the trust region helps less than near the minimum.", late_help),
        ("fig. 4b", "The spline network beats the fully connected one.",
         spline_beats_fc),
        ("fig. 4d", "A perturbation of 0.01 eps gains 14 %.", partial(gained, "replay-1-p0.01", 1.0)),
        ("fig. 4d", "A perturbation of 0.1 eps helps less than one of 0.01 eps.",
         partial(better, "replay-perturbation", "replay-1-p0.01", ("replay-1-p0.1",), ends)),
        ("fig. 4d", "A replay of 4 batches gains 10 %.", partial(gained, "replay-4-p0", 1.0)),
        ("fig. 4d", "A replay of 16 batches hurts.", partial(gained, "replay-16-p0", -1.0)),
        ("app. F, eps", "On f19 a smaller first eps (0.001 sqrt n, faster zoom, L = 1) leads closer to the optimum.",
         partial(radius, 19, "epsilon-0.001-fast")),
        ("app. F, eps", "On f21 a larger first eps (0.5 sqrt n, L = 4) escapes local minima.",
         partial(radius, 21, "epsilon-0.5-fresh")),
        ("app. F, eps", "On f22 a larger first eps (0.5 sqrt n, L = 4) escapes local minima.",
         partial(radius, 22, "epsilon-0.5-fresh")),
        ("alg. 3", "The learned gradient makes the progress, not jumps to the best samples.",
         partial(better, "jump", "jump-off", ("jump-only",), (1.0,))),
        *samples,
        ("fig. 4c", "In 784-D EGL with m = 64 beats IGL. [fc network]",
         partial(high_dimension, "egl-fc-m64", "igl-m64", 1.0)),  # the settings of igl-m64
        ("app. H", "In 784-D with m = 32, half cone and half ball gain 18 % over the ball.",
         cone_gain),
        ("app. H", "In 784-D the cone hurts if m is about n.",
         partial(high_dimension, "egl-ball-m784", "egl-cone-m784", 1.0)),
    )  # fmt: skip
    # The variants start from settings of ours, those for 784-D are cheaper than table 1, and egl-spline has fewer
    # training steps than the paper's.
    return out + [Claim(*part, Conditions(settings=False)) for part in parts]
