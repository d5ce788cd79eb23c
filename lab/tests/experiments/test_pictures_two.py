"""Four pictures of the paper at a reduced size: what each claims, not merely that it appears."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eglearn_lab.bench.rows import schema
from eglearn_lab.experiments import continuity, controllable_accuracy, convergence, suite_gallery
from eglearn_lab.experiments.base import run_experiment


def rows(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_files(outcome):
    for file in (*outcome.pictures, *outcome.tables):
        assert 0 < file.stat().st_size < 400_000
    for finding in outcome.findings:
        assert "nan" not in finding.measured


# --- controllable accuracy --------------------------------------------------------------------------------------

RADII = np.geomspace(0.4, 0.004, 4)


def slope(case):
    return controllable_accuracy.slope(RADII, np.array([controllable_accuracy.errors(case, e)[0][0] for e in RADII]))


@pytest.mark.parametrize(
    ("number", "wanted"), [(0, 1), (1, 1), (2, 2)], ids=["constant", "affine first", "affine trapezoid"]
)
def test_slopes_of_closed_forms(number, wanted):
    assert slope(controllable_accuracy.CLOSED[number]) == pytest.approx(wanted, abs=0.2)


def test_slope_two_at_the_centre_of_a_mirrored_design():
    assert slope(controllable_accuracy.MIRRORED) == pytest.approx(2, abs=0.2)


def test_accuracy_gradient_is_that_of_f():
    x, h = controllable_accuracy.CENTRE, 1e-6
    ahead, behind = (controllable_accuracy.f(x + s * h * np.eye(3)) for s in (1, -1))
    np.testing.assert_allclose((ahead - behind) / (2 * h), controllable_accuracy.gradient(x[None])[0], rtol=1e-6)


def test_accuracy_of_networks(tmp_path):
    outcome = run_experiment("controllable-accuracy", tmp_path, size=0.05)
    check_files(outcome)
    least, trapezoid, training, premise = outcome.findings
    assert least.holds  # slope 1, anchored networks included
    assert trapezoid.holds  # slope 2
    assert training.holds  # a floor, and longer training lowers it
    assert premise.holds is not False
    table = rows(outcome.tables[0])
    smallest = min(float(row["eps"]) for row in table)
    error = {
        (row["model"], row["anchor"]): float(row["error"])
        for row in table
        if float(row["eps"]) == smallest and row["loss_order"] == "trapezoid" and row["training_steps"] in ("0", "60")
    }
    for model in ("fc", "spline"):
        assert error[model, "none"] > 1000 * error[model, "affine"]
        assert error[model, "affine"] == pytest.approx(error["affine", "none"], rel=0.1)


# --- continuity -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 0.05])
@pytest.mark.parametrize("x", [-0.3, 0.18, 0.23])
@pytest.mark.parametrize("around", ["point", "candidate"])
def test_exact_integrals_against_a_fine_sum(around, x, p):
    low, high = (x - 0.5, x + 0.5) if around == "point" else (-0.5, 0.5)
    t = low + (high - low) * (np.arange(4000) + 0.5) / 4000
    s = x + p * (2 * (np.arange(500) + 0.5) / 500 - 1)[:, None]
    gain = continuity.f(t) - continuity.f(s)
    summed = np.sum((t - s) * gain) / np.sum((t - s) ** 2)
    exact = getattr(continuity, f"around_{around}")(np.array([x]), p)
    assert exact[0] == pytest.approx(summed, rel=2e-3)


def test_mean_gradient_jumps_and_the_perturbed_one_does_not():
    c, eps = continuity.STEP, continuity.EPS
    jump = c / (eps**2 / 3 + c**2)
    fine, finer = 1e-4, 1e-6
    plain = [continuity.largest_change(continuity.around_candidate, h, 1e-3) for h in (fine, finer)]
    assert plain == pytest.approx([jump, jump], rel=1e-2)
    for p in (0.01, 0.1):
        for g in (continuity.around_candidate, continuity.around_point):
            dithered = [continuity.largest_change(lambda x, g=g, p=p: g(x, p * eps), h, 1e-3) for h in (fine, finer)]
            assert dithered[0] < 0.02 * jump
            assert dithered[1] < 0.02 * dithered[0]


def test_mean_gradient_over_a_ball_around_x_does_not_jump():
    changes = [continuity.largest_change(continuity.around_point, h) for h in (1e-3, 1e-5)]
    assert changes[1] < 0.02 * changes[0]


def test_continuity_of_learned_gradients(tmp_path):
    outcome = run_experiment("continuity", tmp_path, size=0.05)
    check_files(outcome)
    assert [finding.holds for finding in outcome.findings] == [True, True, True]
    assert len(rows(outcome.tables[1])) == len(continuity.SPACINGS)


# --- convergence ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", convergence.PROBLEMS)
def test_convex_problems_are_what_they_say(name):
    problem = convergence.PROBLEMS[name](np.random.default_rng(3))
    rng = np.random.default_rng(4)
    h = 1e-6 * np.eye(convergence.N)
    for a, b in rng.uniform(-1, 1, (20, 2, convergence.N)):
        slope = (problem.f(a + h) - problem.f(a - h)) / 2e-6
        np.testing.assert_allclose(slope, problem.gradient(a), rtol=1e-5, atol=1e-7)
        apart = np.linalg.norm(problem.gradient(a) - problem.gradient(b))
        assert apart <= problem.kappa * np.linalg.norm(a - b) * (1 + 1e-12)
        assert problem.f((a + b)[None] / 2) <= (problem.f(a[None]) + problem.f(b[None])) / 2


def test_bound_at_failed_tests(tmp_path):
    outcome = run_experiment("convergence", tmp_path, size=0.1)
    check_files(outcome)
    proven, printed, premise, converges = outcome.findings
    assert proven.holds
    assert printed.holds
    assert premise.holds is not False
    assert "table 1" in converges.measured
    table = rows(outcome.tables[0])
    by = {v: [r for r in table if r["variant"] == v.name] for v in convergence.VARIANTS}
    assert {row["problem"] for row in by[convergence.PROVEN]} == set(convergence.PROBLEMS)
    assert all(float(row["gradient"]) <= float(row["bound"]) for row in by[convergence.PROVEN])
    above = [row for row in by[convergence.TOO_LONG] if float(row["gradient"]) > float(row["bound"])]
    assert above  # the bound can fail
    assert all(float(row["premise"]) > 1 for row in above)


def test_gradient_of_the_sphere_vanishes_with_these_factors_only():
    problem = convergence.PROBLEMS["sphere"](np.random.default_rng(0))
    ours, theirs = (convergence.descend(problem, v, 0, 2_000) for v in (convergence.PROVEN, convergence.ALGORITHM_3))
    assert ours.gradient[-1] < 1e-6 * ours.gradient[0]
    assert theirs.gradient[-1] > 1e-5 * theirs.gradient[0]


# --- the gallery ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [1, 7])
def test_no_point_is_below_the_optimum(function):
    view = suite_gallery.look(function, 31)
    assert view.plane.min() >= 0
    assert view.diagonal.min() >= 0
    assert view.normalised.min() == 0
    assert view.normalised.max() == 1
    assert np.abs(view.best).max() <= 5


def test_diagonal_is_that_of_the_plane():
    view = suite_gallery.look(1, 31)
    np.testing.assert_allclose(np.diag(view.plane), np.interp(view.grid, view.line, view.diagonal), atol=1e-2)


def test_first_axis_of_the_plane_is_x2():
    view = suite_gallery.look(2, 21)  # varies with x2 a million times more than with x1
    assert np.ptp(view.plane, axis=0).min() > 100 * np.ptp(view.plane, axis=1).max()


SHOWN = (*suite_gallery.EVEN, *suite_gallery.SKEWED)


def test_gallery_without_results(tmp_path):
    outcome = suite_gallery.gallery(tmp_path, print, 21, SHOWN, tmp_path / "none")
    check_files(outcome)
    assert len(outcome.pictures) == 1
    assert len(outcome.tables) == 2
    assert "left out" in outcome.findings[-1].measured


def run(**changes):
    values = dict.fromkeys(schema().names) | {
        "suite": "bbob", "function": 1, "dimension": 40, "instance": 1, "algorithm": "a", "seed": 0, "budget": 100,
        "f_opt": 5.0, "y0": 15.0, "trace_evaluations": [1, 10, 100], "trace_gap": [10.0, 1.0, 0.1],
        "target_evaluations": [-1] * 51,
    }  # fmt: skip
    return values | changes


def test_gallery_with_results_of_several_benchmarks(tmp_path):
    """Two folders share a run; there are other dimensions; one function was not run at all."""
    for name, those in {
        "one": [run(), run(dimension=20)],
        "two": [run(), run(seed=1, trace_gap=[10.0, 3.0, 0.3]), run(algorithm="b", trace_gap=[20.0, np.nan, 5.0])],
    }.items():
        (tmp_path / name).mkdir()
        pq.write_table(pa.Table.from_pylist(those, schema=schema()), tmp_path / name / "results.parquet")
    (tmp_path / "empty").mkdir()
    curves = suite_gallery.read_curves(tmp_path)
    assert curves.dimension == 40  # no results in dimension 2
    assert curves.runs == 3
    assert curves.means[1, "a"][0] == 1
    assert curves.means[1, "a"][-1] == pytest.approx(0.02)
    assert curves.means[1, "b"][-1] == pytest.approx(0.5)
    outcome = suite_gallery.gallery(tmp_path / "out", print, 21, (1, *SHOWN), tmp_path)
    check_files(outcome)
    assert len(outcome.pictures) == 1
    assert "3 runs in dimension 40: a, b" in outcome.findings[-1].measured
    assert list(rows(outcome.tables[2])[0]) == ["evaluations", "f1 a", "f1 b"]


def test_no_curves_from_an_empty_folder(tmp_path):
    assert suite_gallery.read_curves(tmp_path) is None
    assert suite_gallery.read_curves(tmp_path / "absent") is None
