"""minimize(): what it is called with, and what it says at the end."""

import numpy as np
import pytest

from eglearn import minimize


def f(x):
    return float(np.sum((x - 1) ** 2))


BOX = [(-5, 5)] * 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"callback": "print"}, "callback = 'print'"),
        ({"callback": lambda x, y: None}, r"callback has the parameters \(x, y\)"),
        ({"settings": {"m": 4}}, "settings has the type dict"),
        ({"algorithm": "EGL"}, "algorithm = 'EGL'"),
        ({"max_seconds": "5"}, "max_seconds = '5'"),
        ({"target": "a"}, "target = 'a'"),
        ({"target": np.nan}, "target = nan"),
        ({"on_error": np.array([1.0, 2.0])}, "on_error"),
        ({"budget": 100.5}, "budget = 100.5"),
        ({"budget": np.inf}, "budget = inf"),
        ({"budget": "100"}, "budget = '100'"),
        ({"x0": [BOX]}, "the order is fun, bounds, x0"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_evaluated(wrong, said):
    calls = []
    with pytest.raises((TypeError, ValueError), match=said):
        minimize(lambda x: calls.append(x) or 1.0, **{"bounds": BOX, "budget": 100} | wrong)
    assert calls == []


def test_numbers_may_come_in_any_type():
    expected = minimize(f, BOX, [0.5] * 3, budget=100)
    got = minimize(f, BOX, 0.5, budget=1e2, on_error=np.float32(3), target=np.float64(-1), max_seconds=np.int64(100))
    np.testing.assert_array_equal(got.x, expected.x)
    assert (got.nfev, got.message) == (100, expected.message)


def test_messages_tell_what_ended_a_run_with_its_number():
    assert minimize(f, BOX, budget=100, target=2.5).message == "The target of 2.5 was reached."
    assert minimize(f, BOX, budget=10**6, max_seconds=0.01).message == "The time of 0.01 s is over."
    assert minimize(f, BOX, budget=1).message == "The budget of 1 evaluation is used."
    assert minimize(f, [(2, 2)] * 3, budget=10).message.startswith("All coordinates are fixed")
    noise = np.random.default_rng(0)
    noisy = minimize(lambda x: f(x) * np.exp(noise.standard_normal()), BOX, budget=1000)
    assert "Values are noisy: use x_favorite" in noisy.message


def test_results_can_be_compared_and_kept_in_sets():
    one, two = (minimize(f, BOX, budget=10) for _ in range(2))
    assert one == one
    assert one != two
    assert len({one, two, one}) == 2
