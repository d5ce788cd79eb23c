"""What holds for both evolution strategies."""

import numpy as np
import pytest
from tests.search.driver import run

from eglearn.search.base import Reason
from eglearn.search.cma_es import CMAES
from eglearn.search.diagonal_es import DiagonalES

pytestmark = pytest.mark.parametrize("kind", [CMAES, DiagonalES])


def begin(kind, n):
    return kind(np.random.default_rng(0), np.full(n, -0.3))


def bowl(u):
    return np.sum((u - 0.2) ** 2, axis=1)


def test_it_ends_by_itself(kind):
    p = begin(kind, 4)
    run(p, bowl)
    assert p.done in (Reason.FLAT, Reason.CONVERGED)
    assert p.best_y < 1e-18
    noise = np.random.default_rng(3)
    p = begin(kind, 4)
    run(p, lambda u: noise.standard_normal(len(u)))
    assert p.done is not None


def test_minimum_on_a_face(kind):
    aim = np.array([1.4, 0.3, -0.2, -1.5])
    p = begin(kind, 4)
    run(p, lambda u: np.sum((u - aim) ** 2, axis=1))
    np.testing.assert_allclose(p.best_u, np.clip(aim, -1, 1), atol=1e-5)


@pytest.mark.parametrize("good", [1, 2, 3, 9])
def test_failures_do_not_drive_the_step_size(kind, good):
    """With values that tell nothing it does not grow, nor fall fast, however many fail."""
    rng = np.random.default_rng(2)
    p = begin(kind, 10)
    for _ in range(60):
        u = p.propose()
        p.learn(u, np.where(rng.permutation(len(u)) < good, rng.random(len(u)), np.nan))
    assert 0.05 < p.radius / 0.4 < 5


def test_it_converges_though_most_samples_fail(kind):
    coin = np.random.default_rng(1)

    def often(u):
        return np.where(coin.random(len(u)) < 0.6, np.nan, bowl(u))

    p = begin(kind, 4)
    run(p, often)
    assert p.best_y < 1e-8


@pytest.mark.parametrize("width", [1, 20])
def test_points_that_never_come_back_are_given_up(kind, width):
    """Also those that a batch waits for: the model's point, and the two that tell the step size."""
    p = kind(np.random.default_rng(0), np.full(5, -0.3), width=width)
    rng, in_flight, answered = np.random.default_rng(1), {}, 0
    while answered < 1500:
        first, u = p.asked, p.propose(width - len(in_flight))
        in_flight |= dict(enumerate(u, start=first))
        index = next(iter(in_flight))  # always one: the search never stops to propose
        u = in_flight.pop(index)[None]
        if rng.random() >= 0.3:
            p.learn(u, bowl(u), np.array([index]))
            answered += 1
    assert p.best_y < 5e-2
    assert len(p._current().u) < 4 * max(2 * p.enough, width)  # what never comes is not kept


def test_an_answer_to_a_point_that_was_given_up_counts_if_it_is_the_best(kind):
    p, late = begin(kind, 4), 2
    points = {}
    while p.asked < 400:
        first, u = p.asked, p.propose(4)
        points |= dict(enumerate(u, start=first))
        indices = np.array([i for i in range(first, first + len(u)) if i != late])
        u = np.array([points[i] for i in indices])
        p.learn(u, 1 + bowl(u), indices)
    used, iterations = p.used, p.iterations
    p.learn(points[late][None], np.array([0.5]), np.array([late]))
    assert (p.best_y, p.best_u.tolist()) == (0.5, points[late].tolist())
    assert (p.used, p.iterations) == (used, iterations)
