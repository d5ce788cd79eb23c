"""What is particular to single problems of the suite: published solutions, planted ones, laws of nature."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import linprog

from eglearn_lab.suites import wild
from eglearn_lab.suites.families.control import _acrobot, _cart_pole, _linear
from eglearn_lab.suites.families.kinetics import HARES, LYNXES
from eglearn_lab.suites.families.rugged import _optimum
from eglearn_lab.suites.families.structures import Truss
from eglearn_lab.suites.families.tuning import HALF, _stumps, friedman

PROBLEMS = {p.name: p for p in wild.problems()}


@pytest.mark.parametrize(
    ("name", "solution"),
    [
        ("truss-10", [33.5, 1.62, 22.9, 14.2, 1.62, 1.62, 7.97, 22.9, 22.0, 1.62]),
        ("truss-25", [0.1, 0.3, 3.4, 0.1, 2.1, 1.0, 0.5, 3.4]),
        ("pinene", np.log10([5.9256e-5, 2.9632e-5, 2.0450e-5, 2.7473e-4, 4.0073e-5])),
    ],
)
def test_published_solutions_have_the_published_values(name, solution):
    assert PROBLEMS[name].exact()(np.array(solution)) == pytest.approx(PROBLEMS[name].best_known, rel=2e-5)


def test_lennard_jones_icosahedron():
    golden = (1 + np.sqrt(5)) / 2
    corners = [(0, a, b * golden) for a in (-1, 1) for b in (-1, 1)]
    shell = np.array([np.roll(c, k) for c in corners for k in range(3)])
    problem = PROBLEMS["lennard-jones-13"]
    sizes = np.linspace(0.5, 0.6, 2001)
    lowest = min(problem.exact()(np.vstack([[0, 0, 0], s * shell]).ravel()) for s in sizes)
    assert lowest == pytest.approx(problem.best_known, abs=1e-5)


def test_an_overlap_of_atoms_is_huge_and_finite():
    problem = PROBLEMS["lennard-jones-13"]
    assert 1e30 < problem.exact()(np.zeros(39)) < 1e40


def test_thomson_octahedron():
    # Six charges: energy 12 / sqrt(2) + 3 / 2. Here through the problem's own formula with 24 charges on 4 octahedra.
    value = PROBLEMS["thomson-24"].exact()
    polar = np.array([0, np.pi, np.pi / 2, np.pi / 2, np.pi / 2, np.pi / 2])
    azimuth = np.array([0, 0, 0, np.pi / 2, np.pi, 3 * np.pi / 2])
    shifts = [0.1, 0.4, 0.9, 1.2]
    x = np.concatenate([np.tile(polar, 4), np.concatenate([azimuth + s for s in shifts])])
    points = np.stack([np.sin(x[:24]) * np.cos(x[24:]), np.sin(x[:24]) * np.sin(x[24:]), np.cos(x[:24])], axis=1)
    distance = np.linalg.norm(points[:, None] - points, axis=-1)[np.triu_indices(24, 1)]
    assert value(x) == pytest.approx((1 / np.maximum(distance, 1e-6)).sum())


def test_the_best_fir_filter_is_that_of_a_linear_program():
    w = np.pi * np.concatenate([np.linspace(0, 0.4, 120), np.linspace(0.5, 1, 150)])
    basis, one = np.cos(w[:, None] * np.arange(16)), np.ones((270, 1))
    ideal = np.repeat([1.0, 0.0], [120, 150])
    best = linprog(
        np.append(np.zeros(16), 1.0),
        A_ub=np.block([[basis, -one], [-basis, -one]]),
        b_ub=np.concatenate([ideal, -ideal]),
        bounds=[(-1, 1)] * 16 + [(0, None)],
    )
    problem = PROBLEMS["fir-filter"]
    assert 20 * np.log10(best.fun) == pytest.approx(problem.best_known, abs=1e-5)
    assert problem.exact()(best.x[:16]) == pytest.approx(problem.best_known, abs=1e-5)


def test_a_bar_stretches_by_hookes_law():
    truss = Truss(np.array([[0.0, 0], [2, 0], [0, 1]]), np.array([[0, 1], [1, 2]]), fixed=[0, 2])
    moves, stresses = truss.respond(np.array([0.5, 1e-9]), np.array([[0, 0], [3.0, 0], [0, 0]]), modulus=10.0)
    # The slack second bar lets the joint move along the first: stress 3 / 0.5, stretch 3 * 2 / (10 * 0.5).
    assert stresses[0] == pytest.approx(6.0, rel=1e-6)
    assert moves[0, 0] == pytest.approx(1.2, rel=1e-6)


def test_lynx_and_hare_follow_the_differential_equation():
    x = np.array([-0.26, -1.55, -0.09, -1.62, 1.52, 0.77])  # near the published fit
    a, b, c, d, h, q = 10.0**x
    path = solve_ivp(
        lambda t, s: [a * s[0] - b * s[0] * s[1], d * s[0] * s[1] - c * s[1]],
        (0, 20),
        [h, q],
        t_eval=np.arange(21),
        rtol=1e-10,
        atol=1e-10,
    )
    expected = ((np.log(path.y) - np.log([HARES, LYNXES])) ** 2).sum()
    assert PROBLEMS["lynx-and-hare"].exact()(x) == pytest.approx(expected, rel=1e-4)
    assert expected < 5  # 42 residuals of about a quarter


def test_failures_say_what_happened():
    problem = PROBLEMS["lynx-and-hare"]
    with pytest.raises(RuntimeError, match="integration failed"):
        problem.exact()(problem.upper)
    assert np.isnan(PROBLEMS["pinene"].exact()(PROBLEMS["pinene"].upper))


def test_an_upright_pole_stays_and_a_tilted_one_falls():
    idle = np.zeros(6)
    rest = _cart_pole(idle, _linear, 10.0, np.zeros((4, 1)))
    tilted = _cart_pole(idle, _linear, 10.0, np.array([[0.0], [0], [0.1], [0]]))
    assert rest == 0.0
    assert tilted > 0.5


def test_an_acrobot_without_torque_swings_no_higher_than_it_started():
    start = np.array([[0.3], [0.0], [0.0], [0.0]])
    value = _acrobot(np.zeros(7), _linear, 1.0, start)
    # A swing of 0.3 rad lifts the tip between 0 and 2 (1 - cos 0.3) = 0.09 of its range 4, so 0.978 to 1 is lacking.
    assert 0.978 < value < 1.0


def test_boosting_learns_and_more_trees_fit_the_training_rows_better():
    data = friedman(2 * HALF, 8, seed=1)
    rows = np.arange(HALF)
    error = _stumps(data)

    def on_training(trees):
        return error(np.array([-0.7, 0.0, trees, 5.0, 16.0, 1.0] + [0.0] * 8), rows, rows)

    assert on_training(1) > on_training(10) > on_training(60)
    assert on_training(60) < 0.5 * data.y.std()


def test_noise_is_unbiased_where_it_is_added():
    problem = PROBLEMS["lennard-jones-7-noisy"]
    f = problem.make(seed=0)
    draws = np.array([f(problem.x0) for _ in range(4000)]) - problem.exact()(problem.x0)
    assert abs(draws.mean()) < 4 * 0.1 / np.sqrt(4000)
    assert draws.std() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("name", ["cart-pole-gusts", "boosted-stumps-resampled", "tail-risk-30-resampled"])
def test_resampled_values_scatter_about_the_exact_one(name):
    problem = PROBLEMS[name]
    f = problem.make(seed=0)
    draws = np.array([f(problem.x0) for _ in range(40)])
    # The exact value is itself a mean over a fixed sample, so the means agree within the scatter of single calls only.
    assert abs(draws.mean() - problem.exact()(problem.x0)) < draws.std()


def test_a_planted_optimum_is_at_its_best_value():
    for problem in PROBLEMS.values():
        if problem.family == "rugged":
            assert problem.exact()(_optimum(problem.n, 5.0)) == pytest.approx(0.0, abs=1e-12), problem.name
