import numpy as np
import pytest

from eglearn.learning.recombination import score_weights


def test_weights_are_the_expected_order_statistics():
    for size in (2, 5, 22):
        weights = score_weights(size)
        np.testing.assert_allclose(weights, -weights[::-1], atol=1e-12)
        assert weights[weights > 0].sum() == pytest.approx(1)
        statistics = -np.sort(np.random.default_rng(0).standard_normal((100_000, size))).mean(axis=0)
        np.testing.assert_allclose(weights, statistics / statistics[statistics > 0.02].sum(), atol=0.03)
    assert score_weights(1) == 1
