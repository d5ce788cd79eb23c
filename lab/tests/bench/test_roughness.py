"""The share that is explained tells ripples, steps and noise from smooth functions, at any scale."""

import numpy as np
import pytest

from eglearn_lab.bench.roughness import explained_share, left_out_errors, roughness

N = 10
RADII = (0.3, 0.1, 0.03, 0.01)
CENTRE = np.linspace(-0.9, -0.5, N)  # far from where samples are taken: there is a slope


def shares(f, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for radius in RADII:
        z = rng.standard_normal((3 * N, N))
        z = np.concatenate([z, -z])
        found.append(explained_share(z, f(radius * z)))
    return found


def bowl(u):
    return np.sum((5 * (u - CENTRE)) ** 2, axis=1)


def ripples(u):
    return bowl(u) + 10 * np.sum(1 - np.cos(10 * np.pi * (u - CENTRE)), axis=1)


def valley(u):
    return np.sum(100 * (u[:, 1:] - u[:, :-1] ** 2) ** 2 + (1 - u[:, :-1]) ** 2, axis=1)


@pytest.mark.parametrize("smooth", [bowl, lambda u: u @ np.arange(N), lambda u: np.exp(bowl(u) / 100)])
def test_smooth_functions_are_not_rough(smooth):
    assert roughness(shares(smooth)) < 0.1
    assert min(shares(smooth)) > 0.8


@pytest.mark.parametrize(
    "rough",
    [
        ripples,
        lambda u: np.floor(bowl(u) / 20),
        lambda u: bowl(u) + 5 * np.random.default_rng(1).standard_normal(len(u)),
    ],
    ids=["ripples", "steps", "noise"],
)
def test_ripples_steps_and_noise_are_rough(rough):
    assert np.median([roughness(shares(rough, seed)) for seed in range(5)]) > 0.3


def test_a_curved_valley_is_explained_better_the_narrower():
    assert roughness(shares(valley)) < 0.1


@pytest.mark.parametrize("exponent", [-1000, 900])
def test_scale_does_not_matter(exponent):
    z = np.random.default_rng(0).standard_normal((60, N))
    y = ripples(0.1 * z)
    assert explained_share(z, np.ldexp(y, exponent)) == pytest.approx(explained_share(z, y), abs=1e-6)


def test_failures_ties_and_few_samples():
    z = np.random.default_rng(0).standard_normal((60, N))
    assert explained_share(z, np.full(60, np.nan)) == 0
    assert explained_share(z, np.full(60, 1.7e308)) == 0
    assert explained_share(z[:2], np.array([1.0, 2.0])) == 0
    assert explained_share(z, np.where(z[:, 0] > 0.5, np.nan, z[:, 0])) > 0.5


def test_left_out_errors_are_those_of_refits():
    rng = np.random.default_rng(2)
    z = rng.standard_normal((12, N))
    v = z @ rng.standard_normal(N) + 0.5 * z**2 @ np.linspace(0.1, 3, N)
    kernel = 1 + z @ z.T + (z @ z.T) ** 2
    damped = kernel + 0.05 * np.trace(kernel) / len(z) * np.eye(len(z))
    centred, wrong = v - v.mean(), []
    for i in range(len(z)):
        rest = np.arange(len(z)) != i
        wrong.append(centred[i] - damped[i, rest] @ np.linalg.solve(damped[np.ix_(rest, rest)], centred[rest]))
    expected = np.sum(np.square(wrong)) / np.sum(centred**2)
    assert left_out_errors(kernel, v[:, None])[0] == pytest.approx(expected)
