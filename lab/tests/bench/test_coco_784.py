from __future__ import annotations

import contextlib
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("cocoex")

import cocoex
from scipy.optimize import minimize

from eglearn_lab.bench.algorithms import Run, get_algorithm
from eglearn_lab.bench.encoder import SHIPPED, Encoder, read_images, shipped_encoder
from eglearn_lab.bench.high_dimension import _batches
from eglearn_lab.bench.problems import NoiseFree, Problem, _RunOver
from eglearn_lab.bench.rows import Job
from eglearn_lab.bench.worker import CocoRuns


def solve(name: str, problem: Problem, budget: int, seed: int = 0):
    objective = problem.open(budget)
    with contextlib.suppress(_RunOver):
        get_algorithm(name).function(Run(objective, seed))
    return objective


def forward(x: np.ndarray) -> np.ndarray:
    """The encoder's mean in plain loops over the layers' rows, from the file as safetensors describes it."""
    w = shipped_encoder().weights
    hidden = [max(float(np.dot(row, x)) + b, 0.0) for row, b in zip(w["hidden.weight"], w["hidden.bias"], strict=True)]
    return np.array([np.dot(row, hidden) + b for row, b in zip(w["mean.weight"], w["mean.bias"], strict=True)])


@pytest.mark.parametrize(("function", "instance"), [(1, 1), (8, 3), (24, 2)])
def test_values_are_those_of_cocoex_at_the_encoded_point(function, instance):
    suite = cocoex.Suite("bbob", f"instances:{instance}", f"dimensions:10 function_indices:{function}")
    inner = suite.get_problem(0)
    objective = Problem("coco-784", function, 784, instance).open(10)
    rng = np.random.default_rng(0)
    outside = 0
    for scale in (0.0, 1.0, 1.0):
        x = scale * rng.uniform(-1, 1, 784)
        assert objective(x) == pytest.approx(inner(np.clip(forward(x), -5, 5)), rel=1e-9)
    # A direction in which the code leaves COCO's box: there it is clipped.
    for sign in (-1, 1):
        w = shipped_encoder().weights
        x = sign * np.sign(w["hidden.weight"].T @ w["mean.weight"][0])
        code = forward(x)
        outside += int(np.abs(code).max() > 5)
        assert objective(x) == pytest.approx(inner(np.clip(code, -5, 5)), rel=1e-9)
    assert outside
    objective.close()
    inner.free()


def test_box_start_and_accounting():
    problem = Problem("coco-784", 3, 784, 2)
    assert problem.inner == Problem("bbob", 3, 10, 2)
    objective = problem.open(3)
    assert objective.n == 784
    assert (objective.lower == -1).all()
    assert (objective.upper == 1).all()
    assert (objective.x0 == 0).all()
    inside, outside = objective(np.ones(784)), objective(np.full(784, 7.0))
    assert inside == outside
    assert objective.projected == 1
    assert objective._coco.evaluations == 2
    assert objective(objective.x0) == objective.y0
    with pytest.raises(_RunOver):
        objective(objective.x0)
    objective.close()


@pytest.mark.parametrize("dimension", [10, 40])
def test_other_dimensions_are_refused(dimension):
    with pytest.raises(ValueError, match="coco-784 has 784"):
        Problem("coco-784", 1, dimension, 1)


def test_the_optimum_is_that_of_the_inner_problem_and_can_be_reached():
    w = shipped_encoder().weights

    def distance(x, target):
        layer = w["hidden.weight"] @ x + w["hidden.bias"]
        apart = w["mean.weight"] @ np.maximum(layer, 0) + w["mean.bias"] - target
        return apart @ apart, w["hidden.weight"].T @ ((w["mean.weight"].T @ (2 * apart)) * (layer > 0))

    for function in (1, 10, 24):
        objective = Problem("coco-784", function, 784, 1).open(10)
        inner = NoiseFree(objective.problem.inner)
        assert objective.f_opt == inner.optimum()
        options = {"ftol": 0.0, "gtol": 0.0, "maxiter": 2000}
        found = minimize(
            distance,
            np.zeros(784),
            (inner.best_parameter(),),
            "L-BFGS-B",
            True,
            bounds=[(-1, 1)] * 784,
            options=options,
        )
        objective(found.x)
        assert objective.projected == 0
        assert objective.solved
        with pytest.raises(ValueError, match="not known"):
            objective._free.best_parameter()
        inner.close()
        objective.close()


def test_official_data_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no official data for suite coco-784"):
        Problem("coco-784", 1, 784, 1).open(10, folder=tmp_path / "data")


def test_a_run_is_a_row():
    row = CocoRuns().execute(Job(Problem("coco-784", 1, 784, 1), "random", 0, 20))
    assert (row["suite"], row["dimension"], row["evaluations"], row["status"]) == ("coco-784", 784, 20, "budget")
    assert 0 < row["best_gap"] < row["y0"] - row["f_opt"]


def test_the_shipped_encoder_needs_no_torch_and_says_how_it_was_made():
    script = (
        "import sys, numpy as np\n"
        "sys.modules.update(torch=None, safetensors=None)\n"
        "from eglearn_lab.bench.problems import Problem\n"
        "Problem('coco-784', 1, 784, 1).open(1)(np.zeros(784))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    about = shipped_encoder().about
    assert about["command"] == "eglearn data train-encoder --epochs 20 --seed 0"
    assert about["seed"] == "0"
    assert 200 < float(about["loss"].split()[0]) < 260
    assert SHIPPED.stat().st_size < 700_000


def test_the_shipped_file_is_read_by_safetensors():
    read = pytest.importorskip("safetensors.numpy").load_file(SHIPPED)
    ours = shipped_encoder().weights
    assert set(read) == set(ours)
    for name, value in read.items():
        assert np.array_equal(value.astype(np.float64), ours[name])


def test_save_and_load(tmp_path):
    again = Encoder.load(_saved(tmp_path / "again", shipped_encoder()))
    assert again.about == shipped_encoder().about
    x = np.random.default_rng(0).uniform(-1, 1, (3, 784))
    assert np.array_equal(again(x), shipped_encoder()(x))
    assert again(x[1]) == pytest.approx(again(x)[1], rel=1e-12)


def _saved(path, encoder):
    encoder.save(path)
    return path


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b"\x10" + b[1:], lambda b: b[:-9], lambda b: b"x" * 100])
def test_a_damaged_file_is_refused(tmp_path, damage):
    file = tmp_path / "wrong"
    file.write_bytes(damage(SHIPPED.read_bytes()))
    with pytest.raises(ValueError, match=r"wrong is not an encoder 784-400-10 .*: make one"):
        Encoder.load(file)


def test_images_are_checked(tmp_path):
    import gzip

    file = tmp_path / "train-images-idx3-ubyte.gz"
    head = np.array([2051, 2, 28, 28], dtype=">i4").tobytes()
    pixels = np.arange(2 * 784, dtype=np.uint8)
    file.write_bytes(gzip.compress(head + pixels.tobytes()))
    images, digest = read_images(tmp_path)
    assert np.array_equal(images, pixels.reshape(2, 784))
    assert len(digest) == 64
    none = np.array([2051, 0, 28, 28], dtype=">i4").tobytes()
    wrong = {gzip.compress(head): "bytes where", gzip.compress(none): "28 x 28", b"text": "unpacked", b"": "IDX"}
    for content, message in wrong.items():
        file.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_images(tmp_path)


def test_batches_hold_the_points_of_theorem_1():
    assert [_batches(784, m) for m in (32, 64, 800)] == [25, 13, 4]


@pytest.mark.parametrize("name", ["egl-m64", "sep-cma"])
def test_better_than_random_search(name):
    problem = Problem("coco-784", 8, 784, 1)
    assert solve(name, problem, 1500).record.best < 0.8 * solve("random", problem, 1500).record.best


@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("egl-m800", 1700),
        ("egl-fc-m64", 400),
        ("igl-m64", 400),
        ("egl-ball", 300),
        ("egl-cone", 300),
        ("egl-cone-ball", 300),
    ],
)
def test_the_other_entries_use_their_budget_inside_the_box(name, budget):
    if get_algorithm(name).needs:
        pytest.importorskip("torch")
    objective = solve(name, Problem("coco-784", 1, 784, 1), budget)
    assert objective.evaluations == budget
    assert objective.projected == 0
    assert objective.record.best < objective.y0 - objective.f_opt
