from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cocoex")

from eglearn_lab.bench.problems import TARGETS, NoiseFree, Problem, Record, _RunOver, paper_problem


def test_targets_are_those_of_coco():
    assert len(TARGETS) == 51
    assert TARGETS[0] == 100
    assert TARGETS[5] == pytest.approx(10)
    assert TARGETS[-1] == pytest.approx(1e-8)


def test_record_by_hand():
    record = Record()
    gaps = [1000.0, 100.0, 20.0, 63.0, 1e-8 / 2]
    for gap in gaps:
        record.add(gap)
    # 10^(2 - 0.2 k): 100, 63.1, 39.8, 25.1, 15.8, ...
    assert record.target_evaluations[:5] == [2, 3, 3, 3, 5]
    assert set(record.target_evaluations[4:]) == {5}
    assert record.trace() == ([1, 2, 3, 4, 5], [1000.0, 100.0, 20.0, 20.0, 1e-8 / 2])


def test_record_without_success_and_with_nan():
    record = Record()
    for gap in (math.nan, 101.0, math.nan):
        record.add(gap)
    assert record.target_evaluations == [-1] * 51
    assert record.best == 101.0


def test_trace_is_log_spaced_and_ends_with_the_last():
    record = Record()
    for i in range(12_345):
        record.add(1e6 - i)
    evaluations, gaps = record.trace()
    assert evaluations[-1] == 12_345
    assert gaps[-1] == 1e6 - 12_344
    assert evaluations == sorted(set(evaluations))
    assert sum(1000 <= e < 10_000 for e in evaluations) == 20
    assert {1, 10, 100, 1000, 10_000} <= set(evaluations)


@pytest.mark.parametrize(
    ("index", "function", "instance"), [(97, 7, 73), (194, 13, 80), (240, 17, 1), (246, 17, 72), (255, 18, 1)]
)
def test_paper_numbers(index, function, instance):
    assert paper_problem(index, 2) == Problem("bbob", function, 2, instance)


@pytest.mark.parametrize("index", [-1, 360])
def test_paper_numbers_out_of_range(index):
    with pytest.raises(ValueError, match="0 to 359"):
        paper_problem(index, 2)


@pytest.mark.parametrize(
    "wrong", [("bob", 1, 2, 1), ("bbob", 25, 2, 1), ("bbob", 1, 7, 1), ("bbob-noisy", 1, 2, 1), ("bbob", 1, 2, 0)]
)
def test_problems_that_do_not_exist_are_refused(wrong):
    with pytest.raises(ValueError, match=r"suite|function|dimension|instance"):
        Problem(*wrong)


def test_problem_survives_pickling():
    problem = Problem("bbob", 3, 5, 71)
    assert pickle.loads(pickle.dumps(problem)) == problem


@pytest.mark.parametrize("suite", ["bbob", "bbob-largescale"])
def test_optimum_is_never_undercut(suite):
    dimension = 5 if suite == "bbob" else 80
    for function in range(1, 25):
        objective = Problem(suite, function, dimension, 2).open(50)
        rng = np.random.default_rng(function)
        y = [objective(rng.uniform(-5, 5, dimension)) for _ in range(50)]
        assert min(y) > objective.f_opt
        assert objective.record.best == min(y) - objective.f_opt
        assert round(objective.f_opt, 2) == pytest.approx(objective.f_opt, abs=1e-9)  # COCO's optima have two decimals
        objective.close()


def test_budget_projection_and_clocks():
    objective = Problem("bbob", 1, 2, 1).open(5)
    assert objective.evaluations == 0
    inside, outside = objective([5.0, 0.0]), objective([7.0, 0.0])
    assert inside == outside
    assert objective.projected == 1
    for _ in range(3):
        objective(objective.x0)
    for _ in range(2):
        with pytest.raises(_RunOver):
            objective(objective.x0)
    assert objective.evaluations == objective._coco.evaluations == 5
    assert objective.best_y == objective.y0 == pytest.approx(objective.f_opt + objective.record.best)
    assert 0 < objective.cpu_function < objective.cpu_inside
    assert objective.gap(np.array([7.0, 0.0])) == pytest.approx(inside - objective.f_opt)


def test_a_solved_problem_ends_the_run_but_a_noisy_one_goes_on():
    objective = Problem("bbob", 1, 2, 1).open(1000)
    best = objective._free.best_parameter()
    objective(objective.x0)
    assert not objective.solved
    objective(best)
    assert objective.solved
    with pytest.raises(_RunOver):
        objective(objective.x0)
    assert objective.evaluations == 2
    noisy = Problem("bbob-noisy", 101, 2, 1).open(1000)
    noisy(noisy._free.best_parameter())
    assert noisy.record.best <= TARGETS[-1]
    noisy(noisy.x0)
    assert noisy.evaluations == 2


# Which noiseless function is under the noise, and with which factor. Under f116 to f118 is an ellipsoid with a
# condition number of 1e4, which the noiseless suite does not have.
TWINS = {101: 1, 104: 8, 107: 1, 110: 8, 113: 7, 119: 14, 122: 17, 125: 19, 128: 21}


@pytest.mark.parametrize("function", [f for first in TWINS for f in range(first, first + 3)])
def test_noise_free_values_are_those_of_the_noiseless_twin(function):
    first = function - (function - 101) % 3
    factor = 0.1 if first == 125 else 1.0
    free = NoiseFree(Problem("bbob-noisy", function, 5, 3))
    twin = NoiseFree(Problem("bbob", TWINS[first], 5, 3))
    assert free.optimum() == pytest.approx(twin.optimum(), abs=1e-9)
    for x in np.random.default_rng(0).uniform(-5, 5, (20, 5)):
        assert free(x) - free.optimum() == pytest.approx(factor * (twin(x) - twin.optimum()), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("function", [101, 102, 109, 116, 117, 118, 126])
def test_noise_free_values_are_those_of_the_official_log(function, tmp_path):
    objective = Problem("bbob-noisy", function, 2, 1).open(30, folder=tmp_path / "data")
    rng = np.random.default_rng(1)
    for _ in range(30):
        objective(rng.uniform(-5, 5, 2))
    objective.close()
    (log,) = Path(tmp_path).rglob("*.tdat")
    header, *lines = log.read_text().splitlines()
    assert float(header.split("Fopt (")[1].split(")")[0]) == pytest.approx(objective.f_opt, abs=1e-9)
    evaluation, _, gap = lines[-1].split()[:3]
    assert int(evaluation) == 30
    assert float(gap) == pytest.approx(objective.record.best, rel=1e-8)


def test_noise_depends_on_the_seed_and_on_nothing_else():
    def values(seed):
        objective = Problem("bbob-noisy", 101, 2, 1).open(5, seed=seed)
        return [objective(objective.x0) for _ in range(5)]

    assert values(0) == values(0)
    assert values(1) == values(1)
    assert not set(values(0)) & set(values(1))
