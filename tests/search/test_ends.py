"""Why searches end: values that tell nothing, and few dimensions."""

import numpy as np
import pytest
from tests.search.driver import run

from eglearn.learning.values import ENTERS
from eglearn.search.base import Reason
from eglearn.search.registry import SEARCHES

FLAT = {
    "gaussian-continuation": Reason.CONVERGED,
    "trust-region": Reason.CONVERGED,
    "subspace-trust-region": Reason.CONVERGED,
    "l-bfgs": Reason.CONVERGED,
    "quasi-newton": Reason.FLAT,
    "cma-es": Reason.FLAT,
    "diagonal-es": Reason.FLAT,
    "coordinate-search": Reason.NOT_SEPARABLE,
    "active-subspace": Reason.MANY_DIRECTIONS,
    "egl": Reason.CONVERGED,
    "convergent-egl": Reason.CONVERGED,
}


@pytest.mark.parametrize("level", [0.0, 1.7e308, -1.7e308, 5e-324])
@pytest.mark.parametrize("name", FLAT)
def test_constant_values_end_a_search(name, level):
    search = SEARCHES[name](np.random.default_rng(0), np.full(3, -0.3))
    run(search, lambda u: np.full(len(u), ENTERS * level), 20_000)
    assert search.done is FLAT[name]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    "name", ["trust-region", "subspace-trust-region", "l-bfgs", "quasi-newton", "cma-es", "diagonal-es", "egl"]
)
def test_few_dimensions(name, n):
    """A flat minimum, where curvature vanishes."""
    search = SEARCHES[name](np.random.default_rng(0), np.full(n, -0.3))
    run(search, lambda u: np.sum((u - 0.5) ** 4, axis=1), 3000)
    np.testing.assert_allclose(search.best_u, 0.5, atol=1e-2)


@pytest.mark.parametrize(
    "name", ["trust-region", "subspace-trust-region", "l-bfgs", "quasi-newton", "cma-es", "diagonal-es"]
)
def test_a_search_that_never_has_a_value_says_so(name):
    search = SEARCHES[name](np.random.default_rng(0), np.full(3, -0.3))
    run(search, lambda u: np.full(len(u), np.nan), 1000)
    assert search.done is Reason.FAILED
