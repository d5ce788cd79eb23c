"""What every model and every algorithm must do, whoever adds it."""

import functools

import numpy as np
import pytest
from tests.functions import FUNCTIONS, ripples, sphere

from eglearn import EGL, IGL, ConvergentEGL, ConvergentSettings, EGLSettings, IGLSettings
from eglearn.algorithms import ALGORITHMS
from eglearn.learning.models.settings import MODELS, NETWORKS
from eglearn.learning.output import OUTPUT_MAPS

N, BUDGET, SEEDS = 5, 1200, range(3)

# Small networks and few training steps: what is tested is that they learn, not how well the large ones do.
SMALL = {"hidden": (32, 32), "width": 32, "splines": 8, "training_steps": 10}


def variants():
    """All models and output maps of EGL, the anchored forms, and every algorithm by its name."""
    for model in MODELS:
        yield f"egl-{model}", functools.partial(EGL, settings=EGLSettings(model=model, **SMALL))
    for output_map in OUTPUT_MAPS:
        yield f"egl-{output_map}-values", functools.partial(EGL, settings=EGLSettings(output_map=output_map))
    for model in NETWORKS:
        settings = EGLSettings(model=model, anchor="affine", **SMALL)
        yield f"egl-{model}-anchored", functools.partial(EGL, settings=settings)
        yield f"igl-{model}", functools.partial(IGL, settings=IGLSettings(model=model, **SMALL))
    settings = ConvergentSettings(model="least-change")
    yield "convergent-egl-least-change", functools.partial(ConvergentEGL, settings=settings)
    for name, kind in ALGORITHMS.items():
        if kind not in (EGL, IGL):
            yield name, kind


VARIANTS = dict(variants())
PROBES = ["active-subspace"]
"""Searches that find something out for others, and end."""


def all_but(*names):
    return pytest.mark.parametrize("variant", [v for v in VARIANTS if v not in names])


def test_all_algorithms_of_the_registry_are_covered():
    made = {make([(-5, 5)] * 2, budget=1).name for make in VARIANTS.values()}
    assert made == set(ALGORITHMS)


def run(make, fun, budget=BUDGET, seed=0, bounds=((-5, 5),) * N, x0=None):
    opt = make(bounds, x0, budget=budget, seed=seed)
    asked = []
    while not opt.stop():
        x = opt.ask()
        asked.append(x)
        opt.tell(x, fun(x))
    return opt, asked


@functools.cache
def random_gap(name):
    gaps = []
    for seed in SEEDS:
        x = np.random.default_rng(seed).uniform(-5, 5, (BUDGET, N))
        gaps.append(FUNCTIONS[name](x).min())
    return np.median(gaps)


def hard_enough(variant, name):
    """Networks take long, and show on the sphere alone that they are connected rightly."""
    return name == "sphere" or not any(model in variant for model in NETWORKS)


def in_reach(variant, name):
    """Ripples end quasi-Newton steps, and a probe does not descend."""
    return variant not in PROBES and (variant, name) != ("quasi-newton", "ripples")


@pytest.mark.parametrize(
    ("variant", "name"), [(v, f) for v in VARIANTS for f in FUNCTIONS if in_reach(v, f) and hard_enough(v, f)]
)
def test_ten_times_better_than_random_search(variant, name):
    gaps = [run(VARIANTS[variant], FUNCTIONS[name], seed=seed)[0].best_y for seed in SEEDS]
    assert np.median(gaps) <= random_gap(name) / 10


@pytest.mark.parametrize("variant", ["auto", "egl-affine"])
def test_values_times_a_power_of_two_change_nothing(variant):
    """To the last bit, also through the shell; searches alone are in tests/search/test_contract.py."""
    make = VARIANTS[variant]
    _, plain = run(make, ripples, budget=300)
    for power in (-600, -3, 40, 600):
        _, scaled = run(make, lambda x, p=power: ripples(x) * 2.0**p, budget=300)
        assert all(np.array_equal(a, b) for a, b in zip(plain, scaled, strict=True))


@all_but("l-bfgs")  # which differentiates over distances that the rounding of values asks for
def test_an_offset_of_the_values_changes_only_rounding(variant):
    make = VARIANTS[variant]
    _, plain = run(make, sphere, budget=200)
    _, moved = run(make, lambda x: sphere(x) + 1000.0, budget=200)
    for a, b in zip(plain[:4], moved[:4], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)


@pytest.mark.parametrize("variant", VARIANTS)
def test_shifting_function_and_box_together_changes_only_rounding(variant):
    make = VARIANTS[variant]
    by = 100.0
    _, plain = run(make, sphere, budget=200)
    _, moved = run(make, lambda x: sphere(x - by), budget=200, bounds=((-5 + by, 5 + by),) * N)
    for a, b in zip(plain[:4], moved[:4], strict=True):
        np.testing.assert_allclose(a, b - by, atol=1e-6)  # each step multiplies the rounding of the last


@pytest.mark.parametrize("variant", ["egl-constant", "egl-affine", "egl-least-change", "egl-ranks-values"])
def test_step_follows_a_permutation_of_the_coordinates(variant):
    """The batches differ (the generator knows no coordinates), so the same points are told to both as foreign ones."""
    order = np.array([2, 0, 4, 1, 3])
    points = np.random.default_rng(0).uniform(-1, 1, (60, N))
    steps = []
    for columns in (np.arange(N), order):
        opt = VARIANTS[variant](((-5, 5),) * N, budget=100)
        opt.tell(points[:, columns], ripples(points))
        x = opt.ask()[:1]  # of the batch only the candidate succeeds: nothing but the foreign points is learned from
        opt.tell(x, ripples(np.zeros((1, N))))
        opt.tell(opt.ask(), np.full(len(opt.ask()), np.nan))
        steps.append(opt.ask()[0])
    assert np.linalg.norm(steps[0]) > 0.1
    np.testing.assert_allclose(steps[1], steps[0][order], atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_same_seed_same_points_other_seed_other_points(variant):
    make = VARIANTS[variant]
    runs = [np.concatenate(run(make, sphere, budget=120, seed=seed)[1]) for seed in (4, 4, 5)]
    np.testing.assert_array_equal(runs[0], runs[1])
    draws_nothing = variant in ("coordinate-search", "quasi-newton")
    assert np.array_equal(runs[0], runs[2]) == draws_nothing


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("level", [1e300, 1e-300, -1e300, 0.0])
def test_constant_functions_do_no_harm(variant, level):
    opt, asked = run(VARIANTS[variant], lambda x: np.full(len(x), level), budget=200)
    assert opt.best_y == level
    assert np.isfinite(np.concatenate(asked)).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_huge_and_tied_values_do_no_harm(variant):
    opt, _ = run(VARIANTS[variant], lambda x: np.floor(sphere(x)) * 1e306, budget=400)
    assert opt.best_y <= 8e306
    opt, _ = run(VARIANTS[variant], lambda x: np.where(x[:, 0] > 0, 1e308, -1e308), budget=200)
    assert opt.best_y == -1e308
