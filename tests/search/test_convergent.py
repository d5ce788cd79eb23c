"""Algorithm 2 and its theorem on convex functions, where everything can be computed."""

import numpy as np
import pytest

from eglearn import ConvergentEGL, Settings

N = 4


def quadratic(condition, seed):
    """A convex quadratic inside [-1, 1]^n with a known gradient and Lipschitz constant kappa_f."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.standard_normal((N, N)))
    h = (q * np.geomspace(1, condition, N)) @ q.T
    centre = rng.uniform(-0.2, 0.2, N)
    return (lambda x: np.einsum("ki,ij,kj->k", x - centre, h, x - centre) / 2), (lambda x: h @ (x - centre)), condition


class Recorder(ConvergentEGL):
    """Looks over the shoulder: at each failed test, the point where the step began."""

    def _learn(self, u, y, foreign_u, foreign_y):
        d = self._descent
        before = (d.epsilon, d.alpha)
        start = getattr(self, "last", None)
        self.last = u[0].copy()
        super()._learn(u, y, foreign_u, foreign_y)
        self.log = getattr(self, "log", [])
        if start is not None and (d.epsilon, d.alpha) != before:
            self.log.append((start, *before))


def descend(cls, fun, kappa, budget=8_000, constant=2.0, seed=0):
    # kappa_g of the constant model on a ball design is at most about kappa_f here; half keeps a margin.
    settings = Settings.for_model("constant", epsilon=0.1, exploration="ball", ridge=0.0, m=4 * N)
    opt = cls(
        [(-1, 1)] * N,
        [0.6] * N,
        budget=budget,
        seed=seed,
        alpha=0.5 / kappa,
        constant=constant,
        settings=settings,
        gamma_alpha=0.99,
        gamma_epsilon=0.8,
    )
    while not opt.stop():
        x = opt.ask()
        opt.tell(x, fun(x))
    return opt


@pytest.mark.parametrize("condition", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_each_failed_test_is_at_a_small_gradient(condition, seed):
    fun, gradient, kappa = quadratic(condition, seed)
    opt = descend(Recorder, fun, kappa, seed=seed)
    assert len(opt.log) > 10
    for start, epsilon, alpha in opt.log:
        assert np.linalg.norm(gradient(start)) <= 5 * epsilon / alpha


@pytest.mark.parametrize("condition", [1.0, 3.0, 10.0])
def test_the_gradient_falls_a_thousandfold(condition):
    fun, gradient, kappa = quadratic(condition, 0)
    opt = descend(ConvergentEGL, fun, kappa)
    assert np.linalg.norm(gradient(opt.x_favorite)) <= 1e-3 * np.linalg.norm(gradient(np.full(N, 0.6)))


def test_alpha_and_epsilon_fall_together_at_a_failed_test_only():
    values = iter([5.0, 4.0, 4.5, 4.4999])
    opt = ConvergentEGL([(-1, 1)] * 2, budget=10**4, alpha=0.1, settings=Settings.for_model("constant", epsilon=0.01))
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
    opt = ConvergentEGL([(-1, 1)] * 2, budget=10**4, alpha=0.1)
    kept = []
    for value in (1.0, 2.0, 3.0):
        x = opt.ask()
        kept.append(x[0])
        opt.tell(x, value + x[:, 0])
    assert kept[2][0] < kept[1][0] < kept[0][0]


def test_constant_is_a_field():
    fun, _, kappa = quadratic(3.0, 1)
    loose, strict = (descend(ConvergentEGL, fun, kappa, budget=2000, constant=c).progress() for c in (0.01, 50.0))
    assert strict["epsilon"] < loose["epsilon"]


def test_run_ends_when_epsilon_is_below_its_bar():
    opt = ConvergentEGL([(-1, 1)] * 2, budget=10**5, epsilon_bar=1e-3)
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
def test_wrong_rules_are_named(name):
    with pytest.raises(ValueError, match=f"{name} = -1"):
        ConvergentEGL([(-1, 1)], budget=1, **{name: -1})
