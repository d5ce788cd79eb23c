"""Whatever can be called is an objective: methods, partial and cached functions, modules of torch; and args."""

import functools

import numpy as np
import pytest
import torch

from eglearn import minimize
from eglearn.evaluation import Command

BOX = [(-5, 5)] * 3


class Model:
    def __init__(self, centre):
        self.centre = centre

    def loss(self, x):
        return float(np.sum((x - self.centre) ** 2))

    __call__ = loss


def shifted(x, centre, factor=1.0):
    return factor * float(np.sum((x - centre) ** 2))


CALLS = []


@functools.cache
def cached(x):
    CALLS.append(x)
    return shifted(np.array(x), 1.0)


class Distance(torch.nn.Module):
    def __init__(self, dtype=torch.float64):
        super().__init__()
        self.centre = torch.nn.Parameter(torch.ones(3, dtype=dtype))

    def forward(self, x):
        assert x.dtype == self.centre.dtype
        return ((x - self.centre) ** 2).sum(dim=-1)


@pytest.mark.parametrize(
    "fun",
    [
        Model(1.0).loss,
        Model(1.0),
        functools.partial(shifted, centre=1.0),
        cached,
        Distance(),
        lambda x: ((torch.tensor(x) - torch.ones(3, requires_grad=True)) ** 2).sum(),
    ],
    ids=["method", "object", "partial", "cached", "module", "tensor"],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_any_callable(fun, workers):
    expected = minimize(shifted, BOX, args=(1.0,), budget=150)
    result = minimize(fun, BOX, budget=150, workers=workers, width=1)
    np.testing.assert_allclose(np.sort(result.history.y), np.sort(expected.history.y), rtol=1e-12)
    assert result.n_failed == 0


def test_a_module_in_single_precision_and_with_batches():
    assert minimize(Distance(torch.float32), BOX, budget=300).fun < 1e-6
    batched = minimize(Distance(), BOX, budget=150, vectorized=True)
    assert batched.fun == pytest.approx(minimize(Distance(), BOX, budget=150).fun)


def test_a_cache_is_used():
    minimize(cached, BOX, budget=40)
    before = len(CALLS)
    minimize(cached, BOX, budget=40)
    assert len(CALLS) == before


def test_args_as_in_scipy():
    whole = minimize(lambda x: shifted(x, 1.0, 3.0), BOX, budget=60)
    assert minimize(shifted, BOX, None, (1.0, 3.0), budget=60).fun == whole.fun
    assert minimize(shifted, BOX, args=2.0, budget=400).x == pytest.approx([2.0] * 3)
    assert minimize("math:dist", BOX, args=([1.0, 2.0, 3.0],), budget=2000, workers=2).x == pytest.approx([1, 2, 3])
    with pytest.raises(ValueError, match=r"args = \(1,\): a Command takes none"):
        minimize(Command("true"), BOX, args=(1,), budget=9)
    with pytest.raises(TypeError, match="takes from 2 to 3 positional arguments but 4 were given"):
        minimize(shifted, BOX, args=(1.0, 2.0, 3.0), budget=9)
