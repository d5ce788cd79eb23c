"""Infinite sides: the search goes on in a wider window when its best point is at the edge of the last one."""

import numpy as np
import pytest

from eglearn import EGL, AutoEGL, ConvergentEGL, EGLSettings, minimize
from eglearn.serialize import dumps, loads


def bowl_at(place):
    return lambda x: float(np.sum((x - place) ** 2))


def run(opt, fun, limit=10**9):
    """Evaluates until ``limit``; returns the points."""
    asked = []
    while not opt.stop() and opt.nfev < limit:
        x = opt.ask()
        asked.append(x)
        opt.tell(x, [fun(point) for point in x])
    return asked


def open_search(n=5, budget=2000, kind=AutoEGL, **changes):
    return kind([(None, None)] * n, [0.0] * n, scale=1.0, budget=budget, **changes)


@pytest.mark.parametrize("n", [1, 4, 70])
@pytest.mark.parametrize("distance", [0.5, 30.0, 1e4])
def test_minima_far_beyond_the_scale_are_found(n, distance):
    x0 = np.zeros(n)
    result = minimize(bowl_at(distance), [(None, None)] * n, x0, scale=1.0, budget=1000 + 40 * n)
    assert result.fun < 1e-12 * distance**2


@pytest.mark.parametrize("side", [1e3, 1e10])
@pytest.mark.parametrize("distance", [0.5, 30.0])
def test_a_scale_opens_a_window_in_a_box_that_is_far_too_wide(side, distance):
    result = minimize(bowl_at(distance), [(-side, side)] * 6, np.zeros(6), scale=1.0, budget=400)
    assert result.fun < 1e-12 * distance**2


def test_one_sided_bounds_are_kept():
    opt = AutoEGL([(0, None), (None, 3), (-1, 1)], [1.0, 2.0, 0.0], scale=0.5, budget=1500)
    x = np.vstack(run(opt, bowl_at(np.array([200.0, -50.0, 4.0]))))
    assert (x[:, 0] >= 0).all()
    assert (x[:, 1] <= 3).all()
    assert (np.abs(x[:, 2]) <= 1).all()
    np.testing.assert_allclose(opt.best_x, [200, -50, 1], atol=1e-5)


def test_a_bound_is_no_reason_to_widen():
    opt = AutoEGL([(0, None)] * 3, [1.0] * 3, scale=10.0, budget=600)
    run(opt, bowl_at(-5.0))
    assert (opt.best_x == 0).all()
    assert opt.box.widenings == 0


@pytest.mark.parametrize("kind", [EGL, ConvergentEGL])
def test_other_algorithms_leave_their_first_window_too(kind):
    settings = EGLSettings(model="constant") if kind is EGL else None
    opt = open_search(2, 1500, kind, settings=settings)
    run(opt, bowl_at(12.0))
    assert opt.box.widenings > 0
    assert np.abs(opt.best_x - 12).max() < 3


def test_resume_is_exact_before_and_after_widening():
    fun, whole = bowl_at(100.0), open_search(3, 260)
    points = run(whole, fun)
    assert whole.box.widenings > 1
    for moment in range(0, 200, 31):
        opt = open_search(3, 260)
        before = run(opt, fun, moment)
        copy = AutoEGL.from_state(loads(dumps(opt.state())))
        np.testing.assert_array_equal(np.vstack(before + run(copy, fun)), np.vstack(points))
        np.testing.assert_array_equal(copy.best_x, whole.best_x)


@pytest.mark.parametrize("budget", range(5, 60, 6))
def test_a_run_that_is_extended_is_the_whole_one_wherever_it_was_cut(budget):
    """Up to what AutoEGL plans by its budget, which EGL does not."""
    fun, settings = bowl_at(40.0), EGLSettings(model="constant")
    whole = np.vstack(run(open_search(3, 200, EGL, settings=settings), fun))
    opt = open_search(3, budget, EGL, settings=settings)
    first = run(opt, fun)
    opt.extend(200)
    np.testing.assert_array_equal(np.vstack(first + run(opt, fun)), whole)


def test_an_extended_auto_run_knows_its_budget():
    opt = open_search(3, 200)
    run(opt, bowl_at(40.0))
    assert opt.box.widenings
    opt.extend(300)
    run(opt, bowl_at(40.0))
    assert opt.nfev == 300
    assert opt._search.budget == 300 - (opt.nfev - opt._search.used)


def test_a_better_point_beyond_the_window_is_where_the_search_goes_on():
    fun, far = bowl_at(1000.0), np.full(3, 999.0)
    opt = open_search(3, 600)
    x = opt.ask()
    opt.tell(far, fun(far))
    np.testing.assert_array_equal(opt.ask(), x)  # it answers none of them
    opt.tell(x, [fun(point) for point in x])
    np.testing.assert_array_equal(opt.best_x, far)
    np.testing.assert_array_equal(opt.box.to_x(opt.box.start[None])[0], far)
    run(opt, fun)
    assert opt.best_y < 1e-12


@pytest.mark.parametrize("told_as", [np.float64, np.float32])
def test_points_on_the_edge_are_told_one_by_one(told_as):
    """Also rounded, which may lead beyond it."""
    fun, opt = bowl_at(1e6), AutoEGL([(None, None)] * 3, [0.1, 0.2, 0.3], scale=0.7, budget=80)
    edges = told = 0
    while not opt.stop() and told < 80:
        for x in opt.ask()[::-1]:
            edges += opt.box.confines(x)
            opt.tell(told_as(x).astype(float), fun(x))
            told += 1
    assert edges > 1
    assert opt.nfev == 80  # each was taken for the one that was asked for


def test_the_start_is_evaluated_to_the_last_bit():
    for bounds, scale in (((-5, 5), None), ((0, None), 1.0), ((None, None), 3.0)):
        opt = AutoEGL([bounds] * 3, [0.1, 0.2, 0.7], scale=scale, budget=10)
        assert opt.ask()[0].tolist() == [0.1, 0.2, 0.7]


def test_a_function_without_a_minimum_ends_with_the_budget():
    opt = open_search(2, 1000)
    run(opt, lambda x: float(np.sum(x)) if np.all(np.abs(x) < 1e300) else np.nan)
    assert opt.nfev == 1000
    assert opt.best_y < -1e20
