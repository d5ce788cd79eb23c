"""The framework of the experiments, and the claims behind the first three pictures at a reduced size."""

import csv
import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from eglearn_lab.experiments import base
from eglearn_lab.experiments.base import (
    Experiment,
    Finding,
    Outcome,
    experiments,
    run_experiment,
    write_csv,
    write_page,
)

MINE = ("mean-gradient-1d", "mean-gradient-2d", "spline-vs-fc")
drawn = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("cocoex", "torch", "matplotlib")),
    reason="needs eglearn[nn,bench]",
)


def table(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def complete(outcome, folder):
    """Every picture is a PNG and every table has rows, all in the folder."""
    for picture in outcome.pictures:
        assert picture.parent == folder
        assert picture.read_bytes()[:4] == b"\x89PNG"
    assert all(table(path) for path in outcome.tables)
    assert all(f.claim and f.measured and "nan" not in f.measured for f in outcome.findings)
    assert all(f.holds is None or isinstance(f.holds, bool) for f in outcome.findings)


# --- the framework ---------------------------------------------------------------------------------------------


def test_modules_import_without_the_optional_packages():
    code = (
        "import sys\n"
        "for name in ('torch', 'matplotlib', 'cocoex', 'cyclopts', 'rich', 'pyarrow', 'cma'):\n"
        "    sys.modules[name] = None\n"
        "from eglearn_lab.experiments.base import experiments\n"
        "print(*(entry.name for entry in experiments()))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert set(MINE) <= set(done.stdout.split()), done.stderr


def test_entries_are_described():
    entries = experiments()
    assert [entry.name for entry in entries] == sorted(entry.name for entry in entries)
    for entry in entries:
        assert 0 < entry.minutes <= 5
        assert "\n" not in entry.summary
        assert not entry.summary.endswith(".")


def test_wrong_arguments(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"there is no experiment 'nonsense': choose one of .*spline-vs-fc"):
        run_experiment("nonsense", tmp_path)
    for size in (0.0, 2.0, float("nan")):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            run_experiment(MINE[0], tmp_path, size=size)
    monkeypatch.setitem(sys.modules, "cocoex", None)
    with pytest.raises(ImportError, match=r"'spline-vs-fc' needs cocoex: pip install 'eglearn-lab\[all\]'"):
        run_experiment("spline-vs-fc", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_csv(tmp_path):
    path = write_csv(
        tmp_path / "a" / "b.csv", {"x": np.array([1.0, np.nan, np.inf]), "n": [1, 2, 3], "s": ["a,", "", "c"]}
    )
    assert path.read_text() == 'x,n,s\n1,1,"a,"\n,2,\ninf,3,c\n'
    assert write_csv(path, {"x": []}).read_text() == "x\n"
    with pytest.raises(ValueError, match="equal length"):
        write_csv(path, {"x": [1], "y": [1, 2]})


def test_page(tmp_path):
    (tmp_path / "p.png").write_bytes(b"picture")
    findings = tuple(Finding(f"claim {k} |x|.", f"measured {k}.", holds) for k, holds in enumerate((True, False, None)))
    entry = Experiment("a-b", "What it shows", 0.5, lambda *_: None, ())
    docs = tmp_path / "docs"
    page = write_page(Outcome(findings, (tmp_path / "p.png",), ()), entry, docs)
    text = page.read_text()
    assert page == docs / "a-b.md"
    assert (docs / "p.png").read_bytes() == b"picture"
    for words in ("![What it shows](p.png)", "claim 1 |x|.", "measured 2.", "**It holds.**", "**It does not hold.**",
                  "**Not settled.**", "eglearn experiment a-b --out DIR", "30 seconds"):  # fmt: skip
        assert words in text
    assert "numbers behind" not in text
    again = Outcome((), (docs / "p.png",), ())  # written into the docs folder itself: nothing to copy
    assert write_page(again, entry, docs).exists()


def test_progress_is_passed_on(tmp_path, monkeypatch):
    def function(out, progress, size):
        progress(size, str(out.name))
        return Outcome((), (), ())

    monkeypatch.setitem(base.EXPERIMENTS, "fake", Experiment("fake", "fake", 1, function, ()))
    seen = []
    run_experiment("fake", tmp_path / "here", size=0.5, progress=lambda *a: seen.append(a))
    run_experiment("fake", tmp_path / "here")
    assert seen == [(0.5, "here")]


# --- fig. 1 ----------------------------------------------------------------------------------------------------


def test_settle():
    from eglearn_lab.experiments.mean_gradient_1d import settle

    assert settle(np.array([1.0, 1.0, -1.0, 0.0, 2.0])).tolist() == [0, 0, 3, 3, 3]


@pytest.mark.skipif(importlib.util.find_spec("cocoex") is None, reason="needs eglearn-lab[bench]")
def test_exact_mean_gradient():
    from eglearn_lab.experiments.sections import Section, sign_changes

    grid = np.linspace(-1, 1, 201)
    parabola = Section("parabola")
    inside = np.abs(grid) < 0.75
    slope = np.gradient(parabola(grid), grid)
    # For a parabola the mean-gradient over a whole interval is the gradient at its centre.
    assert np.abs(parabola.mean_gradient(grid, 0.2) - slope)[inside].max() < 1e-3
    # And not where the interval is cut off by the box.
    assert np.abs(parabola.mean_gradient(grid, 0.2) - slope)[[0, -1]].min() > 0.1
    peaks = Section("multiple minima")
    counts = [sign_changes(peaks.mean_gradient(grid, epsilon)) for epsilon in (0.01, 0.1, 0.5)]
    assert counts[0] > counts[1] > counts[2] == 1


@drawn
def test_parametric_gradient_is_erratic_where_the_mean_gradient_is_smooth():
    from eglearn_lab.experiments.mean_gradient_1d import learn, rms, settle, variation
    from eglearn_lab.experiments.sections import one_thread, sign_changes

    with one_thread():
        curves = learn("parabola", 0.1, np.random.default_rng(0))
    assert curves.error < 0.01  # a good fit, and yet:
    assert sign_changes(curves.parametric) > 20
    assert variation(curves.parametric) > 20 * variation(curves.learned[0.1])
    assert sign_changes(curves.learned[0.1]) <= 3
    assert rms(curves.learned[0.1] - curves.exact[0.1]) < 0.2 * rms(curves.exact[0.1])
    assert curves.gap(settle(curves.learned[0.5])) < 0.01 < curves.gap(settle(curves.parametric))


@drawn
def test_first_picture(tmp_path):
    outcome = run_experiment("mean-gradient-1d", tmp_path, size=0.005)
    complete(outcome, tmp_path)
    rows = table(tmp_path / "mean-gradient-1d-counts.csv")
    exact = {row["function"]: int(row["sign_changes"]) for row in rows if row["gradient"] == "exact"}
    assert exact == {"parabola": 1, "piecewise linear": 1, "multiple minima": 1, "step": 1}  # eps = 0.5, the last


# --- fig. 2 ----------------------------------------------------------------------------------------------------


@drawn
def test_a_small_radius_needs_a_small_step_at_a_sharp_minimum():
    from eglearn_lab.bench.problems import paper_problem
    from eglearn_lab.experiments.descents import Landscape, follow, learn_field
    from eglearn_lab.experiments.mean_gradient_2d import median
    from eglearn_lab.experiments.sections import one_thread

    f = Landscape(paper_problem(194, 2))
    assert f(f.best[None])[0] == 0
    starts = np.array([[-0.8, 0.8], [0.8, 0.8], [0.0, 0.8]])
    with one_thread():
        sharp, blunt = (learn_field(f, epsilon, 0.12, np.random.default_rng(0)) for epsilon in (0.05, 0.2))
    restless, calm, reduced = (
        follow(f, sharp, starts, 0.1, 60),
        follow(f, blunt, starts, 0.1, 60),
        follow(f, sharp, starts, 0.02, 60),
    )
    assert median(restless, "last_steps") > 2 * median(calm, "last_steps")
    assert median(restless, "last_steps") > 2 * median(reduced, "last_steps")
    assert median(restless, "jitter") > median(calm, "jitter")


@drawn
def test_egl_is_smoother_than_igl(tmp_path):
    outcome = run_experiment("mean-gradient-2d", tmp_path, size=0.02)
    complete(outcome, tmp_path)
    rows = table(tmp_path / "mean-gradient-2d-summary.csv")
    for panel in "cd":
        jitter = {r["path"]: float(r["jitter"]) for r in rows if r["panel"] == panel}
        assert jitter["EGL"] < jitter["IGL"]


def test_measures_of_a_path():
    from eglearn_lab.experiments.descents import Descent

    zigzag = Descent(np.array([[0, 0], [1, 0], [0, 0], [1, 0]], float), np.zeros(4), np.ones((3, 2)))
    line = Descent(np.array([[0, 0], [1, 0], [2, 0]], float), np.zeros(3), np.ones((2, 2)))
    still = Descent(np.zeros((3, 2)), np.zeros(3), np.zeros((2, 2)))
    assert zigzag.efficiency == pytest.approx(1 / 3)
    assert zigzag.jitter == pytest.approx(np.sqrt(8 / 3))
    assert (line.efficiency, line.jitter, line.last_steps) == (1, 0, 1)
    assert (still.efficiency, still.jitter, still.steepest) == (0, 0, 0)


# --- app. C ----------------------------------------------------------------------------------------------------


@drawn
def test_splines_fit_the_harmonic_function_better():
    from eglearn_lab.experiments.sections import one_thread
    from eglearn_lab.experiments.spline_vs_fc import HARMONIC, PLAIN, network, target, train

    goal = target(HARMONIC, 4096)
    with one_thread():
        errors = {}
        for kind in ("linear", PLAIN):
            rng = np.random.default_rng(0)
            errors[kind] = train(goal, network(kind, 2, rng), 400, 256, rng).losses[-1]
    assert errors["linear"] < errors[PLAIN] / 3
    assert errors[PLAIN] > 0.1 * np.var(goal.f)


@drawn
def test_splines_add_the_weights_that_the_paper_counts():
    from eglearn_lab.experiments.spline_vs_fc import PLAIN, network

    rng = np.random.default_rng(0)
    linear, plain = (sum(p.numel() for p in network(kind, 2, rng).parameters()) for kind in ("linear", PLAIN))
    assert linear - plain == 8 * 21 + 8 * 64 == 680


@drawn
def test_spline_pictures(tmp_path):
    outcome = run_experiment("spline-vs-fc", tmp_path, size=0.001)
    complete(outcome, tmp_path)
    assert len(outcome.pictures) == 2
    assert {row["network"] for row in table(outcome.tables[0])} == {"linear", "cubic-c0", "cubic-c2", "plain"}
    assert outcome.findings[-1].holds is None
