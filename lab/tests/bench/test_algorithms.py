from __future__ import annotations

import contextlib
import os
import warnings

import numpy as np
import pytest

pytest.importorskip("cocoex")

from eglearn_lab.bench import algorithms
from eglearn_lab.bench.ablations import ABLATIONS
from eglearn_lab.bench.algorithms import ALGORITHMS, Run, available_algorithms, get_algorithm
from eglearn_lab.bench.problems import Objective, Problem, _RunOver

LOCAL = ["nelder-mead", "slsqp", "powell", "cg", "cobyla", "bfgs", "cobyqa", "l-bfgs-b"]
EGL = [
    "auto",
    "egl-constant",
    "egl-affine",
    "egl-fc",
    "egl-spline",
    "egl-paper",
    "egl-paper-fc",
    "egl-authors",
    "egl-table1-fc",
    "egl-table1-spline",
    "egl-planned",
    "egl-planned-long",
    "egl-fc-long",
    "igl-fc",
    "igl-fc-long",
    "igl-spline",
    "igl-table1-fc",
]
GLOBAL = ["cma", "bipop-cma", "ipop-acma", "differential-evolution", "dual-annealing", "ngopt", "random"]


def solve(name: str, problem: Problem, budget: int, seed: int = 0) -> Objective:
    entry = get_algorithm(name)
    entry.load()
    objective = problem.open(budget, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(_RunOver):
            entry.function(Run(objective, seed))
    return objective


def test_all_promised_are_there():
    assert set(ALGORITHMS) >= {*EGL, *GLOBAL, *LOCAL, *(f"{name}-restarts" for name in LOCAL)}
    assert all(entry.function.__doc__ for entry in ALGORITHMS.values())


VARIANTS = {name for ablation in ABLATIONS.values() for name in ablation.algorithms}  # have a test of their own


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - VARIANTS))
def test_every_algorithm_on_real_problems(name, tmp_path, monkeypatch, capfd):
    if name not in available_algorithms():
        pytest.skip(str(ALGORITHMS[name].unavailable()))
    monkeypatch.chdir(tmp_path)
    slow = "spline" in name or name in ("egl-paper", "egl-paper-fc", "egl-authors")
    for function, n in ((1, 2), (8, 5)):
        problem = Problem("bbob", function, n, 1)
        points: list[np.ndarray] = []
        budget = 130 if slow else 300
        objective = problem.open(budget)
        inner = objective._coco

        def spy(x, inner=inner, points=points):
            points.append(x.copy())
            return inner(x)

        objective._coco = spy
        entry = get_algorithm(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(_RunOver):
                entry.function(Run(objective, 3))
        assert 1 <= objective.evaluations == inner.evaluations == len(points) <= budget
        assert np.abs(points).max() <= 5
        assert objective.projected == 0 or name.startswith("authors-")  # these leave the box, as they did
        direct, _ = problem._coco()
        assert objective.record.best == pytest.approx(direct(objective.best_x) - objective.f_opt, abs=1e-12)
        assert objective.record.best == max(min(direct(x) for x in points) - objective.f_opt, 0.0)
        if name.endswith("-restarts"):
            assert objective.solved or objective.evaluations == budget
    assert os.listdir(tmp_path) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["bipop-cma", "cma", "auto", "dual-annealing", "differential-evolution", "random"])
def test_same_seed_same_run(name):
    problem = Problem("bbob", 8, 5, 1)
    first, again, other = (solve(name, problem, 400, seed).record.trace() for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("function", [1, 8, 10])
@pytest.mark.parametrize("name", ["bipop-cma", "ipop-acma"])
def test_cma_with_restarts_is_not_weak(name, function):
    objective = solve(name, Problem("bbob", function, 5, 1), 20_000)
    assert objective.record.best <= 1e-8


@pytest.mark.parametrize("name", LOCAL)
def test_local_methods_solve_the_sphere(name):
    objective = solve(name, Problem("bbob", 1, 5, 1), 3000)
    assert objective.record.best <= 1e-8
    assert objective.evaluations < 3000


@pytest.mark.parametrize("name", ["bfgs", "l-bfgs-b", "slsqp"])
def test_quasi_newton_methods_solve_rosenbrock_in_40_d(name):
    assert min(solve(name, Problem("bbob", 8, 40, i), 20_000).record.best for i in (1, 2)) <= 1e-6


@pytest.mark.parametrize("name", ["bfgs", "l-bfgs-b", "slsqp", "nelder-mead", "powell"])
def test_local_methods_survive_large_gradients(name):
    objective = solve(name, Problem("bbob", 10, 5, 1), 10_000)
    assert objective.record.best <= 1.0
    assert objective.y0 - objective.f_opt > 1e6


def test_an_unknown_or_unavailable_algorithm_says_why(monkeypatch):
    with pytest.raises(ValueError, match="no algorithm 'nothing'"):
        get_algorithm("nothing")
    monkeypatch.setattr(algorithms, "ALGORITHMS", {})
    algorithms.algorithm("later", needs=("no_such_module",))(lambda run: None)
    assert available_algorithms() == []
    with pytest.raises(ValueError, match="no_such_module is not installed"):
        get_algorithm("later")
    with pytest.raises(ValueError, match="already"):
        algorithms.algorithm("later")(lambda run: None)


@pytest.mark.parametrize("name", ["cma", "bipop-cma", "auto"])
def test_noisy_runs_recommend_a_point(name):
    objective = Problem("bbob-noisy", 107, 5, 1).open(3000)
    run = Run(objective, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(_RunOver):
            get_algorithm(name).function(run)
    assert run.recommended is not None
    assert objective.gap(run.recommended) < objective.y0 - objective.f_opt
