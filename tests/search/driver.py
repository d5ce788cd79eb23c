"""Objectives on the cube and the loop that runs a search."""

import numpy as np

from eglearn.serialize import dumps, loads


def run(search, fun, limit=100_000):
    """Feed a search until it ends or has used ``limit`` evaluations; returns its batches."""
    batches = []
    while search.done is None and search.used < limit:
        u = search.propose()
        assert (np.abs(u) <= 1).all()
        search.learn(u, fun(u))
        batches.append(u)
    return batches


def rotation(n, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]


def centre(n):
    return np.linspace(-0.4, 0.5, n)


def ellipsoid(u):
    """Condition 1e6, rotated."""
    n = u.shape[1]
    return np.sum(((u - centre(n)) @ rotation(n)) ** 2 * 10.0 ** np.linspace(0, 6, n), axis=1)


def kinks(u):
    """Absolute values of condition 100, rotated: no gradient at the minimum, nor wherever one of them is zero."""
    n = u.shape[1]
    return np.sum(np.abs((u - centre(n)) @ rotation(n)) * 10.0 ** np.linspace(0, 2, n), axis=1)


def rosenbrock(u):
    """On [-2, 2]^n."""
    x = 2 * u
    return np.sum(100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2, axis=1)


def rastrigin(u):
    """On [-5, 5]^n."""
    x = 5 * (u - centre(u.shape[1]))
    return np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10, axis=1)


def rotated_rastrigin(u):
    c = centre(u.shape[1])
    return rastrigin((u - c) @ rotation(u.shape[1]) + c)


def resumed(search):
    """A copy by way of the stored state, with a copy of the generator."""
    rng = np.random.default_rng()
    rng.bit_generator.state = search.rng.bit_generator.state
    return type(search).from_state(loads(dumps(search.state())), rng=rng)


def continues_exactly(make, fun, moments, more=300):
    """Whether copies made before and after a proposal at each of ``moments`` go on as the original does."""
    for moment in moments:
        original = make()
        run(original, fun, moment)
        copy = resumed(original)
        u = original.propose()
        np.testing.assert_array_equal(copy.propose(), u)
        copy = resumed(copy)
        for search in (original, copy):
            search.learn(u, fun(u))
        rest, same = (run(search, fun, moment + more) for search in (original, copy))
        assert len(rest) == len(same)
        for a, b in zip(rest, same, strict=True):
            np.testing.assert_array_equal(a, b)
    return True
