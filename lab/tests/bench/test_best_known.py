import numpy as np
import pytest

from eglearn_lab.bench.best_known import RULES, TARGETS, load_best_known, strict_target
from eglearn_lab.bench.metrics import Results, initial_gaps

# Median of y0 - f_opt over instances 1 to 15 from x0 = 0 in 40-D, where it is below 100.
START_40 = {14: 92.9, 16: 73.0, 17: 16.0, 18: 67.7, 19: 0.25, 21: 80.9, 22: 83.3, 23: 12.5}


def test_strict_target_is_where_the_success_test_turns():
    assert strict_target([1000.0, 100.0, 25.0, 0.25]).tolist() == [1.0, 1.0, 0.25, 0.0025]


def test_what_the_file_holds():
    bbob, large = load_best_known(), load_best_known("bbob-largescale")
    assert bbob.dimensions == (2, 3, 5, 10, 20, 40)
    assert large.dimensions == (20, 40, 80, 160, 320, 640)
    assert bbob.gaps.tolist() == [100, 10, 1, 0.5, 0.1, 0.05, 0.01, 0.0025, 0.001, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]
    assert np.isfinite(bbob.ert).all()
    assert np.isfinite(large.ert).sum() == 1204
    assert ((large.hit_rate > 0) == np.isfinite(large.ert)).all()
    for known in (bbob, large):
        # A smaller gap never takes fewer evaluations; the rules between gaps rest on it.
        assert (np.maximum(known.ert[..., 1:], 0) >= known.ert[..., :-1]).all()
    # f21 in 40-D: one lucky trial of 15 at gap 0.5. f24 in 640-D: nothing was reached.
    assert bbob.ert[20, 5, 3] == 57411
    assert bbob.hit_rate[20, 5, 3] == pytest.approx(1 / 15)
    assert np.isinf(large.ert[23, 5]).all()
    with pytest.raises(ValueError, match="suite must be one of"):
        load_best_known("bbob-noisy")
    with pytest.raises(ValueError, match="no best-known times in 4-D"):
        bbob.running_time(4, [1.0])
    with pytest.raises(ValueError, match="rule must be one of"):
        bbob.running_time(2, [1.0], rule="linear")


def test_between_listed_gaps_by_hand():
    known = load_best_known()
    # f15, 40-D: 115,861 at gap 10 and 430,140 at gap 1; half way in log gap is the geometric mean.
    middle = [np.sqrt(10.0)]
    assert known.running_time(40, middle)[14, 0] == pytest.approx(np.sqrt(115861 * 430140))
    assert known.running_time(40, middle, rule="lower")[14, 0] == 115861
    assert known.running_time(40, middle, rule="upper")[14, 0] == 430140
    for rule in RULES:
        assert known.running_time(40, [10 ** (2 - 0.2 * 10)], rule=rule)[14, 0] == 430140
    ends = [1e3, 1e-9, np.nan]
    assert known.running_time(40, ends)[14].tolist() == [4401, np.inf, np.inf]
    assert known.running_time(40, ends, rule="lower")[14].tolist() == [1, 674799, np.inf]


def test_gaps_that_nobody_reached_are_infinite():
    large = load_best_known("bbob-largescale")
    # f16 in 640-D: gap 10 is the last that was reached.
    assert np.isfinite(large.running_time(640, [10.0])[15, 0])
    assert large.running_time(640, [3.0])[15, 0] == np.inf
    assert np.isfinite(large.running_time(640, [3.0], rule="lower")[15, 0])
    assert large.ceiling(640, [1e12])[0] < 1


@pytest.mark.parametrize("dimension", [2, 10, 40])
def test_ceiling_rises_and_lies_between_its_bounds(dimension):
    known = load_best_known()
    t = np.geomspace(1, 1e9, 50)
    low, mid, high = (known.ceiling(dimension, t, rule=rule) for rule in ("upper", "log", "lower"))
    assert (np.diff(mid) >= 0).all()
    assert ((low <= mid) & (mid <= high)).all()
    assert high[-1] == 1


def test_ceiling_agrees_with_the_archives_full_data():
    # Shares of the 51 targets computed from the archive, where all of them are listed.
    for suite, dimension, t, share in (
        ("bbob", 40, [1e4, 5e4, 1.5e5], [0.447, 0.668, 0.753]),
        ("bbob-largescale", 80, [1e4, 1.5e5, 1e6], [0.220, 0.513, 0.554]),
        ("bbob-largescale", 640, [1e4, 1.5e5, 1e6], [0.135, 0.212, 0.333]),
    ):
        assert load_best_known(suite).ceiling(dimension, t) == pytest.approx(share, abs=0.01)


def test_ceiling_by_hand():
    # f1 in 2-D is solved to the last target after 6 evaluations.
    times = load_best_known().running_time(2, TARGETS)
    assert times[0].max() == 6
    assert load_best_known().ceiling(2, [5e8])[0] == 1
    assert load_best_known().ceiling(2, 1.0) == pytest.approx((times == 1).mean())


def test_functions_solved_in_40_d():
    start = {function: START_40.get(function, 1000.0) for function in range(1, 25)}
    known = load_best_known()
    missed = set(start) - set(known.solved(40, 150_000, start))
    assert missed == {15, 19, 22, 24}
    assert set(start) - set(known.solved(40, 150_000, start, rule="log")) == {15, 19, 24}
    assert known.solved(40, 1e9, {3: 500.0}) == (3,)
    assert known.solved(40, 1e9, {}) == ()
    with pytest.raises(ValueError, match="functions 1 to 24"):
        known.solved(40, 1e5, {101: 1.0})


def test_initial_gaps_are_medians_for_each_function():
    rows = [
        {
            "suite": "bbob",
            "function": f,
            "dimension": 2,
            "instance": i,
            "algorithm": "a",
            "seed": 0,
            "y0": y,
            "f_opt": 1.0,
        }
        for f, i, y in ((1, 1, 5.0), (1, 2, 7.0), (1, 3, 100.0), (2, 1, 2.0))
    ]
    assert initial_gaps(Results.from_rows(rows), "bbob", 2) == {1: 6.0, 2: 1.0}
    assert initial_gaps(Results.from_rows(rows), "bbob", 3) == {}
