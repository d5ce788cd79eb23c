"""What holds for each problem of both suites, so that a new problem is tested by being listed."""

import sys
from collections import Counter
from functools import cache

import numpy as np
import pytest

from eglearn_lab.suites import more_wild, wild
from eglearn_lab.suites.base import Problem, uniform_box

WILD = wild.problems()
ALL = [p for variant in more_wild.VARIANTS for p in more_wild.problems(variant)] + WILD

each = pytest.mark.parametrize("problem", ALL, ids=lambda p: p.name)


@cache
def probes(name):
    """Points to look at: half all over the box, half near the start."""
    problem = next(p for p in ALL if p.name == name)
    rng = np.random.default_rng(1)
    lower, upper = problem.box()
    points = rng.uniform(lower, upper, (8, problem.n))
    points[::2] = problem.x0 + 0.05 * (points[::2] - problem.x0)
    return points


def values(objective, points):
    """Values at points, NaN for a failure."""
    found = []
    for x in points:
        try:
            found.append(objective(x))
        except RuntimeError:
            found.append(np.nan)
    return np.array(found)


@each
def test_a_seed_repeats_the_values_and_points_are_left_alone(problem):
    points = probes(problem.name)
    before = points.copy()
    first = values(problem.make(seed=3), points)
    np.testing.assert_array_equal(first, values(problem.make(seed=3), points))
    np.testing.assert_array_equal(points, before)
    assert all(isinstance(problem.make()(problem.x0), float) for _ in range(2))


@each
def test_the_start_is_inside_and_finite_and_the_value_depends_on_x(problem):
    lower, upper = problem.box()
    assert ((lower <= problem.x0) & (problem.x0 <= upper)).all()
    assert np.isfinite(problem.make()(problem.x0))
    seen = values(problem.exact(), probes(problem.name))
    assert len(set(seen[np.isfinite(seen)])) >= 2
    assert problem.fails or np.isfinite(seen).all() or problem.family.startswith("more-wild")


@each
def test_only_noisy_problems_differ_from_call_to_call(problem):
    objective = problem.make(seed=1)
    draws = {objective(problem.x0) for _ in range(4)}
    other_seed = problem.make(seed=2)(problem.x0)
    if problem.noisy:
        assert len(draws) == 4
        assert other_seed not in draws
        assert problem.exact()(problem.x0) == problem.exact()(problem.x0)
    else:
        assert draws == {other_seed}


@pytest.mark.parametrize("problem", [p for p in ALL if p.best_known is not None], ids=lambda p: p.name)
def test_no_probe_is_below_the_best_known_value(problem):
    seen = values(problem.exact(), [problem.x0, *probes(problem.name)])
    assert np.nanmin(seen) >= problem.best_known


@each
def test_the_work_of_one_evaluation_is_bounded(problem):
    # Vectorised means: Python instructions do not grow with points, coordinates or residuals, only with the steps that
    # must follow each other. The bound counts instructions, as times depend on the machine.
    objective = problem.make()
    objective(problem.x0)  # what is computed once
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        objective(problem.x0)
    finally:
        sys.settrace(before)
    assert 0 < count <= 2500 + 700 * (problem.sequential - 1)


@each
def test_the_documentation_names_the_problem(problem):
    assert len(problem.doc.split()) >= 8
    assert problem.name
    assert problem.family


def test_failures_and_penalties_are_where_they_are_promised():
    """Failures and penalties exist where they are promised, and nowhere else."""
    for problem in WILD:
        rng = np.random.default_rng(2)
        lower, upper = problem.box()
        points = rng.uniform(lower, upper, (20, problem.n))
        if problem.penalty:  # narrow things: the corners and clashes
            points = np.concatenate([points, [lower, upper, np.zeros(problem.n).clip(lower, upper)]])
        seen = values(problem.exact(), points)
        assert np.isnan(seen).any() == problem.fails, problem.name
        assert (seen[~np.isnan(seen)] >= 1e6).any() == problem.penalty, problem.name


def largest_jump(problem):
    """Follow the largest change on a line down to a billionth of its length; its share of the range of values."""
    f = problem.exact()
    end = np.random.default_rng(4).uniform(problem.lower, problem.upper)

    def at(t):
        return f(problem.x0 + t * (end - problem.x0))

    grid = np.linspace(0.0, 1.0, 30)
    line = np.array([at(t) for t in grid])
    k = int(np.abs(np.diff(line)).argmax())
    (low, high), (left, right) = grid[k : k + 2], line[k : k + 2]
    while high - low > 1e-9:
        middle = (low + high) / 2
        value = at(middle)
        if abs(value - left) > abs(right - value):
            high, right = middle, value
        else:
            low, left = middle, value
    return abs(right - left) / np.ptp(line)


# Where a simulation fails there is no value to compare, and a simulation of 100 steps may be as good as discontinuous.
LINES = [p for p in WILD if not p.fails and (p.steps or p.sequential < 100)]


@pytest.mark.parametrize("problem", LINES, ids=lambda p: p.name)
def test_steps_are_where_they_are_promised(problem):
    jump = largest_jump(problem)
    assert jump > 1e-5 if problem.steps else jump < 1e-5


def test_the_suite_is_as_wide_as_promised():
    assert len(WILD) >= 28
    assert len({p.family for p in WILD}) >= 10
    assert min(p.n for p in WILD) == 5
    assert max(p.n for p in WILD) == 1000
    assert min(p.budget for p in WILD) == 50
    assert max(p.budget for p in WILD) == 50_000
    words = ("noisy", "resampled", "minibatch", "gusts")
    assert all(p.noisy == any(word in p.name for word in words) for p in WILD)
    assert sum(p.noisy for p in WILD) >= 8
    names = [p.name for p in ALL]
    assert len(set(names)) == len(names)


def test_half_of_each_family_is_set_aside_by_the_stated_rule():
    families = Counter(p.family for p in WILD)
    for family, count in families.items():
        aside = [p.set_aside for p in WILD if p.family == family]
        assert aside == [False, True] * (count // 2)


def test_functions_with_even_number_are_set_aside_of_the_more_wild_problems():
    assert all(p.set_aside == (int(p.name.split("-")[1]) % 2 == 0) for p in more_wild.problems("smooth"))
    assert sum(p.set_aside for p in more_wild.problems("smooth")) == 20


def test_an_infinite_side_gets_a_window():
    problem = Problem(
        lower=np.array([-np.inf, 0.0]),
        upper=np.array([np.inf, 1.0]),
        x0=np.array([5.0, 0.5]),
        budget=10,
        build=lambda rng: lambda x: 0.0,
        scale=np.array([2.0, 1.0]),
    )
    np.testing.assert_array_equal(problem.box(), [[-35.0, 0.0], [45.0, 1.0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x0": np.array([2.0, 0.0])}, "outside the box"),
        ({"budget": 0}, "budget is 0"),
        ({"upper": np.array([1.0, np.inf])}, "scale must be positive and finite"),
        ({"lower": np.zeros(3)}, "lower has shape"),
    ],
)
def test_a_wrong_problem_is_refused(change, message):
    lower, upper = uniform_box(2, -1, 1)
    good = {"lower": lower, "upper": upper, "x0": np.zeros(2), "budget": 1, "build": lambda rng: lambda x: 0.0}
    Problem(**good)
    with pytest.raises(ValueError, match=message):
        Problem(**(good | change))
