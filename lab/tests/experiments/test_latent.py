"""The latent-space search, with the shipped networks for real."""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("pyarrow")
pytest.importorskip("cma")
pytest.importorskip("matplotlib")

import torch

from eglearn import EGLSettings, minimize
from eglearn_lab.bench.intervals import bootstrap_mean
from eglearn_lab.experiments.latent import LatentCost, Networks, Target, bounds, load_garments, runs, start
from eglearn_lab.experiments.latent.__main__ import main as latent_main
from eglearn_lab.experiments.latent.figures import best_so_far
from eglearn_lab.experiments.latent.garments import SHIPPED
from eglearn_lab.experiments.latent.page import _answer, _comparable, table, write_gallery
from eglearn_lab.experiments.latent.searches import ALGORITHMS, Search, Spent
from eglearn_lab.experiments.latent.silhouette import ATTRIBUTES, features, landmarks, thresholds, true_attributes
from eglearn_lab.experiments.latent.space import LIMIT, N
from eglearn_lab.fashion import CLASSES
from eglearn_lab.runner import Folder


@pytest.fixture(scope="module")
def garments():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield load_garments()
    torch.set_num_threads(threads)


def constant(attributes=((0.5, 0.9),), places=((0.2, 0.6),), critic=(0.0,)) -> Networks:
    """Networks that say the same of every image."""
    return Networks(
        lambda z: z,
        lambda images: np.array(critic),
        lambda images: np.array(attributes),
        lambda images: np.array(places),
    )


# --- the cost ---------------------------------------------------------------------------------------------------------


def test_cost_against_a_case_computed_by_hand():
    target = Target(np.array([True, False]), np.array([0.1, 0.9]))
    cost = LatentCost(constant(critic=(math.atanh(0.25),)), target)
    terms = cost.terms(np.zeros((1, 3)))
    assert terms.attributes[0] == pytest.approx((math.log(2) + math.log(10)) / 2)  # p = 0.5 wanted, p = 0.9 not
    assert terms.landmarks[0] == pytest.approx(100 * (0.01 + 0.09) / 2)
    assert terms.quality[0] == pytest.approx(0.5)
    assert cost(np.zeros(3)) == pytest.approx((math.log(2) + math.log(10)) / 2 + 5 + 0.5)
    weighted = LatentCost(constant(critic=(math.atanh(0.25),)), target, weights=(2, 0, -4))
    assert weighted(np.zeros(3)) == pytest.approx(math.log(20) - 1)


def test_a_classifier_that_is_sure_and_wrong_costs_a_finite_amount():
    cost = LatentCost(constant(((1.0, 0.0),)), Target(np.array([0, 1]), np.array([0.2, 0.6])))
    assert cost(np.zeros(3)) == pytest.approx(-math.log(1e-6), rel=1e-4)


def test_nan_of_a_network_is_a_failed_evaluation():
    cost = LatentCost(constant(critic=(math.nan,)), Target(np.array([True, False]), np.array([0.1, 0.9])))
    assert math.isnan(cost(np.zeros(3)))


@pytest.mark.parametrize(
    ("networks", "name"),
    [
        (constant(attributes=((0.5,),)), "attributes"),
        (constant(places=((0.5,),)), "landmarks"),
        (constant(critic=((0.5,),)), "critic"),
    ],
)
def test_wrong_shapes_are_named(networks, name):
    cost = LatentCost(networks, Target(np.array([True, False]), np.array([0.1, 0.9])))
    with pytest.raises(ValueError, match=f"'{name}' returned shape"):
        cost(np.zeros(3))


def test_wrong_targets_and_weights_are_named():
    with pytest.raises(ValueError, match="attributes"):
        Target(np.array([0.5]), np.array([0.1]))
    with pytest.raises(ValueError, match="landmarks"):
        Target(np.array([True]), np.array([math.nan]))
    with pytest.raises(ValueError, match="weights"):
        LatentCost(constant(), Target(np.array([True]), np.array([0.1])), weights=(1, math.inf, 2))


def test_the_example_in_the_documentation_runs(capsys):
    page = (Path(__file__).parents[3] / "docs" / "latent.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code is not None
    space: dict[str, object] = {}
    exec(code[1].replace("budget=3_000", "budget=300"), space)
    assert "at the end" in capsys.readouterr().out
    assert space["result"].fun < space["cost"](space["z0"])


# --- the black boxes --------------------------------------------------------------------------------------------------


def test_landmarks_of_a_rectangle():
    image = np.zeros((1, 28, 28))
    image[0, 5:23, 7:21] = 1.0
    x, y = landmarks(image).reshape(17, 2, 2).transpose(2, 0, 1)
    assert np.allclose(y[:, 0], np.arange(6, 23) / 28, atol=0.01)  # 18 rows in 18 equal parts
    assert np.allclose(x[:, 0], (7 + 0.04 * 14) / 28, atol=0.01)
    assert np.allclose(x[:, 1], (21 - 0.04 * 14) / 28, atol=0.01)


def test_landmarks_are_continuous_and_always_finite(garments):
    images = garments.target_images[:8]
    noise = np.random.default_rng(0).standard_normal(images.shape)
    moved = [np.abs(landmarks(np.clip(images + s * noise, 0, 1)) - landmarks(images)).max() for s in (1e-3, 1e-5)]
    assert moved[0] < 0.05
    assert moved[1] < moved[0] / 20
    assert np.isfinite(landmarks(np.zeros((1, 28, 28)))).all()
    assert all(np.isfinite(value).all() for value in features(np.zeros((1, 28, 28))).values())


def test_attributes_are_forty_and_medians_split_them():
    images = np.random.default_rng(0).random((101, 28, 28)) * (np.random.default_rng(1).random((101, 1, 28)) > 0.5)
    labels = np.arange(101) % 10
    truth = true_attributes(images, labels, thresholds(images))
    assert truth.shape == (101, 40)
    assert len(set(ATTRIBUTES)) == 40
    assert (truth[:, :10].argmax(axis=1) == labels).all()
    assert (truth[:, 20:].sum(axis=0) <= 50).all()
    shoes = truth[:, ATTRIBUTES.index("footwear")]
    assert set(np.array(CLASSES)[labels[shoes]]) == {"sandal", "sneaker", "ankle boot"}


def test_the_shipped_file_is_small_and_says_how_it_was_made(garments):
    assert SHIPPED.stat().st_size < 4_000_000
    assert garments.about["command"].startswith("eglearn data train-garments --steps")
    assert {"seed", "cross-entropy", "discriminator loss"} <= garments.about.keys()


def test_generator_makes_images_one_by_one_or_together(garments):
    z = np.random.default_rng(0).standard_normal((16, N))
    images = garments.networks.generator(z)
    assert images.shape == (16, 28, 28)
    assert images.min() >= 0
    assert images.max() <= 1
    alone = np.concatenate([garments.networks.generator(point[None]) for point in z])
    assert np.abs(alone - images).max() < 1e-5
    assert np.abs(images - images.mean(axis=0)).mean() > 0.05  # they are not all the same


def test_classifier_knows_the_targets(garments):
    truth = np.array([garments.target(number).attributes for number in range(64)])
    chance = garments.networks.attributes(garments.target_images)
    assert np.mean((chance > 0.5) == truth) > 0.9
    assert np.mean(chance[:, :10].argmax(axis=1) == garments.target_labels) > 0.75


def test_critic_prefers_real_to_made_to_far_off(garments):
    critic, generator = garments.networks.critic, garments.networks.generator
    z = np.random.default_rng(0).standard_normal((64, N))
    real, made, far = garments.target_images, generator(z), generator(3 * z)
    shuffled = np.random.default_rng(0).permuted(real.reshape(64, -1), axis=1).reshape(real.shape)
    assert critic(real).mean() < critic(made).mean() < critic(far).mean()
    assert critic(real).mean() < 0 < critic(shuffled).mean()  # the paper's sign


def test_target_image_is_where_the_landmarks_say(garments):
    terms = garments.cost(3).terms_of_images(garments.target_images[3:4])
    assert terms.landmarks[0] == 0
    assert garments.cost(3).terms_of_images(garments.target_images[4:5]).landmarks[0] > 0
    with pytest.raises(ValueError, match="0 to 63"):
        garments.target(64)


# --- the searches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_keeps_to_budget_and_box(name, garments):
    seen: list[np.ndarray] = []
    cost = garments.cost(0)

    def spy(z):
        seen.append(z)
        return cost(z)

    search = Search(spy, start(), LIMIT, 700 if name == "cg" else 70, 0)
    with contextlib.suppress(Spent):
        ALGORITHMS[name](search)
    points = np.concatenate(seen)
    assert len(points) == search.evaluations == search.budget
    assert np.abs(points).max() <= LIMIT
    assert search.best == search.trace[-1][1]
    # float32 rounds a point alone and a point in a batch differently
    assert search.best == pytest.approx(cost(search.best_z), abs=1e-5)
    if name not in ("random", "cma"):  # these do not begin with the starting point itself
        assert search.trace[0] == (1, pytest.approx(cost(start()), abs=1e-5))


@pytest.mark.parametrize(("algorithm", "settings"), [("auto", None), ("egl", EGLSettings(model="constant", m=32))])
def test_egl_beats_random_search_at_equal_budget(garments, algorithm, settings):
    budget = 1000
    ours, theirs = [], []
    for problem in range(3):
        cost = garments.cost(problem)
        found = minimize(
            cost, bounds(), start(), budget=budget, vectorized=True, algorithm=algorithm, settings=settings
        )
        assert found.nfev == budget
        ours.append(found.fun)
        theirs.append(cost(np.random.default_rng(problem).standard_normal((budget, N))).min())
    assert np.mean(ours) < np.mean(theirs)


def test_searches_go_on_where_they_stopped(tmp_path, garments):
    first = runs.run_searches(tmp_path, ["random"], problems=2, budget=40, workers=2)
    assert sorted((row["algorithm"], row["problem"]) for row in first) == [("random", 0), ("random", 1)]
    seen = []

    def done():
        return [(p.row["algorithm"], p.row["problem"]) for p in seen]

    runs.run_searches(tmp_path, ["random", "egl-constant"], problems=2, budget=40, progress=seen.append)
    assert done() == [("egl-constant", 0), ("egl-constant", 1)]
    seen.clear()
    rows = runs.run_searches(tmp_path, ["random"], problems=1, budget=40, again=["random"], progress=seen.append)
    assert done() == [("random", 0)]
    assert len(rows) == len(runs.load_rows(tmp_path)) == 3
    held = runs.load_rows(tmp_path)[-1]
    (before,) = [row for row in first if row["problem"] == 0]
    assert held["cost"] == pytest.approx(before["cost"])  # same seed, same search
    assert held["cost"] == pytest.approx(garments.cost(0)(np.array(held["z"])), abs=1e-5)
    assert held["cost"] == pytest.approx(held["attributes"] + held["landmarks"] + held["quality"])
    assert os.listdir(tmp_path) == ["results.parquet"]
    with pytest.raises(ValueError, match="no algorithm newton"):
        runs.run_searches(tmp_path, ["newton"])


def test_a_failed_search_is_kept_apart(tmp_path, monkeypatch, garments):
    runs.run_searches(tmp_path, ["random"], problems=1, budget=40)
    folder = Folder(tmp_path, runs.LatentRuns())
    folder.open()
    folder.add(folder.work.lost(runs.Job("garments", "cma", 0, 0, 40, "w"), "failed", "ValueError: no"))
    folder.finish()
    assert len(folder.table()) == 2
    assert [row["algorithm"] for row in runs.load_rows(tmp_path)] == ["random"]
    monkeypatch.setitem(runs.ALGORITHMS, "broken", lambda search: 1 / 0)
    row = runs.LatentRuns().attempt(runs.Job("garments", "broken", 0, 0, 40, "w"))
    assert row["status"] == "failed"
    assert row["error"].startswith("ZeroDivisionError")


def test_page_of_one_algorithm_and_of_none(tmp_path, garments):
    with pytest.raises(ValueError, match="no finished search"):
        write_gallery(tmp_path, tmp_path)
    runs.run_searches(tmp_path, ["random"], problems=2, budget=40)
    text = write_gallery(tmp_path, tmp_path / "docs").read_text(encoding="utf-8")
    assert "Not complete" in text
    assert "| `random` |" in text
    for name in re.findall(r"\]\((latent_\w+\.png)\)", text):
        assert (tmp_path / "docs" / name).stat().st_size > 5000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "out", "--budget", "0"), "0 is below 1"),
        (("run", "out", "--problems", "-1"), "-1 is below 1"),
        (("run", "out", "--problems", "65"), "target 64: there are 0 to 63"),
        (("page", "nowhere", "docs"), "no finished search"),
    ],
)
def test_wrong_orders_are_answered_in_a_sentence(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["latent", *words])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        latent_main()
    assert said in str(end.value) + capsys.readouterr().err


def test_runs_that_differ_do_not_replace_the_others(tmp_path):
    runs.run_searches(tmp_path, ["random"], problems=3, budget=40)
    runs.run_searches(tmp_path, ["random"], problems=1, budget=50)
    assert [row["budget"] for row in _comparable(runs.load_rows(tmp_path))] == [40, 40, 40]


def test_few_problems_settle_nothing_and_a_small_experiment_contradicts_nothing():
    def word(values, problems):
        return _answer("It wins.", "By 1.", bootstrap_mean(np.array(values), np.random.default_rng(0)), problems).word

    assert word([1.0, 1.1, 1.2], 5) == word([-1.0, -1.1, -1.2], 5) == "not settled"
    assert word([1.0, 1.1, 1.2], 6) == "holds"
    assert word([-1.0, 1.0], 6) == "not settled"
    assert word([-1.0, -1.1, -1.2], 6) == "not tested at this size"
    contrary = _answer("It wins.", "By 1.", bootstrap_mean(np.array([-1.0, -1.1]), np.random.default_rng(0)), 6)
    assert contrary.measured.startswith("By 1. That is the contrary, but")


def test_table_counts_who_is_lowest():
    terms = {"attributes": 0.0, "landmarks": 0.0, "quality": 0.0, "cpu_optimiser": 1.0}
    costs = {"auto": (1.0, 5.0, 2.0), "cma": (2.0, 4.0, 2.0), "cg": (9.0, 9.0, 9.0)}
    rows = [
        {"algorithm": name, "problem": k, "cost": cost} | terms
        for name, each in costs.items()
        for k, cost in enumerate(each)
    ]
    lines = table(rows, [0, 1, 2])
    assert [line.split(" | ")[3] for line in lines[2:]] == ["2 of 3", "2 of 3", "0 of 3"]


def test_several_seeds_count_by_their_mean(tmp_path):
    terms = {"attributes": 0.0, "landmarks": 0.0, "quality": 0.0, "cpu_optimiser": 1.0}
    runs_ = [("auto", 0, 1.0), ("auto", 1, 3.0), ("cma", 0, 1.5)]
    rows = [{"algorithm": name, "problem": 0, "seed": seed, "cost": cost} | terms for name, seed, cost in runs_]
    lines = table(rows, [0])
    assert [line.split(" | ")[1].split()[0] for line in lines[2:]] == ["1.50", "2.00"]
    assert [line.split(" | ")[3] for line in lines[2:]] == ["1 of 1", "0 of 1"]
    for seed in (0, 1):
        runs.run_searches(tmp_path, ["random"], problems=2, budget=40, seed=seed)
    runs.run_searches(tmp_path, ["auto"], problems=2, budget=40)
    text = write_gallery(tmp_path, tmp_path / "docs").read_text(encoding="utf-8")
    assert "of which these are means: `random` 2, others 1." in text
    assert "`random` 2, `cma` 0" in text  # problems finished, not runs


def test_best_so_far_is_a_staircase():
    row = {"trace_evaluations": [1, 5], "trace_cost": [3.0, 2.0]}
    assert best_so_far(row, np.array([1, 4, 5, 9])).tolist() == [3, 3, 2, 2]
