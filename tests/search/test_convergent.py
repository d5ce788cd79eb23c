"""Algorithm 2 and its theorem on convex functions, where everything can be computed."""

import numpy as np
import pytest

from eglearn import ConvergentEGL, ConvergentSettings

N = 4


def quadratic(condition, seed):
    """A convex quadratic inside [-1, 1]^n with a known gradient and Lipschitz constant kappa_f."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.standard_normal((N, N)))
    h = (q * np.geomspace(1, condition, N)) @ q.T
    centre = rng.uniform(-0.2, 0.2, N)
    return (lambda x: np.einsum("ki,ij,kj->k", x - centre, h, x - centre) / 2), (lambda x: h @ (x - centre)), condition


def descend(fun, kappa, budget=8_000, constant=2.0, seed=0):
    """The run, and of each failed test the point where the step began, epsilon and alpha."""
    # kappa_g of the constant model on a ball design is at most about kappa_f here; half keeps a margin.
    settings = ConvergentSettings(
        ridge=0.0, m=4 * N, alpha=0.5 / kappa, constant=constant, gamma_alpha=0.99, gamma_epsilon=0.8
    )
    opt = ConvergentEGL([(-1, 1)] * N, [0.6] * N, budget=budget, seed=seed, settings=settings)
    failed, start = [], None
    while not opt.stop():
        x, before = opt.ask(), opt.progress()
        opt.tell(x, fun(x))
        if start is not None and opt.progress()["epsilon"] < before["epsilon"]:
            failed.append((start, before["epsilon"], before["alpha"]))
        start = x[0]
    return opt, failed


@pytest.mark.parametrize("condition", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_each_failed_test_is_at_a_small_gradient(condition, seed):
    fun, gradient, kappa = quadratic(condition, seed)
    _, failed = descend(fun, kappa, seed=seed)
    assert len(failed) > 10
    for start, epsilon, alpha in failed:
        assert np.linalg.norm(gradient(start)) <= 5 * epsilon / alpha


@pytest.mark.parametrize("condition", [1.0, 3.0, 10.0])
def test_the_gradient_falls_a_thousandfold(condition):
    fun, gradient, kappa = quadratic(condition, 0)
    opt, _ = descend(fun, kappa)
    assert np.linalg.norm(gradient(opt.x_favorite)) <= 1e-3 * np.linalg.norm(gradient(np.full(N, 0.6)))


def test_alpha_and_epsilon_fall_together_at_a_failed_test_only():
    values = iter([5.0, 4.0, 4.5, 4.4999])
    opt = ConvergentEGL([(-1, 1)] * 2, budget=10**4, settings=ConvergentSettings(alpha=0.1, epsilon=0.01))
    seen = []
    for value in values:
        x = opt.ask()
        y = np.full(len(x), 10.0)
        y[0] = value
        opt.tell(x, y)
        seen.append((opt.progress()["alpha"], opt.progress()["epsilon"]))
    e = 0.01 * np.sqrt(2)
    assert seen[1] == seen[0] == (0.1, e)
    assert seen[2] == pytest.approx((0.1 * 0.95, e * 0.95 * 0.8))
    assert seen[3] == pytest.approx((0.1 * 0.95**2, e * (0.95 * 0.8) ** 2))  # better, but not by constant eps^2 / alpha


def test_a_failing_step_is_kept():
    """As printed: the candidate moves on even if the test failed."""
    opt = ConvergentEGL([(-1, 1)] * 2, budget=10**4, settings=ConvergentSettings(alpha=0.1))
    kept = []
    for value in (1.0, 2.0, 3.0):
        x = opt.ask()
        kept.append(x[0])
        opt.tell(x, value + x[:, 0])
    assert kept[2][0] < kept[1][0] < kept[0][0]


def test_constant_is_a_field():
    fun, _, kappa = quadratic(3.0, 1)
    loose, strict = (descend(fun, kappa, budget=2000, constant=c)[0].progress() for c in (0.01, 50.0))
    assert strict["epsilon"] < loose["epsilon"]


def test_run_ends_when_epsilon_is_below_its_bar():
    opt = ConvergentEGL([(-1, 1)] * 2, budget=10**5, settings=ConvergentSettings(epsilon_bar=1e-3))
    while not opt.stop():
        x = opt.ask()
        opt.tell(x, np.sum(x**2, axis=1))
    assert opt.stop().name == "CONVERGED"
    assert opt.nfev < 10**5


def test_failed_candidate_goes_back_to_the_best():
    opt = ConvergentEGL([(-1, 1)] * 2, budget=10**4)
    x = opt.ask()
    y = np.sum((x - 0.1) ** 2, axis=1)
    opt.tell(x, y)
    x = opt.ask()
    opt.tell(x, np.r_[np.nan, np.ones(len(x) - 1)])
    np.testing.assert_allclose(opt.ask()[0], opt.best_x)


@pytest.mark.parametrize("name", ["alpha", "gamma_alpha", "gamma_epsilon", "constant", "epsilon_bar"])
def test_wrong_settings_are_named(name):
    with pytest.raises(ValueError, match=rf"ConvergentSettings\.{name} = -1: allowed is"):
        ConvergentSettings(**{name: -1})
