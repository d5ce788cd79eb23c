"""What every search promises: one test for all of the registry."""

from __future__ import annotations

import dataclasses
import math
import random

import numpy as np
import pytest

from eglearn.learning.values import ENTERS
from eglearn.search.active_subspace import ActiveSubspace
from eglearn.search.egl_settings import EGLSettings, IGLSettings
from eglearn.search.registry import SEARCHES
from eglearn.serialize import dumps, loads
from eglearn.state import Stateful

N = 6
CENTRE = np.array([-0.4, -0.2, 0.0, 0.1, 0.3, 0.5])
ROTATION = np.linalg.qr(np.random.default_rng(0).standard_normal((N, N)))[0]
SETTINGS = {
    "igl": IGLSettings(training_steps=20),
    "egl (constant)": EGLSettings(model="constant", epsilon=0.1),
    "egl (planned)": EGLSettings.planned(N, model="constant"),
    "egl (least-change)": EGLSettings(model="least-change"),
    "egl (fc)": EGLSettings(model="fc", training_steps=20),
    "egl (ranks)": EGLSettings(output_map="ranks"),
}
NAMES = [*SEARCHES, *(name for name in SETTINGS if name not in SEARCHES)]
SLOW = ("igl", "egl (fc)")
every_search = pytest.mark.parametrize("name", NAMES)


def begin(name, seed=0, start=None, **rest):
    kind = SEARCHES[name.partition(" ")[0]]
    start = np.full(N, 0.7) if start is None else start
    return kind(np.random.default_rng(seed), start, SETTINGS.get(name), **rest)


def advance(search, fun, evaluations):
    """Run a search; returns its batches."""
    batches, end = [], search.used + evaluations
    while search.done is None and search.used < end:
        u = search.propose()
        search.learn(u, ENTERS * fun(u))
        batches.append(u)
    return batches


def sphere(u):
    return np.sum((u - CENTRE) ** 2, axis=1)


def ellipsoid(u):
    return np.sum(((u - CENTRE) @ ROTATION) ** 2 * 10.0 ** np.linspace(0, 3, N), axis=1)


def rippled(u):
    x = 4 * (u - CENTRE)
    return np.sum(x**2 + 0.5 * (1 - np.cos(2 * np.pi * x)), axis=1)


@every_search
@pytest.mark.parametrize("seed", range(3))
def test_a_state_goes_on_bit_for_bit(name, seed):
    moment = random.Random(seed).randrange(150 if name in SLOW else 600)
    search = begin(name, seed)
    advance(search, rippled, moment)
    between = bool(seed % 2)  # a proposal and its values
    u = search.propose() if between else None
    rng = np.random.default_rng()
    rng.bit_generator.state = search.rng.bit_generator.state
    copy = type(search).from_state(loads(dumps(search.state())), rng=rng)
    for one in (search, copy):
        if between:
            one.learn(u, ENTERS * rippled(u))
    first, second = advance(search, rippled, 200), advance(copy, rippled, 200)
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert search.done == copy.done
    assert search.best_y == copy.best_y or math.isnan(search.best_y)


@every_search
def test_a_state_does_not_change_with_the_search(name):
    search = begin(name)
    advance(search, rippled, 100)
    state = search.state()
    before = dumps(state)
    advance(search, rippled, 100)
    assert dumps(state) == before


@every_search
@pytest.mark.parametrize("exponent", [-900, 40, 900])
def test_values_times_a_power_of_two_give_the_same_points(name, exponent):
    plain, scaled = begin(name), begin(name)
    evaluations = 150 if name in SLOW else 600
    first = advance(plain, rippled, evaluations)
    second = advance(scaled, lambda u: np.ldexp(rippled(u), exponent), evaluations)
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["egl", "egl (constant)", "convergent-egl", "trust-region", "cma-es", "diagonal-es"])
def test_permuted_samples_teach_the_permuted_thing(name):
    order = np.array([3, 0, 5, 1, 4, 2])
    start = np.linspace(-0.5, 0.6, N)
    plain, permuted = begin(name, start=start), begin(name, start=start[order])
    if name == "cma-es":  # no sample outside: what its own samples' mirror images were would tell them apart
        plain.sigma = permuted.sigma = 0.02
    for _ in range(12):
        u = plain.propose()
        permuted.propose()
        y = ENTERS * ellipsoid(u)
        plain.learn(u, y)
        permuted.learn(u[:, order], y)
    for field in ("candidate", "mean", "best_u"):
        if hasattr(plain, field):
            # Sums in another order, and a dozen steps that add up their rounding.
            np.testing.assert_allclose(getattr(plain, field)[order], getattr(permuted, field), rtol=0, atol=1e-6)
    assert permuted.radius == pytest.approx(plain.radius, rel=1e-6)


@every_search
@pytest.mark.parametrize("corner", [-1.0, 1.0])
def test_all_points_are_in_the_cube(name, corner):
    search = begin(name, start=np.full(N, 0.9 * corner))
    for u in advance(search, lambda u: -corner * np.sum(u, axis=1) + 0.01 * rippled(u), 300):
        assert u.shape[1] == N
        assert (np.abs(u) <= 1).all()  # also: none is NaN


@every_search
def test_nothing_but_failures_ends_a_search_or_leaves_it_alive(name):
    search = begin(name)
    for u in advance(search, lambda u: np.full(len(u), np.nan), 200):
        assert (np.abs(u) <= 1).all()
    assert math.isnan(search.best_y)


@every_search
def test_a_batch_that_fails_in_the_middle_is_survived(name):
    search = begin(name)
    advance(search, rippled, 60)
    best = search.best_y
    for _ in range(2):
        if search.done is None:
            u = search.propose()
            search.learn(u, np.full(len(u), np.nan))
    advance(search, rippled, 100)
    assert search.best_y <= best


@every_search
def test_some_failures_do_not_stop_the_descent(name):
    def fun(u):
        return np.where(np.sin(1e4 * u.sum(axis=1)) > 0.6, np.nan, sphere(u))

    search = begin(name, start=np.full(N, 0.6), value=ENTERS * sphere(np.full((1, N), 0.6))[0])
    advance(search, fun, 400 if name in SLOW else 2000)
    if not isinstance(search, ActiveSubspace):
        assert search.best_y < 0.3 * ENTERS * sphere(np.full((1, N), 0.6))[0]


@every_search
@pytest.mark.parametrize("seed", range(2))
def test_points_in_pieces_and_answers_in_any_order_are_the_same_search(name, seed):
    whole, pieces = begin(name, seed), begin(name, seed)
    chance = random.Random(seed)
    for _ in range(6):
        if whole.done is not None:
            break
        u = whole.propose()
        parts = []
        while (left := len(u) - sum(map(len, parts))) > 0:
            parts.append(pieces.propose(chance.randint(1, left)))
        np.testing.assert_array_equal(np.vstack(parts), u)
        y, first = ENTERS * rippled(u), whole.asked - len(u)
        whole.learn(u, y)
        for row in chance.sample(range(len(u)), len(u)):
            pieces.learn(u[row : row + 1], y[row : row + 1], np.array([first + row]))
    assert dumps(pieces.state()) == dumps(whole.state())


@every_search
@pytest.mark.parametrize("level", [0.0, 1.7e308, -1.7e308, 5e-324])
def test_constant_values_are_no_error(name, level):
    search = begin(name)
    for u in advance(search, lambda u: np.full(len(u), level), 150 if name in SLOW else 500):
        assert (np.abs(u) <= 1).all()


@every_search
def test_values_at_the_limits_of_floats_are_no_error(name):
    search = begin(name)
    top = np.finfo(float).max
    fun = lambda u: np.where(np.sin(50 * u.sum(axis=1)) > 0, top, -top) * (0.5 + 0.5 * np.abs(u[:, 0]))  # noqa: E731
    for u in advance(search, fun, 150 if name in SLOW else 500):
        assert (np.abs(u) <= 1).all()


@every_search
@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_dimensions(name, n):
    search = begin(name, start=np.full(n, 0.7))
    advance(search, lambda u: np.sum((u - 0.2) ** 2, axis=1), 150 if name in SLOW else 400)
    if not isinstance(search, ActiveSubspace):
        assert search.best_y < 0.1 * ENTERS * n * 0.25


@every_search
def test_no_global_random_state_is_used(name):
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    advance(begin(name), rippled, 100)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


@every_search
def test_points_from_elsewhere_are_heard(name):
    search = begin(name)
    advance(search, rippled, 50)
    search.hear(
        CENTRE + np.array([[0.0], [0.01], [0.02]]), ENTERS * rippled(CENTRE + np.array([[0.0], [0.01], [0.02]]))
    )
    assert search.best_y == 0
    np.testing.assert_array_equal(search.best_u, CENTRE)
    advance(search, rippled, 100)
    assert search.best_y == 0


# What is left of the first gap after 2,500 evaluations (networks: 400), at most. Alone, a local search ends in a
# ripple, a coordinate search stops where coordinates interact, and a probe does not descend at all.
LEFT = {
    "egl": (1e-6, 1e-3, 1e-3),
    "egl (constant)": (1e-6, 1e-1, 1e-1),
    "egl (planned)": (1e-4, 1e-3, 1e-1),
    "egl (least-change)": (1e-6, 1e-3, 0.3),
    "egl (ranks)": (1e-3, 1e-2, 1e-2),
    "egl (fc)": (0.3, 0.5, 0.5),
    "igl": (0.5, 0.7, 0.7),
    "convergent-egl": (1e-3, 0.3, 0.5),
    "gaussian-continuation": (1e-12, 1e-9, 1e-9),
    "trust-region": (1e-12, 1e-9, 0.5),
    "subspace-trust-region": (1e-12, 1e-9, 0.5),
    "l-bfgs": (1e-12, 1e-9, 0.5),
    "quasi-newton": (1e-12, 1e-9, 0.5),
    "cma-es": (1e-12, 1e-9, 0.3),
    "diagonal-es": (1e-6, 1e-2, 0.3),
    "coordinate-search": (1e-5, 1.0, 1e-5),
    "active-subspace": (1.0, 1.0, 1.0),
}


@every_search
@pytest.mark.parametrize("problem", [sphere, ellipsoid, rippled], ids=lambda f: f.__name__)
def test_progress(name, problem):
    left = LEFT[name][[sphere, ellipsoid, rippled].index(problem)]
    start = np.full(N, 0.7)
    ratios = []
    for seed in range(3):
        first = ENTERS * problem(start[None])[0]
        budget = 400 if name in SLOW else 2500
        search = begin(name, seed, start, value=first, budget=budget)
        advance(search, problem, budget)
        ratios.append(search.best_y / first)
    assert sorted(ratios)[1] <= left


@every_search
def test_settings_are_those_of_the_search(name):
    search = begin(name)
    assert isinstance(search.settings, search.settings_class)
    for f in dataclasses.fields(search.settings):
        assert f.metadata["meaning"]
        assert f.metadata["source"]
    for named in (search.scale_setting, search.batch_setting):
        assert not named or named in {f.name for f in dataclasses.fields(search.settings)}


def test_no_two_kinds_have_one_name():
    def below(kind):
        return {kind}.union(*(below(sub) for sub in kind.__subclasses__()))

    names = [kind.__name__ for kind in below(Stateful) if kind.__module__.startswith("eglearn")]
    assert len(names) == len(set(names))
