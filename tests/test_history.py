"""``result.history`` and ``eglearn.load``: tables, the best point, pictures, and how much memory they take."""

import math
import re
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

from eglearn import load, minimize
from eglearn.evaluation import Outcome
from eglearn.history import RunHistory
from eglearn.store import StoreError

mpl.use("Agg")
BOX = [(-5, 5)] * 3


def f(x):
    if x[0] > 4:
        raise ValueError("no mesh")
    return float(np.sum((x - 1) ** 2))


@pytest.fixture
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_a_history_has_every_evaluation_in_order():
    seen = []
    result = minimize(lambda x: seen.append((x.copy(), float(x @ x))) or seen[-1][1], BOX, budget=200)
    history = result.history
    np.testing.assert_array_equal(history.x, [x for x, _ in seen])
    np.testing.assert_array_equal(history.y, [y for _, y in seen])
    assert history.best().y == result.fun
    np.testing.assert_array_equal(history.best().x, result.x)
    assert (history.best().number, len(history)) == (int(np.argmin(history.y)), 200)
    assert (np.diff(history.elapsed) >= 0).all()
    assert 0 <= history.elapsed[0] < 60
    assert "history" not in result.keys()  # noqa: SIM118 - what is stored and printed as plain data


def test_failures_are_there_with_their_reason():
    history = minimize(f, BOX, [3.9, 0, 0], budget=300).history
    assert 0 < history.failed.sum() < 300
    assert np.isnan(history.y[history.failed]).all()
    assert "no mesh" in history.error[int(np.argmax(history.failed))]


def test_as_a_table():
    history = minimize(f, BOX, budget=50).history
    table = history.to_pandas()
    assert table.shape == (50, 10)
    assert list(table.columns[-3:]) == ["x0", "x1", "x2"]
    row = table.loc[table.y.idxmin()]
    np.testing.assert_array_equal(row[["x0", "x1", "x2"]].astype(float), history.best().x)
    assert list(history.to_pandas(["a", "b", "c"]).columns[-3:]) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="it must be a list of 3 different names, one for each"):
        history.to_pandas(["a", "b"])
    for wrong in ("abc", ["a", "b", "a"]):
        with pytest.raises(ValueError, match="it must be a list of 3 different names"):
            history.to_pandas(wrong)
    with pytest.raises(ValueError, match="names has 'y', which is another column of the table"):
        history.to_pandas(["a", "y", "b"])


def test_pictures_of_points_need_points(tmp_path, close_figures):
    minimize(f, BOX, budget=20, store=tmp_path / "run.egl", keep_x="none")
    history = load(tmp_path / "run.egl")
    history.plot()
    history.plot("timeline")
    for kind in ("parallel", "slices", "pairs"):
        with pytest.raises(ValueError, match=f"kind = '{kind}': no point was kept, so only 'convergence' and"):
            history.plot(kind)


def test_coordinates_of_a_picture_may_be_named(close_figures):
    history = minimize(f, BOX, budget=50).history
    axes = history.plot("slices", variables=["b", 0], names=["a", "b", "c"])
    assert [each.get_xlabel() for each in axes.flat] == ["b", "a"]


def test_what_cannot_be_loaded():
    result = minimize(f, BOX, budget=5)
    with pytest.raises(TypeError, match=r"a result has its history already, result\.history"):
        load(result)
    with pytest.raises(TypeError, match="path = None: it must be the path of a file"):
        load(None)


def test_a_stored_run_has_the_same_history(tmp_path):
    known = np.zeros((2, 3)), np.array([3.0, math.nan])
    result = minimize(f, BOX, budget=150, known=known, store=tmp_path / "run.egl")
    loaded = load(tmp_path / "run.egl")
    for name in ("x", "y", "index", "known", "failed", "seconds"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(result.history, name))
    np.testing.assert_allclose(loaded.time[2:], result.history.time[2:], atol=0.5)
    with pytest.raises(StoreError, match="there is no file"):
        load(tmp_path / "other.egl")


def test_a_run_is_read_while_it_runs(tmp_path):
    lengths = []
    minimize(
        f,
        BOX,
        budget=60,
        store=tmp_path / "run.egl",
        callback=lambda x: lengths.append(len(load(tmp_path / "run.egl"))),
    )
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1] == 60


def test_a_continued_run_has_all_of_its_history(tmp_path):
    minimize(f, BOX, budget=100, store=tmp_path / "run.egl")
    whole = minimize(f, BOX, budget=250, store=tmp_path / "run.egl").history
    assert len(whole) == 250
    assert len(whole.begun) == 2
    np.testing.assert_array_equal(whole.y, load(tmp_path / "run.egl").y)


def test_a_pause_does_not_count():
    history = RunHistory(np.zeros(1), np.ones(1))
    for at in (11.0, 12.0, 1013.0, 1014.0):
        history.evaluated(0, np.zeros(1), Outcome(1.0, None, 1, 0.5), at)
    history.begun = [10.0, 1012.0]
    assert history.elapsed.tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(("n", "numbers"), [(3, 300), (3, 2), (10, 3000)])
@pytest.mark.parametrize("falling", [False, True])
def test_points_never_take_more_than_their_room(n, numbers, falling):
    history = RunHistory(np.zeros(n), np.ones(n), numbers)
    rng = np.random.default_rng(0)
    for i in range(3000):
        y = -float(i) if falling else float(rng.standard_normal())
        history.evaluated(i, np.full(n, i), Outcome(y))
        assert history.points.size <= max(numbers, n)
    assert len(history.y) == 3000
    best = history.best()
    assert best.y == history.y.min()
    assert best.x[0] == best.number == np.argmin(history.y)
    if numbers > 1000:
        assert history.points.size > numbers / 4  # and they use it
        assert (np.diff(history.kept) <= 64).all()  # evenly


def test_a_history_can_be_left_out():
    assert minimize(f, BOX, budget=20, keep_history=False).history is None
    with pytest.raises(ValueError, match="keep_history = 1: it must be True or False"):
        minimize(f, BOX, budget=20, keep_history=1)


@pytest.mark.parametrize("kind", ["convergence", "parallel", "slices", "pairs", "timeline"])
@pytest.mark.parametrize("n", [1, 7])
def test_every_picture_can_be_drawn(kind, n, tmp_path, close_figures):
    history = minimize(f, [(-5, 5)] * n, np.full(n, 3.5), budget=120).history
    axes = np.atleast_1d(history.plot(kind)).flat[0]
    axes.figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000


def test_pictures_fit_a_dark_style(close_figures):
    """What is low is told from the ground, and nothing is drawn in black on it."""
    from matplotlib import colors, pyplot

    history = minimize(f, BOX, budget=60).history
    for style, word in (("default", "darker"), ("dark_background", "brighter")):
        with pyplot.style.context(style):
            parallel, slices = history.plot("parallel"), np.ravel(history.plot("slices"))[0]
        assert parallel.get_title().endswith(f"points, {word} is lower")
        ground = np.array(colors.to_rgb(parallel.get_facecolor()))
        last = slices.collections[0]
        last.update_scalarmappable()
        drawn = [line.get_color() for line in parallel.lines] + [last.get_facecolors()[-1]]
        assert all(np.abs(np.array(colors.to_rgb(colour)) - ground).max() > 0.2 for colour in drawn)


def test_the_line_of_convergence_is_the_lowest_value(close_figures):
    history = minimize(f, BOX, budget=100, known=([[1, 1, 1.1]], [f(np.array([1, 1, 1.1]))])).history
    _, line, *_ = history.plot().lines  # then failures
    number, lowest = line.get_data()  # where the line falls, and its end
    assert (number[0], number[-1]) == (0, 100)
    there = np.searchsorted(number, np.arange(101), side="right") - 1
    np.testing.assert_array_equal(lowest[there], np.fmin.accumulate(history.y))


def test_pictures_of_many_evaluations_are_bounded(close_figures):
    """A million of them are drawn in seconds: no picture has more than 5,000 points, the best among them."""
    history = RunHistory(np.zeros(3), np.ones(3))
    rng = np.random.default_rng(0)
    x, y = rng.random((20_000, 3)), 1.0 + rng.random(20_000)
    y[12_345] = 0.5
    for i in range(20_000):
        error = "no mesh" if i % 3 == 1 else None
        history.evaluated(i, x[i], Outcome(float(y[i]), error, 1, 1e-3, f"worker {i % 3}"), 1e9 + 1e-3 * i)
    for kind in ("convergence", "parallel", "slices", "pairs", "timeline"):
        for axes in np.ravel(history.plot(kind)):
            drawn = [len(line.get_xdata()) for line in axes.lines] + [len(c.get_paths()) for c in axes.collections]
            offsets = [len(c.get_offsets()) for c in axes.collections]
            assert max(drawn + offsets, default=0) <= 5_001
            stars = [line for line in axes.lines if line.get_marker() == "*"]
            assert all(line.get_xdata()[0] in x[12_345] for line in stars)
    assert history.plot().lines[1].get_ydata()[-1] == 0.5
    bars = np.ravel(history.plot("timeline"))[1].collections
    assert bars[1].get_label() == "failed"
    assert min(len(bar.get_paths()) for bar in bars) > 1_000


def test_pictures_of_values_of_any_size(close_figures):
    for values in ([1e300, 1e299, 1e300], [-3.0, -5.0, -4.0], [0.0, 0.0], [5.0, 0.0]):
        history = RunHistory(np.array([-np.inf]), np.array([np.inf]))
        for i, y in enumerate(values):
            history.evaluated(i, np.array([float(i)]), Outcome(y))
        for kind in ("convergence", "slices", "parallel"):
            np.atleast_1d(history.plot(kind)).flat[0].figure.canvas.draw()


def test_wrong_pictures_are_refused():
    history = minimize(f, BOX, budget=20).history
    with pytest.raises(ValueError, match="kind = 'pie': it must be one of 'convergence'"):
        history.plot("pie")
    for wrong in ([7], [-1], 1, "x0", ["x7"], [0.5], []):
        said = rf"variables = {re.escape(repr(wrong))}: it must be a list of names, or of numbers from 0 to 2"
        with pytest.raises(ValueError, match=said):
            history.plot("slices", variables=wrong)
    with pytest.raises(ValueError, match="no evaluation has succeeded"):
        RunHistory(np.zeros(1), np.ones(1)).plot()


def test_pandas_and_matplotlib_are_loaded_only_when_they_are_used():
    code = (
        "import sys, eglearn\n"
        "h = eglearn.minimize(lambda x: x @ x, [(-1, 1)] * 3, budget=50, progress=False).history\n"
        "h.best(), h.x, repr(h)\n"
        "print([m for m in ('pandas', 'matplotlib', 'rich', 'IPython', 'scipy.optimize') if m in sys.modules])\n"
        "sys.modules['pandas'] = sys.modules['matplotlib'] = None\n"
        "for call in (h.to_pandas, h.plot):\n"
        "    try: call()\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[]",
        "to_pandas() needs pandas: pip install 'eglearn[pandas]'",
        "plot() needs matplotlib: pip install 'eglearn[plot]'",
    ]
