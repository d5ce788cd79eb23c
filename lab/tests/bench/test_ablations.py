from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("cocoex")
pytest.importorskip("torch")

from eglearn import EGLSettings
from eglearn.algorithms import EGL
from eglearn_lab.bench import entries
from eglearn_lab.bench import snapshots as module
from eglearn_lab.bench.ablations import ABLATIONS, BASE, ablation, gains
from eglearn_lab.bench.algorithms import ALGORITHMS
from eglearn_lab.bench.problems import Problem
from eglearn_lab.bench.result_table import Results
from eglearn_lab.bench.runner import Job
from eglearn_lab.bench.snapshots import Job as Look
from eglearn_lab.bench.snapshots import SnapshotRuns, load_snapshots, take_snapshots
from eglearn_lab.bench.worker import CocoRuns

VARIANTS = [name for item in ABLATIONS.values() if item.suite == "bbob" for name in item.algorithms]


def test_the_experiments_that_the_paper_has():
    assert list(ABLATIONS) == [
        *("networks", "replay-perturbation", "epsilon", "jump", "output-map", "exploration", "exploration-many"),
    ]
    assert len(ablation("networks").algorithms) == 5
    assert len(ablation("replay-perturbation").algorithms) == 12
    assert ablation("epsilon").functions == (19, 21, 22)
    assert len(VARIANTS) == len(set(VARIANTS))
    for item in ABLATIONS.values():
        where = ("coco-784", (784,)) if item.name.startswith("exploration") else ("bbob", (40,))
        many = ("bbob", (20, 40), (1, 2, 3, 4, 5))  # few functions, and a verdict takes six problems
        assert (item.suite, item.dims, item.instances) == (many if item.name == "epsilon" else (*where, (1,)))
        special = {"output-map": 100_000, "exploration": 10_000, "exploration-many": 30_000}
        assert item.budget == special.get(item.name, 15_000)
        assert item.reference in (*item.algorithms, None)
        assert item.claim.endswith(".")
    with pytest.raises(ValueError, match="no ablation 'nothing'; there are networks"):
        ablation("nothing")


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_runs(name):
    assert ALGORITHMS[name].function.__doc__
    row = CocoRuns().execute(Job(Problem("bbob", 15, 40, 1), name, 0, 110))
    assert (row["status"], row["error"], row["evaluations"]) == ("budget", "", 110)
    assert row["best_gap"] < row["y0"] - row["f_opt"]


def test_each_variant_changes_the_base_in_one_way(monkeypatch):
    seen = {}
    for name in VARIANTS:
        monkeypatch.setattr(entries, "_ask_tell", lambda run, kind, settings, name=name: seen.update({name: settings}))
        ALGORITHMS[name].function(SimpleNamespace(n=40))
    base = {"networks-fc-tr-om", "replay-32-p0", "epsilon-0.3", "jump-off"}
    assert {name for name, settings in seen.items() if settings == BASE} == base
    others = [settings for name, settings in seen.items() if name not in base]
    assert len(set(others)) == len(others) == len(VARIANTS) - 4
    together = {
        "epsilon-0.001-fast": {"epsilon", "region_factor", "replay"},
        "epsilon-0.5-fresh": {"epsilon", "replay"},
    }
    for name, settings in seen.items():
        changed = {
            f.name for f in dataclasses.fields(EGLSettings) if getattr(settings, f.name) != getattr(BASE, f.name)
        }
        allowed = {"networks": {"region_factor", "epsilon_factor", "output_map", "model"},
                   "replay": {"replay", "perturbation"}, "epsilon": {"epsilon"},
                   "jump": {"jump", "alpha"}}[name.partition("-")[0]]  # fmt: skip
        assert changed <= together.get(name, allowed)
    assert seen["networks-fc-om"].output_map == seen["networks-spline"].output_map == "log"
    assert seen["networks-fc-tr"].region_factor == BASE.region_factor < 1
    assert (seen["replay-4-p0.01"].replay, seen["replay-4-p0.01"].perturbation) == (4, 0.01)
    assert (seen["jump-only"].jump, seen["jump-only"].alpha) == (True, 0.0)


def test_without_trust_region_nothing_moves_but_the_radius_falls_as_before():
    # A function that never improves shrinks as often as the rule allows.
    def shrunk(**changes):
        settings = EGLSettings(model="fc", training_steps=1, **changes)
        opt = EGL([(-5, 5)] * 3, budget=640, settings=settings)
        while not opt.stop():
            x = opt.ask()
            opt.tell(x, np.arange(len(x)) + float(opt.nfev))
        state = opt.progress()
        return state["region"], state["region"] * state["epsilon"]

    side, radius = shrunk()
    fixed_side, fixed_radius = shrunk(region_factor=1.0, epsilon_factor=BASE.region_factor)
    assert side < 0.1
    assert fixed_side == 1
    assert fixed_radius == pytest.approx(radius)


def row(function, algorithm, gap, seed=0):
    """A run that starts at gap 100, has ``gap`` after 10 evaluations and nothing before."""
    return {
        "suite": "bbob", "function": function, "dimension": 40, "instance": 1, "algorithm": algorithm, "seed": seed,
        "budget": 10, "f_opt": 0.0, "y0": 100.0, "best_gap": gap, "trace_evaluations": [1, 10],
        "trace_gap": [100.0, gap],
    }  # fmt: skip


def test_gains_by_hand():
    # Distances to the optimum: 0.4 (reference), 0.1, 0 on f1, and 0.6, 0.15, 0.2 on f2.
    rows = [row(1, "ref", 40.0), row(1, "a", 10.0), row(1, "b", 0.0)]
    rows += [row(2, "ref", 60.0), row(2, "a", 15.0), row(2, "b", 20.0)]
    found = gains(Results.from_rows(rows), "ref", rng=np.random.default_rng(1))
    assert sorted(found) == ["a", "b"]
    for part in (found["a"].estimate, found["a"].low, found["a"].high):
        assert part == pytest.approx([0.75])  # the problems agree
    assert found["b"].estimate == pytest.approx([1 - 0.2 / 1.0])
    # A ratio of means, not a mean of ratios: here 1 - (0.5 + 0.1) / (0.4 + 0.6).
    rows[1], rows[4] = row(1, "a", 50.0), row(2, "a", 10.0)
    interval = gains(Results.from_rows(rows), "ref", resamples=2000)["a"]
    assert interval.estimate == pytest.approx([0.4])
    assert interval.low == pytest.approx([1 - 0.5 / 0.4])
    assert interval.high == pytest.approx([1 - 0.1 / 0.6])


def test_gains_over_time_seeds_and_missing_runs():
    rows = [row(1, "ref", 40.0), row(1, "a", 0.0), row(1, "a", 20.0, seed=1), row(2, "a", 0.0)]
    found = gains(Results.from_rows(rows), "ref", [1, 10])["a"]
    assert found.estimate == pytest.approx([0.0, 1 - 0.1 / 0.4])  # f2 has no reference: left out
    with pytest.raises(ValueError, match="reference = 'b': the results have a, ref"):
        gains(Results.from_rows(rows), "b")


def test_gains_where_the_reference_is_best_or_found_nothing():
    worse = gains(Results.from_rows([row(1, "ref", 0.0), row(1, "a", 20.0)]), "ref")["a"]
    assert worse.estimate == -np.inf
    nothing = gains(Results.from_rows([row(1, "ref", np.inf), row(1, "a", 50.0)]), "ref")["a"]
    assert nothing.estimate == 0.5


def test_snapshots_are_of_the_replay(monkeypatch):
    monkeypatch.setattr(module, "SNAPSHOT_SIZE", 60)
    job = Look(Problem("bbob", 15, 5, 1), 0, 300)
    row = SnapshotRuns((100, 250, 9999)).execute(job)
    assert row["t"] == [100, 250]  # the last is never reached
    assert len(row["y"][0]) == len(row["v"][0]) == 60
    assert 0 < len(row["y"][1]) == len(row["v"][1]) <= 60
    assert all(t <= evaluations <= t + 100 for t, evaluations in zip(row["t"], row["evaluations"], strict=True))
    y, v = np.array(row["y"][0]), np.array(row["v"][0])
    assert (np.diff(v[np.argsort(y)]) >= 0).all()  # the map is monotone
    assert v.min() < -1 < 1 < v.max()  # its quantiles go to -1 and 1
    again = SnapshotRuns((100, 250)).execute(job)
    assert {k: row[k] for k in ("y", "v", "evaluations")} == {k: again[k] for k in ("y", "v", "evaluations")}


def test_snapshots_are_kept_and_not_taken_again(tmp_path):
    problems = [Problem("bbob", f, 2, 1) for f in (3, 15)]
    take_snapshots(tmp_path, problems[:1], 100, (50,))
    first = load_snapshots(tmp_path)
    seen = []
    take_snapshots(tmp_path, problems, 100, (50,), workers=2, progress=seen.append)
    assert [(p.row["function"], p.done, p.total) for p in seen] == [(15, 2, 2)]
    columns = load_snapshots(tmp_path)
    assert list(columns) == [
        "suite",
        "function",
        "dimension",
        "instance",
        "seed",
        "budget",
        "t",
        "evaluations",
        "y",
        "v",
    ]
    count = len(first["y"])
    assert all((columns[name][:count] == first[name]).all() for name in columns)
    assert columns["function"].tolist() == [3] * count + [15] * (len(columns["y"]) - count)
    here = SnapshotRuns((50,)).execute(Look(problems[1], 0, 100))
    assert columns["y"][count:].tolist() == here["y"][0]
    assert len(here["y"][0]) > 1
    assert all(len(column) == 0 for column in load_snapshots(tmp_path / "nothing").values())


def test_a_failed_snapshot_is_told_and_gives_no_values(tmp_path):
    (row,) = take_snapshots(tmp_path, [Problem("bbob", 3, 2, 1)], 0, (10,)).to_pylist()  # no budget
    assert row["status"] == "failed"
    assert "budget" in row["error"]
    assert len(load_snapshots(tmp_path)["y"]) == 0
