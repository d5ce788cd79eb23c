"""The default with many evaluations in flight: every worker has a point, and answers count as they come."""

import heapq
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eglearn import AutoEGL
from eglearn.algorithms import ALGORITHMS
from eglearn.search.trust_region import TrustRegionSettings
from eglearn.serialize import dumps, loads


def sphere(x):
    return float(np.sum((x - 0.7) ** 2 * np.arange(1, len(x) + 1)))


def rippled(x):
    return float(np.sum((x - 1) ** 2 + 10 - 10 * np.cos(2 * np.pi * (x - 1))))


def flown(opt, fun, seed=0, until=None):
    """Keep the width in flight, with durations of very different length; returns all points in the order of asking."""
    rng, time, in_flight, points = np.random.default_rng(seed), 0.0, [], []
    while opt.stop() is None and (until is None or opt.nfev < until):
        first = opt.asked
        free = min(opt.width - len(in_flight), opt.budget - first)
        asked = opt.ask(free) if free > 0 else ()
        assert len(asked) == free  # nobody is idle
        for i, x in enumerate(asked):
            points.append(x)
            heapq.heappush(in_flight, (time + rng.pareto(1.5), first + i, fun(x)))
        time, number, y = heapq.heappop(in_flight)
        opt.answer([number], [y])
    return np.array(points)


@pytest.mark.parametrize("n", [3, 10, 70])
@pytest.mark.parametrize("width", [2, 16, 200])
def test_nobody_is_ever_idle(n, width):
    opt = AutoEGL([(-5, 5)] * n, budget=3000, seed=1, width=width)
    points = flown(opt, rippled)
    assert len(points) == opt.nfev == 3000
    # Some are repeated to tell noise; in many dimensions L-BFGS returns to neighbours of a point that it knows.
    assert len(np.unique(points, axis=0)) > (0.99 if n < 64 else 0.8) * len(points)


@pytest.mark.parametrize("n", [5, 10])
def test_more_in_flight_take_less_time(n):
    rounds = []
    for width in (1, 32):
        opt = AutoEGL([(-5, 5)] * n, budget=20_000, seed=1, width=width)
        steps = 0
        while not opt.best_y < 1e-9:
            x = opt.ask(width)
            opt.tell(x, [sphere(p) for p in x])
            steps += 1
        rounds.append(steps)
    assert rounds[1] < 0.5 * rounds[0]


@settings(max_examples=40 if "EGLEARN_SOAK" in os.environ else 8, deadline=None)
@given(st.integers(1, 40), st.integers(0, 10**6), st.integers(0, 400))
def test_a_state_with_open_points_goes_on_bit_for_bit(width, seed, moment):
    opt = AutoEGL([(-5, 5)] * 4, budget=600, seed=seed, width=width)
    rng, open_points = np.random.default_rng(seed), {}
    copy = None
    while opt.stop() is None:
        if opt.nfev >= moment and copy is None:
            copy = AutoEGL.from_state(loads(dumps(opt.state())))
        first = opt.asked
        if len(open_points) < width:
            x = opt.ask(width - len(open_points))
            if copy is not None:
                np.testing.assert_array_equal(copy.ask(width - len(open_points)), x)
            open_points |= {first + i: p for i, p in enumerate(x)}
        number = int(rng.choice(list(open_points)))
        y = rippled(open_points.pop(number))
        y = y if rng.random() > 0.1 else np.nan
        for one in (opt, copy):
            if one is not None:
                one.answer([number], [y])
    assert copy is None or copy.best_y == opt.best_y


@pytest.mark.parametrize("name", ALGORITHMS)
def test_each_algorithm_takes_answers_as_they_come(name):
    if name == "igl":
        pytest.skip("a network a batch takes too long; its batches are those of egl")
    opt = ALGORITHMS[name]([(-5, 5)] * 4, budget=400, seed=0, width=8)
    in_flight, rng = {}, np.random.default_rng(0)
    while opt.stop() is None:
        first = opt.asked
        if len(in_flight) < 8:
            in_flight |= {first + i: x for i, x in enumerate(opt.ask(8 - len(in_flight)))}
        number = int(rng.choice(list(in_flight)))
        opt.answer([number], [sphere(in_flight.pop(number))])
    assert opt.best_y < 30


@pytest.mark.parametrize("n", [5, 70])
def test_points_that_never_come_back_are_no_problem(n):
    """Also where a search waits for a whole batch, as in many dimensions: the missing ones are given up."""
    opt = AutoEGL([(-5, 5)] * n, budget=15_000, seed=0, width=20)
    lost, in_flight = set(), {}
    while opt.stop() is None and len(lost) < (300 if n < 64 else 1200):
        first = opt.asked
        if len(in_flight) < 20:
            in_flight |= {first + i: x for i, x in enumerate(opt.ask(20 - len(in_flight)))}
        number = next(iter(in_flight))
        x = in_flight.pop(number)
        if number % 10 == 3:
            lost.add(number)
        else:
            opt.answer([number], [sphere(x)])
    assert opt.best_y < (1e-6 if n < 64 else 400)


def bent(z):
    """Oscillations of bbob's ellipsoids: a sum of squares is no quadratic then (Hansen et al. 2009, T_osz)."""
    size = np.log(np.abs(z))
    slow, fast = np.where(z > 0, 10, 5.5), np.where(z > 0, 7.9, 3.1)
    return np.sign(z) * np.exp(size + 0.049 * (np.sin(slow * size) + np.sin(fast * size)))


def evaluations_of_a_descent(settings, seed, n=10, width=8):
    """To 1e-4 on a rotated ellipsoid with condition 1e6."""
    rng = np.random.default_rng(seed)
    Q, weights = np.linalg.qr(rng.standard_normal((n, n)))[0], np.logspace(0, 6, n)
    opt = ALGORITHMS["trust-region"]([(-5, 5)] * n, budget=8000, seed=seed, width=width, settings=settings)
    while not opt.best_y < 1e-4 and opt.stop() is None:
        x = opt.ask(width)
        opt.tell(x, bent((x - 1.3) @ Q) ** 2 @ weights)
    return opt.nfev


def test_fits_have_more_values_than_unknowns_if_many_are_in_flight():
    """With about as many, interpolation turns whatever is not quadratic into large errors of curvature."""
    seeds = range(4)
    default = [evaluations_of_a_descent(TrustRegionSettings(), seed) for seed in seeds]
    as_many = [evaluations_of_a_descent(TrustRegionSettings(values=1.0), seed) for seed in seeds]
    assert np.mean(default) < 0.75 * np.mean(as_many)
