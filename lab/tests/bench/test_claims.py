from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from lab.tests.bench.made_up import rows

from eglearn import EGLSettings, IGLSettings
from eglearn_lab.bench.algorithms import ALGORITHMS, is_ours
from eglearn_lab.bench.claim_checks import BASELINES, TABLE_1, variants
from eglearn_lab.bench.claims import SUBJECTS, TUNED, claims, judge
from eglearn_lab.bench.entries import TABLE_1_SETTINGS
from eglearn_lab.bench.evidence import (
    CONTRARY,
    HELD,
    NO_DATA,
    NOT_TESTED,
    OPEN,
    VERDICTS,
    Conditions,
    Evidence,
    Verdict,
    decide,
)
from eglearn_lab.bench.metrics import Results

EGL = "egl-table1-fc"
FULL = {"functions": range(1, 13), "budget": 150_000}
"""24 problems with the paper's budget."""


def verdict(gaps, text, **other) -> Verdict:
    """The verdict on the claim that holds ``text``."""
    (found,) = [v for c, v in judge(Results.from_rows(rows(gaps, **other))) if text in c.text]
    return found


@pytest.mark.parametrize(
    ("spread", "problems", "word"),
    [
        ((0.1, 0.3), 6, HELD),
        ((-0.3, -0.1), 24, CONTRARY),
        ((-0.3, -0.1), 23, NOT_TESTED),
        ((-0.3, -0.1), 5, OPEN),
        ((-0.1, 0.3), 24, OPEN),
        ((0.1, 0.3), 5, OPEN),
    ],
)
def test_the_rule(spread, problems, word) -> None:
    conditions = Conditions(settings=True)
    assert decide([Evidence(sum(spread) / 2, *spread, problems, 150_000, "x")], conditions).word == word
    assert decide([], conditions).word == NO_DATA
    held = Evidence(0.2, 0.1, 0.3, 9, 1000, "x")
    assert decide([held, Evidence(sum(spread) / 2, *spread, problems, 150_000, "y")], conditions).word == word
    assert decide([held], conditions, lacking="igl was not run").word == OPEN


@pytest.mark.parametrize(
    ("difference", "said"),
    [(0.05, "about 96"), (-0.05, "about 96"), (0.0125, "more than 1,000"), (0.0, "more than 1,000")],
)
def test_what_is_not_settled_says_how_many_problems_it_takes(difference, said) -> None:
    evidence = Evidence(difference, difference - 0.1, difference + 0.1, 24, 150_000, "x")
    assert decide([evidence], Conditions(settings=True)).figures == (
        f"x; a difference like this takes {said} problems to settle."
    )


@pytest.mark.parametrize(
    ("settings", "budget", "problems", "said"),
    [
        (True, 150_000, 24, None),
        (True, 149_999, 24, "it takes 150,000 evaluations (here 149,999)."),
        (True, 150_000, 23, "it takes 24 problems (here 23)."),
        (False, 150_000, 24, "it takes the paper's settings."),
        (False, 100, 23, "it takes 150,000 evaluations (here 100), 24 problems (here 23), the paper's settings."),
    ],
)
def test_only_runs_that_meet_the_conditions_speak_against_a_claim(settings, budget, problems, said) -> None:
    contrary = Evidence(-0.2, -0.3, -0.1, problems, budget, "x")
    found = decide([contrary], Conditions(settings=settings))
    assert found.word == (CONTRARY if said is None else NOT_TESTED)
    assert found.figures.endswith(said or "x.")
    # One that meets them is enough, whatever else there is.
    strong = Evidence(-0.1, -0.2, -0.05, 24, 150_000, "y")
    assert decide([contrary, strong], Conditions(settings=True)).word == CONTRARY


def test_the_default_never_stands_for_the_papers_algorithm() -> None:
    runs = rows({"auto": 50.0} | dict.fromkeys(BASELINES, 0.5), **FULL)
    for claim, found in judge(Results.from_rows(runs)):
        assert "[auto]" not in claim.text
        assert found.word == NO_DATA, claim.text
        assert "auto" not in found.figures
    assert "auto" not in SUBJECTS
    assert all(name.startswith("egl-") for name in SUBJECTS)


def test_conditions_ask_for_the_papers_settings() -> None:
    every = claims(Results.from_rows(rows(dict.fromkeys(SUBJECTS, 1.0))))
    for claim in every:
        whole = claim.text.rpartition("[")[2].rstrip("]") in (*TABLE_1, *TUNED) or claim.text.startswith(
            "The baselines"
        )
        assert claim.conditions == Conditions(settings=whole, budget=150_000, problems=24), claim.text
    assert sum(claim.conditions.settings for claim in every) == 8 * len((*TABLE_1, *TUNED)) + 1


def test_table_1_is_the_papers_with_all_pairs_of_a_batch() -> None:
    for name, (model, pairing) in {
        "egl-table1-fc": ("fc", "all"), "egl-table1-spline": ("spline", "all"), "igl-table1-fc": ("fc", None),
    }.items():  # fmt: skip
        settings = TABLE_1_SETTINGS[name](40)
        paper = (EGLSettings if pairing else IGLSettings).paper_coco(40, model=model)
        changed = {"minibatch": 64} | ({"pairing": pairing} if pairing else {})
        assert settings == dataclasses.replace(paper, **changed)


def test_each_verdict_from_data() -> None:
    every = dict.fromkeys(BASELINES, 50.0)
    assert verdict(every | {EGL: 0.5}, "more problems than each baseline").word == HELD
    behind = verdict(every | {EGL: 50.0, "cma": 0.5}, "more problems than each baseline", **FULL)
    assert behind.word == CONTRARY
    assert "5-D egl-table1-fc 0.0 %, cma 100.0 %: -100.0" in behind.figures
    short = verdict(every | {EGL: 50.0, "cma": 0.5}, "more problems than each baseline")
    assert short.word == NOT_TESTED
    assert "it takes 150,000 evaluations (here 1,000), 24 problems (here 12)" in short.figures
    ours = {"egl-constant": 50.0} | dict.fromkeys(BASELINES, 0.5)
    assert verdict(ours, "more problems than each baseline", **FULL).word == NOT_TESTED
    indirect = "Explicit learning beats indirect learning"
    assert verdict({EGL: 0.5, "igl-table1-fc": 50.0}, indirect).word == HELD
    assert verdict({EGL: 0.5, "igl-fc": 50.0}, indirect).word == NO_DATA  # other settings
    assert verdict({"egl-fc": 0.5, "igl-fc": 50.0}, indirect).word == HELD
    assert verdict({"egl-planned": 0.5, "igl-fc": 50.0}, indirect).word == NO_DATA  # it has no network
    mixed = every | {EGL: lambda f, i: 0.5 if f <= 3 else 50.0, "cma": lambda f, i: 0.5 if f > 3 else 50.0}
    assert verdict(mixed, "more problems than each baseline").word == OPEN
    partly = verdict({EGL: 0.5, "cma": 50.0}, "more problems than each baseline")
    assert partly.word == OPEN  # the other baselines were not run
    assert "nelder-mead" in partly.figures
    assert verdict({"random": 1.0}, "more problems than each baseline").word == NO_DATA
    for _, found in judge(Results.from_rows(rows({"random": 1.0}))):
        assert found.word == NO_DATA
        assert found.figures


def test_claims_on_networks_replay_and_radius() -> None:
    networks = {"networks-fc": 90.0, "networks-fc-tr": 80.0, "networks-fc-om": 20.0, "networks-fc-tr-om": 10.0}
    assert verdict(networks, "together beat", n=40).word == HELD
    assert verdict({"egl-spline": 20.0, "egl-fc": 10.0}, "spline network", n=40, **FULL).word == NOT_TESTED
    assert verdict({"egl-spline": 5.0, "egl-fc": 10.0}, "spline network", n=40, **FULL).word == HELD
    replay = {
        "replay-1-p0": 50.0,
        "replay-4-p0": 45.0,
        "replay-16-p0": 80.0,
        "replay-1-p0.01": 60.0,
        "replay-32-p0": 0.0,
    }
    four = verdict(replay, "4 batches gains", n=40)
    assert four.word == HELD
    assert "+10.0 %" in four.figures
    assert verdict(replay, "16 batches hurts", n=40).word == HELD
    assert verdict(replay, "0.01 eps gains", n=40, **FULL).word == NOT_TESTED
    radius = {"epsilon-0.1": 20.0, "epsilon-0.001-fast": 5.0, "epsilon-0.5-fresh": 5.0}
    assert verdict(radius, "On f19", n=40, functions=(19, 21), instances=range(1, 8)).word == HELD
    assert verdict(radius, "On f21", n=40, functions=(19, 21), instances=(1,)).word == OPEN  # one problem
    assert verdict(radius, "On f22", n=40, functions=(19, 21)).word == NO_DATA


def test_the_trust_region_helps_near_the_minimum_and_less_before() -> None:
    runs = rows({"networks-fc-tr-om": 1.0, "networks-fc-om": 50.0, "networks-fc": 0.5}, n=40)
    early = "Early in a run the trust region helps less"
    for trace, word in (([1, 1000], HELD), ([1, 50], OPEN)):  # its help comes at the end, or was there all along
        for run in runs:
            run |= {"trace_evaluations": trace, "trace_gap": [200.0, run["best_gap"]]}
        found = {c.text: v for c, v in judge(Results.from_rows(runs))}
        assert found["The trust region helps near the minimum."].word == HELD
        assert found[early + " than near the minimum."].word == word
    assert "+1.70 after 100 evaluations, +1.70 after 1,000" in found[early + " than near the minimum."].figures


def test_who_improves_all_the_way_and_who_settles() -> None:
    gaps = {EGL: 1.0} | dict.fromkeys(BASELINES, 20.0)
    runs = rows(gaps, n=40, **FULL)
    falls = [200.0, 100.0, 50.0, 20.0, 1.0]
    for run in runs:
        run |= {"trace_evaluations": [1, 30_000, 60_000, 120_000, 140_000], "trace_gap": falls}
        if run["algorithm"] != EGL:
            run |= {"trace_evaluations": [1, 30_000, 60_000], "trace_gap": falls[:3], "best_gap": 50.0}
    found = {c.text: v for c, v in judge(Results.from_rows(runs))}
    assert found["EGL improves all the way. [egl-table1-fc]"].word == HELD
    assert found["The baselines settle in local minima."].word == HELD
    for run in runs:
        if run["algorithm"] == EGL:  # nothing new after a quarter of the run
            run |= {"trace_evaluations": [1, 30_000], "trace_gap": falls[:2], "best_gap": 100.0}
        elif run["algorithm"] == "slsqp":
            run |= {"trace_evaluations": [1, 30_000, 120_000], "trace_gap": falls[:3]}
    found = {c.text: v for c, v in judge(Results.from_rows(runs))}
    assert found["EGL improves all the way. [egl-table1-fc]"].word == CONTRARY
    settled = found["The baselines settle in local minima."]
    assert settled.word == CONTRARY
    assert "from 75,000 to 150,000 evaluations slsqp improves on 100.0 %" in settled.figures
    # What is solved cannot improve, and is no sign of having settled.
    solved = rows(dict.fromkeys(BASELINES, 1e-9), n=40, **FULL)
    for run in solved:
        run |= {"trace_evaluations": [1, 60_000], "trace_gap": [200.0, 1e-9]}
    (found_solved,) = [v for c, v in judge(Results.from_rows(solved)) if "settle in local minima" in c.text]
    assert found_solved.word == NO_DATA


def test_overtaking_cma() -> None:
    runs = rows({EGL: 1.0, "cma": 20.0, "slsqp": 0.5}, n=40, **FULL)
    for run in runs:
        when = {EGL: 10_000, "cma": 1000, "slsqp": 90_000}[run["algorithm"]]
        run |= {"trace_evaluations": [1, when], "trace_gap": [200.0, run["best_gap"]]}
    found = {c.text: v for c, v in judge(Results.from_rows(runs))}
    assert found["It overtakes CMA-ES after about 10,000 evaluations. [egl-table1-fc]"].word == HELD
    assert found["In 40-D EGL ends closer to the best value than CMA-ES. [egl-table1-fc]"].word == HELD
    for run in runs:
        run["trace_evaluations"] = [1, 40_000] if run["algorithm"] == EGL else run["trace_evaluations"]
    found = {c.text: v for c, v in judge(Results.from_rows(runs))}
    assert found["It overtakes CMA-ES after about 10,000 evaluations. [egl-table1-fc]"].word == CONTRARY


def test_baselines_with_more_evaluations_are_cut() -> None:
    """The baselines solve everything, but after the evaluations that egl-fc had."""
    runs = rows({"egl-fc": 0.5}, n=40, budget=1000) + rows(dict.fromkeys(BASELINES, 0.1), n=40, budget=10_000)
    for run in runs:
        if run["algorithm"] != "egl-fc":
            run |= {"trace_evaluations": [10, 5000], "trace_gap": [150.0, 0.1]}
    found = {c.text: v for c, v in judge(Results.from_rows(runs))}
    assert found["EGL solves more problems than each baseline in every dimension. [egl-fc]"].word == HELD
    assert found["EGL is state of the art on COCO. [egl-fc]"].word == HELD


def test_rivals_with_more_evaluations_are_cut_in_784_dimensions() -> None:
    rivals = {"igl-m64": 0.1, "cg": 0.1, "cma": 0.1}
    runs = rows({"egl-fc-m64": 10.0}, n=784, suite="coco-784") + rows(rivals, n=784, suite="coco-784", budget=10_000)
    for run in runs:
        if run["algorithm"] != "egl-fc-m64":
            run |= {"trace_evaluations": [10, 5000], "trace_gap": [150.0, 0.1]}
    found = {c.text: v for c, v in judge(Results.from_rows(runs))}
    for rival in ("CMA-ES", "CG", "IGL"):
        assert found[f"In 784-D EGL with m = 64 beats {rival}. [fc network]"].word == HELD
    # Settings of IGL for the closed form do not exist.
    assert "In 784-D EGL with m = 64 beats IGL. [constant model]" not in found


def test_a_lead_is_over_baselines_with_the_same_problems() -> None:
    """A baseline that was run on one instance of three must not take the others away."""
    runs = [
        *rows({EGL: 0.5, "cma": 50.0}, instances=(1, 2, 3), n=40),
        *rows({"bfgs": 0.5}, instances=(1,), n=40),
    ]
    runs += rows({EGL: 0.5, "cma": 0.5}, instances=(1, 2, 3), n=2)
    (found,) = [v for c, v in judge(Results.from_rows(runs)) if "grows with the dimension" in c.text]
    assert found.word == HELD
    assert "2-D +0.0, 40-D +100.0" in found.figures
    assert "bfgs" in found.figures.split("not run on the same problems with the same budget: ")[1]


def test_rivals_without_runs_are_counted() -> None:
    found = verdict({EGL: 0.5, "cma": 50.0}, "state of the art")
    assert found.word == HELD
    every = sum(not is_ours(a) and a not in variants() and not a.startswith("authors-") for a in ALGORITHMS)
    assert f"; {every - 1} more rivals have no runs." in found.figures


def test_a_lead_that_grows_with_the_dimension() -> None:
    half = lambda f, i: 0.5 if f <= 3 else 50.0  # noqa: E731
    small = rows({EGL: half, "cma": half, "powell": 50.0}, n=2)
    large = rows({EGL: 0.5, "cma": 50.0, "powell": 50.0}, n=40)
    (found,) = [v for c, v in judge(Results.from_rows(small + large)) if "grows with the dimension" in c.text]
    assert found.word == HELD
    assert "2-D +0.0, 40-D +100.0" in found.figures


def test_a_whole_benchmark_is_judged() -> None:
    rng = np.random.default_rng(0)
    names = (EGL, *BASELINES, "bipop-cma")
    runs = rows({a: lambda f, i: 10 ** rng.uniform(-9, 2) for a in names}, range(1, 25), range(1, 6))
    judged = judge(Results.from_rows(runs))
    assert {v.word for _, v in judged} <= set(VERDICTS)


def test_skewed_values_are_harder_to_learn() -> None:
    runs = rows({EGL: 1.0}, range(1, 25), (1, 2), n=40, budget=150_000)
    wild = np.random.default_rng(0).permutation(24) / 24
    for share, word in ((lambda f: f / 24, HELD), (lambda f: 1 - f / 24, CONTRARY), (lambda f: wild[f - 1], OPEN)):
        for run in runs:
            f = run["function"]
            unexplained = [0.5 * share(f), 1.5 * share(f)]
            run |= {"fit_until": [1000, 10_000], "fit_unexplained": unexplained, "fit_skewness": [-f, -f]}
        (found,) = [v for c, v in judge(Results.from_rows(runs)) if "skewed" in c.text]
        assert found.word == word
        assert "over 24 functions; unexplained even or normal: f15" in found.figures
    (found,) = [v for c, v in judge(Results.from_rows(rows({EGL: 1.0}))) if "skewed" in c.text]
    assert found.word == NO_DATA
