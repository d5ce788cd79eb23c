"""The Moré-Wild problems, against the values of f(x0) and of minima in the literature."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from eglearn_lab.suites import more_wild
from eglearn_lab.suites.mgh import FUNCTIONS

# f(x0) by variant, in the order of the list: test output of the authors' own code (github.com/POptUS/BenDFO,
# data/testout.dat), to the six digits printed there.
START = {
    "smooth": """
7.20000e+01 1.12500e+03 1.16542e+07 1.16859e+09 4.98920e+06 5.00936e+08 2.42000e+01 1.79577e+06 2.50000e+03 1.06000e+04
2.15000e+02 1.61540e+06 4.00500e+02 1.54575e+08 4.16817e+01 1.30623e+03 5.31317e-03 1.69361e+09 1.64308e+01 2.32337e+06
2.69042e+01 8.15888e+06 7.36782e+01 2.05938e+07 1.03115e+03 4.17131e+03 7.92669e+06 3.08106e+11 4.64282e-02 3.37706e-02
3.86177e-02 2.88830e-02 3.37633e-02 2.67406e-02 2.73248e+02 1.61741e+01 2.09342e+00 1.99685e+02 9.04000e+02 1.35600e+03
1.58200e+03 1.80800e+03 5.65000e+01 7.05625e+01 9.86875e+01 2.53908e+09 6.87380e+12 3.36796e+09 3.73513e+09 3.99107e+09
1.13001e+13 9.38567e+00 3.36582e+10""",
    "nonsmooth": """
5.40000e+01 2.25000e+02 1.76050e+04 1.76365e+05 1.11890e+04 1.12169e+05 6.60000e+00 1.35300e+03 5.00000e+01 1.40000e+02
2.28852e+01 1.45727e+03 2.40000e+01 1.73760e+04 2.18829e+01 1.39339e+02 1.95153e-01 1.33046e+05 1.58545e+01 5.42767e+03
2.24125e+01 8.54458e+03 3.43398e+01 1.18978e+04 9.91512e+01 1.20588e+02 1.13038e+04 2.41278e+06 3.29087e-01 2.75893e-01
3.46953e-01 2.91449e-01 3.53857e-01 3.16982e-01 5.04990e+01 1.63733e+01 9.60594e+00 5.49148e+01 6.40000e+01 9.60000e+01
1.12000e+02 1.28000e+02 1.55000e+01 1.92500e+01 2.67500e+01 1.12235e+05 5.83904e+06 1.62440e+05 1.90072e+05 2.13528e+05
1.13405e+07 4.92225e+00 2.64839e+05""",
    "deterministic": """
7.19428e+01 1.12405e+03 1.16443e+07 1.16771e+09 4.98494e+06 5.00558e+08 2.41953e+01 1.79407e+06 2.50215e+03 1.05909e+04
2.15057e+02 1.61525e+06 4.00899e+02 1.54489e+08 4.16979e+01 1.30579e+03 5.31185e-03 1.69338e+09 1.64338e+01 2.32392e+06
2.69298e+01 8.16061e+06 7.36733e+01 2.05759e+07 1.03165e+03 4.17513e+03 7.92937e+06 3.08386e+11 4.63839e-02 3.37880e-02
3.86560e-02 2.88622e-02 3.37317e-02 2.67299e-02 2.73508e+02 1.61588e+01 2.09278e+00 1.99878e+02 9.03152e+02 1.35466e+03
1.58097e+03 1.80885e+03 5.65201e+01 7.05752e+01 9.87522e+01 2.53762e+09 6.87417e+12 3.36590e+09 3.73726e+09 3.98712e+09
1.12997e+13 9.37970e+00 3.36341e+10""",
}


@pytest.mark.parametrize("variant", START)
def test_values_at_the_starting_points_are_those_of_the_authors(variant):
    published = np.array(START[variant].split(), dtype=float)
    ours = [p.make()(p.x0) for p in more_wild.problems(variant)]
    np.testing.assert_allclose(ours, published, rtol=6e-6)  # half a unit of the sixth digit


@pytest.mark.parametrize("key", sorted({(k, n, m) for k, n, m, _ in more_wild.INSTANCES}))
def test_least_squares_reach_the_known_minimum_and_never_less(key):
    nprob, n, m = key
    residuals, start = FUNCTIONS[nprob]
    suite = more_wild.problems("smooth")
    problem = next(p for p, i in zip(suite, more_wild.INSTANCES, strict=True) if i[:3] == key)
    # Where the standard start leads to a local minimum or nowhere, one nearby that leads to the known one.
    factor = np.random.default_rng(0).uniform(0.5, 1.5, (40, n))
    starts = [start(n), *(factor * start(n))]
    if nprob == 7:
        starts = [np.array([6.0, 3.0])]
    values, found = [], []
    for x in starts:
        with np.errstate(all="ignore"):
            fit = least_squares(residuals, x, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15, args=(m,))
        values.append(2.0 * fit.cost)
        found.append(fit.x)
        if values[-1] <= problem.best_known * (1 + 1e-5) + 1e-15:
            break
    assert min(values) <= problem.best_known * (1 + 1e-5) + 1e-15
    assert min(values) >= problem.best_known * (1 - 1e-12)
    if nprob not in (2, 3):  # those have a hyperplane of minimisers, any of which may be found
        lower, upper = problem.box()
        best = found[int(np.argmin(values))]
        assert ((lower < best) & (best < upper)).all()


def test_the_list_is_the_papers():
    sizes = np.array([n for _, n, _, _ in more_wild.INSTANCES])
    # Table 4.1: number of problems with each n from 2 to 12.
    assert [int((sizes == n).sum()) for n in range(2, 13)] == [5, 6, 5, 4, 4, 5, 6, 5, 4, 4, 5]
    for nprob, n, m, _ in more_wild.INSTANCES:
        residuals, start = FUNCTIONS[nprob]
        assert start(n).shape == (n,)
        assert residuals(start(n), m).shape == (m,)


def test_nonsmooth_is_the_sum_of_absolute_values_at_clipped_points():
    problem = next(p for p in more_wild.problems("nonsmooth") if "bard" in p.name)
    f = problem.make()
    x = np.array([0.3, -0.2, 1.5])
    assert f(x) == f(np.maximum(x, 0)) != f(np.abs(x))
    assert f(x) == pytest.approx(np.abs(FUNCTIONS[8][0](np.maximum(x, 0), 15)).sum())


def test_deterministic_noise_repeats_and_stays_within_a_thousandth():
    smooth, rough = (
        next(p for p in more_wild.problems(v) if "rosenbrock" in p.name) for v in ("smooth", "deterministic")
    )
    x = np.random.default_rng(1).normal(size=(2000, 2))
    ratio = np.array([rough.make()(p) / smooth.make()(p) for p in x]) - 1
    assert rough.make()(x[0]) == rough.make()(x[0])
    assert 0.99e-3 < np.abs(ratio).max() <= 1e-3 * (1 + 1e-9)


def test_stochastic_noise_has_the_stated_size():
    problem = next(p for p in more_wild.problems("stochastic") if "rosenbrock" in p.name)
    x = np.array([1.0, 2.0])  # only the first residual, 10, differs from zero
    f = problem.make(seed=5)
    draws = np.array([f(x) for _ in range(4000)])
    relative = np.sqrt(draws / problem.exact()(x)) - 1
    assert np.abs(relative).max() <= 1e-3
    assert relative.std() == pytest.approx(1e-3 / np.sqrt(3), rel=0.05)


def test_the_helical_angle_is_a_quarter_on_the_axis():
    axis, beside = (FUNCTIONS[5][0](np.array([x, 2.0, 1.0]), 3) for x in (0.0, 1e-9))
    np.testing.assert_allclose(axis, beside, atol=1e-6)


def test_an_overflow_is_inf_and_no_warning():
    problem = next(p for p in more_wild.problems("smooth") if "osborne-1" in p.name)
    assert problem.make()(np.array([1.0, 1.0, -1.0, -50.0, -50.0])) == np.inf


def test_an_unknown_variant_is_refused():
    with pytest.raises(ValueError, match="smooth, nonsmooth"):
        more_wild.problems("rough")
