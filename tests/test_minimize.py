"""minimize(): SciPy's habits, bounds, budgets and callbacks."""

import inspect
import itertools
import threading
import time

import numpy as np
import pytest
import scipy.optimize

from eglearn import EGL, IGL, AutoEGL, EGLSettings, Result, Status, minimize


def f(x):
    return float(np.sum((x - 1) ** 2))


BOX = [(-5, 5)] * 3


def test_result_has_the_fields_of_scipy():
    res = minimize(f, BOX, budget=300)
    assert isinstance(res, Result)
    assert res.success is True
    assert (res.nfev, res.status, res.n_failed) == (300, Status.BUDGET, 0)
    assert res.fun == f(res.x) < 1e-2
    assert res["x"] is res.x
    assert res.message == "The budget of 300 evaluations is used."
    assert {"x", "fun", "nfev", "nit", "status", "message", "success"} <= set(res)
    assert "success: True" in str(res)
    with pytest.raises(KeyError):
        res["nonsense"]


@pytest.mark.parametrize(
    "bounds",
    [
        BOX,
        np.array(BOX),
        scipy.optimize.Bounds([-5] * 3, [5] * 3),
        (np.full(3, -5), np.full(3, 5)),
        ([-5, -5, -5], [5, 5, 5]),
    ],
)
def test_all_forms_of_bounds_give_the_same_run(bounds):
    assert minimize(f, bounds, budget=100).fun == minimize(f, BOX, budget=100).fun


def test_starts_at_x0_in_the_users_units():
    seen = []
    minimize(lambda x: seen.append(x) or f(x), [(0, 10), (-1, 1)], [7.5, 0.25], budget=5)
    np.testing.assert_array_equal(seen[0], [7.5, 0.25])


def test_objective_may_write_into_its_argument():
    def rude(x):
        value = f(x)
        x[:] = np.nan
        return value

    assert minimize(rude, BOX, budget=200).fun == minimize(f, BOX, budget=200).fun


def test_vectorized_equals_serial():
    shapes = set()

    def many(x):
        shapes.add(x.ndim)
        return np.sum((x - 1) ** 2, axis=1)

    assert minimize(many, BOX, budget=300, vectorized=True).fun == pytest.approx(minimize(f, BOX, budget=300).fun)
    assert shapes == {2}


@pytest.mark.parametrize("budget", [0, 1, 5, 17])
def test_small_budgets(budget):
    calls = []
    res = minimize(lambda x: calls.append(1) or f(x), BOX, budget=budget)
    assert len(calls) == res.nfev == budget
    if budget == 0:
        assert np.isnan(res.fun)
        assert not res.success
        assert "nothing was evaluated" in res.message
        np.testing.assert_array_equal(res.x, [0, 0, 0])


def test_one_dimension():
    assert minimize(lambda x: (x[0] - 2) ** 2, [(-5, 5)], budget=400).x[0] == pytest.approx(2, abs=1e-7)


@pytest.mark.parametrize("bounds", [[(-np.inf, np.inf)] * 5, [(0, np.inf)] * 5, [(-0.1, 0.3)] * 5])
@pytest.mark.parametrize("algorithm", [AutoEGL, EGL])
def test_the_result_is_a_point_that_was_evaluated(bounds, algorithm):
    values = {}

    def steep(x):
        values[x.tobytes()] = y = 1e9 * np.sum(np.abs(x - 0.123))
        return y

    for seed in range(3):
        res = minimize(steep, bounds, np.full(5, 0.2), scale=1.0, budget=300, seed=seed, algorithm=algorithm)
        assert values[res.x.tobytes()] == res.fun


def test_the_best_point_is_asked_for_again_to_the_last_bit():
    """The default evaluates it again to find noise; rounding on the way to x would look like it."""
    beside = 0
    for seed in range(10):
        opt = AutoEGL([(-np.inf, np.inf)] * 5, np.full(5, 0.2), scale=1.0, budget=100, seed=seed)
        x = opt.ask()
        opt.tell(x, np.sum(np.abs(x - 0.123), axis=1))
        assert opt.x_favorite.tobytes() == opt.best_x.tobytes()
        assert opt.best_x.tobytes() in {point.tobytes() for point in x}
        beside += opt.box.to_x(opt.best_u[None])[0].tobytes() != opt.best_x.tobytes()
    assert beside > 0


def test_what_a_callback_sees():
    seen = []
    res = minimize(f, BOX, budget=100, callback=lambda intermediate_result: seen.append(intermediate_result))
    assert {r.status for r in seen[:-1]} == {Status.RUNNING}
    assert seen[1].message == f"The run is in progress, after {seen[1].nfev} evaluations."
    assert seen[-1].status is Status.BUDGET
    seen.clear()
    res = minimize(
        f, BOX, budget=100, target=1e3, callback=lambda intermediate_result: seen.append(intermediate_result)
    )
    assert [r.status for r in seen] == [Status.TARGET]
    assert res.status is Status.TARGET


def test_callback_by_name_and_by_position():
    results, points = [], []
    minimize(f, BOX, budget=100, callback=lambda intermediate_result: results.append(intermediate_result))
    minimize(f, BOX, budget=100, callback=lambda xk: points.append(xk))
    assert [r.nit for r in results] == list(range(1, len(results) + 1))
    assert results[-1].nfev == 100
    np.testing.assert_array_equal(points[-1], results[-1].x)
    assert all(a.fun >= b.fun for a, b in itertools.pairwise(results))


def test_callback_stops_the_run():
    def stop(intermediate_result):
        if intermediate_result.nit == 3:
            raise StopIteration

    res = minimize(f, BOX, budget=1000, callback=stop)
    assert (res.status, res.nit, res.success) == (Status.CALLBACK, 3, True)


def test_target_and_time():
    res = minimize(f, BOX, budget=10**6, target=1e-3)
    assert res.status is Status.TARGET
    assert res.fun <= 1e-3
    res = minimize(lambda x: time.sleep(0.001) or f(x), BOX, budget=10**6, max_seconds=0.2)
    assert res.status is Status.TIME
    assert res.success


def test_infinite_bounds():
    target = np.array([30.0, -4.0, 0.5])
    res = minimize(
        lambda x: np.sum((x - target) ** 2),
        [(None, None), (-np.inf, 2), (0, None)],
        [0.0, 0.0, 1.0],
        scale=10.0,
        budget=3000,
    )
    np.testing.assert_allclose(res.x, target, atol=1e-6)
    with pytest.raises(ValueError, match="needs x0 and scale"):
        minimize(f, [(None, None)], budget=10)
    with pytest.raises(ValueError, match="needs scale"):
        minimize(f, [(None, None)], [0.0], budget=10)


def test_unbounded_problems_need_no_bounds_argument():
    res = minimize(f, None, [0.0, 0.0], scale=1.0, budget=1000)
    np.testing.assert_allclose(res.x, 1, atol=1e-6)


def test_fixed_coordinates():
    res = minimize(f, [(-5, 5), (3, 3)], budget=300)
    assert res.x[1] == 3
    assert res.fun == pytest.approx(4, abs=1e-4)
    res = minimize(f, [(2, 2), (3, 3)], budget=300)
    assert (res.status, res.nfev, res.fun) == (Status.CONVERGED, 1, 5.0)


def test_other_algorithms_and_settings():
    res = minimize(f, BOX, budget=200, algorithm=IGL)
    assert res.nfev == 200
    res = minimize(f, BOX, budget=200, algorithm="egl", settings=EGLSettings(model="constant"))
    assert res.fun < 1


def test_silent(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = threading.active_count()
    minimize(f, BOX, budget=200)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
    assert threading.active_count() == before


def test_signature_is_documented():
    documented = inspect.getdoc(minimize)
    for name in inspect.signature(minimize).parameters:
        assert f"\n{name}" in documented or f" {name}" in documented


@pytest.mark.parametrize("seed", range(4))
def test_a_flat_start_is_left_for_the_whole_box(seed):
    """One ball is lower than all else, which is flat: 4 of 1,000 points of the box are inside."""
    res = minimize(lambda x: float(np.sum((x - 3) ** 2) > 1), BOX, np.full(3, -3.0), budget=2000, seed=seed)
    assert res.fun == 0


def test_a_start_on_the_lowest_plateau_is_where_to_stay():
    opt = AutoEGL(BOX, np.full(3, -3.0), budget=1000)
    while opt._search.scout.lost or not opt.nfev:
        x = opt.ask()
        opt.tell(x, np.max(np.abs(x + 3), axis=1) > 1.8)
    np.testing.assert_array_equal(opt.best_x, np.full(3, -3.0))
    assert np.max(np.abs(opt.ask()[0] + 3)) <= 1.1  # within the first radius
