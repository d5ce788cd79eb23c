"""The sampler in real studies: Optuna's own suite first, then what the sampler's description says."""

from __future__ import annotations

import importlib.util
import math
import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

optuna = pytest.importorskip("optuna")

from optuna.samplers import BaseSampler, RandomSampler  # noqa: E402
from optuna.testing.pytest_samplers import (  # noqa: E402
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import Trial, TrialState  # noqa: E402

from eglearn.optuna import EGLSampler  # noqa: E402


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestOptunasOwnSuite(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: EGLSampler(seed=0)


def rippled(trial: Trial) -> float:
    """A bowl on which a descent draws samples."""
    x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
    return x**2 + y**2 + math.cos(20 * x) * math.cos(30 * y)


def bowl(trial: Trial) -> float:
    x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
    return (x - 1.3) ** 2 + 3 * (y + x + 0.4) ** 2


def made(objective: Callable[[Trial], float], n_trials: int, **options: Any) -> Any:
    direction, n_jobs = options.pop("direction", "minimize"), options.get("n_jobs", 1)
    sampler = options.pop("sampler", None) or EGLSampler(n_trials=n_trials, seed=1, **options)
    study = optuna.create_study(sampler=sampler, direction=direction)
    study.optimize(objective, n_trials=n_trials, n_jobs=n_jobs, catch=ZeroDivisionError)
    return study


def points(study: Any) -> list[dict[str, Any]]:
    return [t.params for t in study.trials]


def test_a_bowl_is_found_and_the_first_trial_is_the_middle() -> None:
    study = made(bowl, 80)
    assert study.best_value < 1e-8
    assert study.trials[0].params == {"x": 0.0, "y": 0.0}


def test_the_same_seed_gives_the_same_study_and_maximising_mirrors_it() -> None:
    one, two, mirrored = made(bowl, 40), made(bowl, 40), made(lambda t: -bowl(t), 40, direction="maximize")
    assert points(one) == points(two) == points(mirrored)
    first, second = (made(rippled, 40, sampler=EGLSampler(seed=seed)) for seed in (1, 2))
    assert points(first) != points(second)


def test_logarithms_are_searched_and_ints_stay_on_their_grid() -> None:
    def objective(trial: Trial) -> float:
        rate = trial.suggest_float("rate", 1e-8, 1, log=True)
        layers, width = trial.suggest_int("layers", 1, 9, step=2), trial.suggest_int("width", 1, 1000, log=True)
        drop = trial.suggest_float("drop", 0, 0.5, step=0.1)
        assert layers in (1, 3, 5, 7, 9)
        assert math.isclose(drop * 10, round(drop * 10), abs_tol=1e-9)
        bad = (math.log10(rate) + 4) ** 2 + (layers - 7) ** 2 + math.log(width / 50) ** 2 + 100 * (drop - 0.2) ** 2
        return float(bad)

    best = made(objective, 150).best_params
    assert best["rate"] == pytest.approx(1e-4, rel=0.5)
    assert best["layers"] == 7
    assert best["width"] == pytest.approx(50, rel=0.1)
    assert best["drop"] == pytest.approx(0.2)


def test_neighbours_on_a_coarse_grid_are_tried() -> None:
    # Within a cell, nothing tells that the next one is better.
    def objective(trial: Trial) -> float:
        steps = [trial.suggest_int(f"k{j}", 0, 6) - 3 for j in range(4)]
        return (trial.suggest_float("x", -5, 5) - 1) ** 2 + 4 * sum(
            (k - s) ** 2 for k, s in zip(steps, (2, -2, 3, 0), strict=True)
        )

    for seed in range(3):
        assert made(objective, 80, sampler=EGLSampler(n_trials=80, seed=seed)).best_value < 1e-3


def test_what_rounding_makes_equal_is_not_tried_twice() -> None:
    def objective(trial: Trial) -> float:
        return float((trial.suggest_int("a", 0, 9) - 4) ** 2 + (trial.suggest_int("b", 0, 9) - 7) ** 2)

    study = made(objective, 60)
    assert study.best_value == 0
    repeated = 60 - len({tuple(p.values()) for p in points(study)})
    assert repeated <= 12


def test_categories_have_searches_of_their_own_with_the_numbers_that_only_they_have() -> None:
    def objective(trial: Trial) -> float:
        value = (trial.suggest_float("shared", -5, 5) - 2) ** 2
        if trial.suggest_categorical("kind", ["plain", "deep"]) == "plain":
            return value + 1 + trial.suggest_float("weight", 0, 1)
        return value + abs(trial.suggest_int("depth", 1, 20) - 6) / 10

    study = made(objective, 120)
    assert study.best_params["kind"] == "deep"
    assert study.best_value < 0.01
    spaces = set()
    for _ in range(20):
        trial = study.ask()
        spaces.add(tuple(study.sampler.infer_relative_search_space(study, study.trials[trial.number])))
    assert ("kind", "depth", "shared") in spaces
    assert spaces <= {("kind", "depth", "shared"), ("kind", "shared", "weight")}


def test_categories_are_compared_at_the_same_numbers() -> None:
    # The wrong category is found first and searched to its end; only a fair comparison shows the other one.
    def objective(trial: Trial) -> float:
        kind = trial.suggest_categorical("kind", [True, 1, "1"])  # alike for Python, not for Optuna
        right = isinstance(kind, str)
        x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
        return (x - 3) ** 2 + (y + x) ** 2 + (0.0 if right else 0.5)

    for seed in range(3):
        study = made(objective, 100, sampler=EGLSampler(n_trials=100, seed=seed))
        assert study.best_params["kind"] == "1"
        assert study.best_value < 1e-3


def test_an_own_independent_sampler_is_asked() -> None:
    def objective(trial: Trial) -> float:
        return bowl(trial) + (trial.suggest_categorical("c", ["a", "b"]) == "b")

    with_random = made(objective, 30, sampler=EGLSampler(seed=1, independent_sampler=RandomSampler(seed=3)))
    assert points(with_random) != points(made(objective, 30, sampler=EGLSampler(seed=1)))


def test_failed_and_pruned_trials_do_not_stop_it() -> None:
    def objective(trial: Trial) -> float:
        value = bowl(trial)
        if trial.number % 7 == 3:
            raise ZeroDivisionError
        trial.report(value + 1, 0)
        if trial.number > 10 and value > 20:
            raise optuna.TrialPruned
        if trial.number % 11 == 5:
            return math.nan
        return value

    study = made(objective, 150)
    states = [t.state for t in study.trials]
    assert {TrialState.COMPLETE, TrialState.FAIL} <= set(states)
    assert study.best_value < 1e-6


def test_pruned_trials_are_not_taken_for_good() -> None:
    # What a trial reports before it is pruned is far too low here: the search must not go there.
    def objective(trial: Trial, edge: float) -> float:
        x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
        if x > edge:
            trial.report(-1000.0, 0)
            raise optuna.TrialPruned
        return (x - 1.3) ** 2 + (y + 0.4) ** 2

    near = made(lambda trial: objective(trial, 1.35), 60)  # the descent meets the edge
    assert near.best_value < 1e-6
    assert TrialState.PRUNED in {t.state for t in near.trials}
    far = made(lambda trial: objective(trial, 2), 100)  # restarts meet it
    assert far.best_value < 1e-12
    assert 0 < sum(t.state is TrialState.PRUNED for t in far.trials[50:]) < 25


def test_when_everything_fails_it_goes_on() -> None:
    def objective(trial: Trial) -> float:
        if len(trial.study.trials) < 100:
            bowl(trial)
            raise ZeroDivisionError
        return bowl(trial)

    def first(trial: Trial) -> float:
        return bowl(trial)

    study = optuna.create_study(sampler=EGLSampler(n_trials=300, seed=0))
    study.optimize(first, n_trials=1)
    study.optimize(objective, n_trials=200, catch=ZeroDivisionError)
    assert study.best_value < 1e-3


def test_more_trials_than_planned() -> None:
    study = made(bowl, 100, sampler=EGLSampler(n_trials=5, seed=0))
    assert len(study.trials) == 100
    assert study.best_value < 1e-6


def test_parameters_that_the_user_demands_are_used() -> None:
    asked = made(bowl, 12)
    study = optuna.create_study(sampler=EGLSampler(n_trials=12, seed=1))
    study.optimize(bowl, n_trials=4)
    study.enqueue_trial({"x": 5.0, "y": 5.0})
    study.optimize(bowl, n_trials=2)
    given = points(study)
    assert given[:4] == points(asked)[:4]
    assert given[4] == {"x": 5.0, "y": 5.0}
    assert given[5] not in given[:5]  # and learned from: the search goes on from other knowledge


def test_a_point_is_kept_for_later_if_the_user_demands_one_of_its_coordinates() -> None:
    asked = made(bowl, 12)
    study = optuna.create_study(sampler=EGLSampler(n_trials=12, seed=1))
    study.optimize(bowl, n_trials=4)
    study.enqueue_trial({"x": 5.0})
    study.optimize(bowl, n_trials=2)
    given = points(study)
    assert given[4] == {"x": 5.0, "y": points(asked)[4]["y"]}
    assert given[5] == points(asked)[4]


def test_the_same_point_may_come_from_somebody_else_first() -> None:
    study = optuna.create_study(sampler=EGLSampler(n_trials=60, seed=1))
    study.optimize(bowl, n_trials=4)
    slow = study.ask()
    value = bowl(slow)
    study.enqueue_trial(slow.params)
    study.optimize(bowl, n_trials=3)
    assert study.trials[5].params == slow.params
    study.tell(slow, value)
    study.optimize(bowl, n_trials=50)
    assert study.best_value < 1e-6


def test_trials_that_were_there_before_are_used() -> None:
    before = optuna.create_study(sampler=RandomSampler(seed=0))
    before.optimize(bowl, n_trials=30)
    study = optuna.create_study(sampler=EGLSampler(n_trials=20, seed=0))
    study.add_trials(before.trials)
    study.optimize(bowl, n_trials=20)
    begun = np.array([[p["x"], p["y"]] for p in points(study)[30:33]])
    best = np.array([before.best_params["x"], before.best_params["y"]])
    assert np.abs(begun - best).max() < 3
    assert study.best_value < before.best_value / 10


def test_many_threads() -> None:
    barrier = threading.Barrier(8, timeout=20)

    def objective(trial: Trial) -> float:
        value = bowl(trial)
        if trial.number < 8:
            barrier.wait()  # all of them are open at the same time
        return value

    study = made(objective, 80, n_jobs=8)
    assert len({tuple(p.values()) for p in points(study)}) > 70
    assert study.best_value < 0.01


def test_a_trial_that_never_ends_does_not_hold_up_the_search() -> None:
    study = optuna.create_study(sampler=EGLSampler(n_trials=300, seed=0))
    study.optimize(bowl, n_trials=3)
    lost = study.ask()
    bowl(lost)
    study.optimize(bowl, n_trials=250)
    assert study.best_value < 1e-6
    study.tell(lost, 1.0)  # and if it ends after all, it is one more trial
    study.optimize(bowl, n_trials=2)


PROCESS = """
import sys, optuna
from eglearn.optuna import EGLSampler
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.load_study(study_name="s", storage=sys.argv[1], sampler=EGLSampler(n_trials=60, seed=0))
def bowl(trial):
    x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
    return (x - 1.3) ** 2 + 3 * (y + x + 0.4) ** 2
study.optimize(bowl, n_trials=30)
"""


def test_many_processes_with_the_same_seed_share_a_study(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(study_name="s", storage=url)
    started = [subprocess.Popen([sys.executable, "-c", PROCESS, url]) for _ in range(2)]
    assert [process.wait(timeout=90) for process in started] == [0, 0]
    tried = {tuple(t.params.values()) for t in study.trials}
    assert len(study.trials) == 60
    assert len(tried) > 50
    assert study.best_value < 1e-3


def test_a_sampler_can_be_pickled_in_the_middle() -> None:
    one = optuna.create_study(sampler=EGLSampler(n_trials=40, seed=1))
    one.optimize(bowl, n_trials=20)
    two = optuna.create_study(sampler=pickle.loads(pickle.dumps(one.sampler)))
    two.add_trials(one.trials)
    one.optimize(bowl, n_trials=10)
    two.optimize(bowl, n_trials=10)
    assert points(one) == points(two)


def test_values_of_any_size() -> None:
    study = made(lambda t: 1e300 * bowl(t), 60)
    assert points(study) == points(made(lambda t: 2.0**-900 * (1e300 * bowl(t)), 60))
    infinite = made(lambda t: math.inf if t.number % 3 == 1 else bowl(t), 120)
    assert infinite.best_value < 0.05


@pytest.mark.parametrize(("name", "value"), [("n_trials", 0), ("n_jobs", 1.5), ("n_trials", True)])
def test_wrong_arguments_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} = {value}"):
        EGLSampler(**{name: value})
    with pytest.raises(ValueError, match="algorithm = 'nope'"):
        EGLSampler(algorithm="nope")


def test_the_package_for_optunahub(tmp_path: Path) -> None:
    # As the hub loads it: a folder, imported by its path, whose README begins with what its page shows.
    folder = Path(__file__).parents[1] / "optunahub" / "egl"
    assert {"README.md", "LICENSE", "__init__.py", "example.py", "requirements.txt"} <= {
        p.name for p in folder.iterdir()
    }
    _, front, text = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    given = dict(line.split(": ", 1) for line in front.splitlines())
    assert set(given) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert given["license"] == "MIT License"
    spec = importlib.util.spec_from_file_location("hub_egl", folder / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.EGLSampler is EGLSampler
    # its example, and the one in its README, with a stand-in for the hub's own package
    (tmp_path / "optunahub.py").write_text(
        "def load_module(package):\n    import eglearn.optuna\n    return eglearn.optuna\n"
    )
    example = (folder / "example.py").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for code in (example, shown):
        path = os.pathsep.join([str(tmp_path), *sys.path])
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100,
                              env=os.environ | {"PYTHONPATH": path}, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert float(done.stdout.split(" ")[0]) < 0.01
