"""The default with many evaluations in flight: every worker has a point, and answers count as they come."""

import heapq
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eglearn import AutoEGL
from eglearn.algorithms import ALGORITHMS
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
