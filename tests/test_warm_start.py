"""known=(X, y): points that are known before the run."""

import numpy as np
import pytest

from eglearn import AutoEGL, Status, minimize
from eglearn.algorithms import ALGORITHMS
from eglearn.cli.job import old_job
from eglearn.store import StoreMismatch

BOX = [(-5, 5)] * 4
X = np.random.default_rng(0).uniform(-5, 5, (12, 4))


def f(x):
    return float(np.sum((x - 1) ** 2))


Y = np.array([f(x) for x in X])


@pytest.mark.parametrize("algorithm", ["auto", "egl", "cma-es"])
def test_known_points_are_told_before_the_first_is_asked_for(algorithm, monkeypatch):
    told = []

    class Noted(ALGORITHMS[algorithm]):
        def tell(self, x, y):
            told.append((self.nit, np.array(x), np.array(y)))
            super().tell(x, y)

        def ask(self, k=None):
            told.append(None)
            return super().ask(k)

    minimize(f, BOX, budget=30, known=(X, Y), algorithm=Noted)
    nit, x, y = told[0]
    assert nit == 0
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, Y)


def test_known_points_do_not_count_but_may_be_the_best():
    result = minimize(f, BOX, budget=1, known=([[1, 1, 1, 1.001]], [1e-9]))
    assert (result.nfev, result.fun) == (1, 1e-9)
    assert result.x.tolist() == [1, 1, 1, 1.001]
    assert result.history.best().y == 1e-9
    assert result.history.known.tolist() == [True, False]
    assert minimize(f, BOX, budget=9, known=([[1] * 4], [0.0]), target=0.0).status is Status.TARGET


def test_a_stored_run_with_known_points_continues_exactly(tmp_path):
    whole = minimize(f, BOX, budget=400, known=(X, Y))
    for stop in (1, 120, 300):  # in the first batch, and after checkpoints
        path, calls = tmp_path / f"{stop}.egl", 0

        def flaky(x, stop=stop):
            nonlocal calls
            calls += 1
            if calls == stop:
                raise KeyboardInterrupt
            return f(x)

        minimize(flaky, BOX, budget=400, known=(X, Y), store=path)
        rest = minimize(flaky, BOX, budget=400, known=(X, Y), store=path, fingerprint="any")
        np.testing.assert_array_equal(rest.history.x, whole.history.x)
        assert rest.fun == whole.fun
        with pytest.raises(StoreMismatch, match="known"):
            minimize(flaky, BOX, budget=400, store=path)
        known = old_job(str(path), "builtins:sum", {"trust": True}).arguments["known"]
        np.testing.assert_array_equal(known[0], X)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (X, r"known = ndarray of 12: it must be a pair \(X, y\), points \(k, 4\) and values \(k,\)"),
        ((X, Y[:3]), r"known = \(x, y\): y has shape \(3,\) for 12 points"),
        ((X[:, :2], Y), r"x has shape \(12, 2\): it must be \(k, 4\)"),
        (([[9, 0, 0, 0]], [1.0]), r"x\[0\] is outside the bounds"),
        (([[0, 0, 0, 0]], ["low"]), r"known = \(x, y\): y must be numbers, NaN for failed evaluations"),
        ({"X": X, "y": Y}, r"known = dict of 2: it must be a pair \(X, y\)"),
        (([[0, 0, 0, 0]], [1.0, 2.0]), r"y has shape \(2,\) for 1 point: it must be \(1,\)"),
    ],
)
def test_wrong_known_points_are_refused(known, words):
    with pytest.raises(ValueError, match=words):
        minimize(f, BOX, budget=9, known=known)


def test_nothing_known_yet_changes_nothing():
    result = minimize(f, BOX, budget=60, known=([], []))
    assert result.history.x.tolist() == minimize(f, BOX, budget=60).history.x.tolist()


def test_failed_ones_are_left_out():
    opt = AutoEGL(BOX, budget=9)
    opt.tell(X[:2], [np.nan, np.inf])
    assert minimize(f, BOX, budget=60, known=(X[:2], [np.nan, np.inf])).fun == minimize(f, BOX, budget=60).fun


THERE = np.array([3.0, -3.0, 2.0, -2.0])
CLUSTER = THERE + 0.05 * np.random.default_rng(1).standard_normal((40, 4))
CLUSTER_Y = np.array([f(x) for x in CLUSTER])


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "igl"])
def test_every_search_begins_at_the_best_known_point(algorithm):
    opt = ALGORITHMS[algorithm](BOX, budget=400)
    opt.tell(CLUSTER, CLUSTER_Y)
    first, best = opt.ask(), CLUSTER[np.argmin(CLUSTER_Y)]
    wide = {"gaussian-continuation": 2.0, "active-subspace": 2.5}.get(algorithm, 1.0)  # these sample far around
    assert np.abs(np.median(first, axis=0) - best).max() < wide
    assert np.abs(best).max() > 2.5  # and not in the middle of the box


@pytest.mark.parametrize("algorithm", ["cma-es", "diagonal-es", "egl"])
def test_a_narrow_cluster_of_known_points_tells_how_far_to_look(algorithm):
    def reach(known):
        opt = ALGORITHMS[algorithm](BOX, budget=400)
        opt.tell(*known)
        return np.abs(opt.ask() - opt.best_x).max()

    assert reach((CLUSTER, CLUSTER_Y)) < 0.7
    assert reach((CLUSTER[:4], CLUSTER_Y[:4])) > 0.7  # n points do not tell


def test_cma_es_alone_learns_from_known_points_at_once():
    """Its first batch has the minimum of a model that was learned from them."""
    gains = []
    for seed in range(5):
        x = np.random.default_rng(seed).uniform(-5, 1, (40, 4))
        y = np.array([f(point) for point in x])
        first = minimize(f, BOX, budget=1, known=(x, y), algorithm="cma-es")
        gains.append(first.fun / y.min())
    assert np.median(gains) < 0.1


def test_known_points_are_worth_more_than_the_best_of_them():
    """A model of a quadratic is learned from all of them, so that the first evaluation gains already."""
    n = 10
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rotation, centre = np.linalg.qr(rng.standard_normal((n, n)))[0], rng.uniform(-2, 2, n)

        def quadratic(x, rotation=rotation, centre=centre):
            return float(np.geomspace(1, 100, n) @ (rotation @ (x - centre)) ** 2)

        x = rng.uniform(-5, 5, (40, n))
        y = np.array([quadratic(point) for point in x])
        for budget in (5, 20, 80):
            warm = minimize(quadratic, [(-5, 5)] * n, budget=budget, known=(x, y)).fun
            cold = minimize(quadratic, [(-5, 5)] * n, x[np.argmin(y)], budget=budget).fun
            assert warm < 0.5 * cold
