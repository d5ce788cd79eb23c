import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eglearn_lab.suites.scores import markdown, problem_ranks, scores, superiority

# Three algorithms, four problems, two seeds.
TABLE = np.array(
    [
        [[1, 1], [1, 4], [5, 5], [9, np.nan]],
        [[2, 2], [2, 3], [5, 5], [3, 3]],
        [[3, 3], [9, 9], [5, 5], [2, 2]],
    ],
    dtype=float,
)


def test_ranks_by_hand():
    expected = [[1, 1.5, 2, 3], [2, 1.5, 2, 2], [3, 3, 2, 1]]
    np.testing.assert_array_equal(problem_ranks(TABLE), expected)


def test_scores_by_hand():
    a, b, c = scores(["a", "b", "c"], TABLE, reference="b")
    assert (a.mean_rank, b.mean_rank, c.mean_rank) == (7.5 / 4, 7.5 / 4, 9 / 4)
    assert (a.better, a.equal, a.worse) == (1, 2, 1)  # problem 2: two of four pairs are won
    assert (b.better, b.equal, b.worse) == (0, 4, 0)
    assert (c.better, c.equal, c.worse) == (1, 1, 2)
    assert (a.last, b.last, c.last) == (1, 0, 2)  # nobody is last where all are equal
    assert b.never_last
    assert not c.never_last
    assert c.net == -0.25


def test_floor_makes_solved_runs_equal():
    table = np.array([[[1e-14]], [[1e-9]], [[1.0]]])
    np.testing.assert_array_equal(problem_ranks(table)[:, 0], [1, 2, 3])
    np.testing.assert_array_equal(problem_ranks(table, floors=np.array([1e-8]))[:, 0], [1.5, 1.5, 3])
    assert superiority(table, 1, floors=np.array([1e-8]))[0, 0] == 0.5


def test_intervals_cover_the_mean_and_narrow_with_problems():
    rng = np.random.default_rng(0)

    def width(problems):
        table = rng.normal(size=(3, problems, 4)) + np.array([0, 0.3, 1])[:, None, None]
        first = scores(["a", "b", "c"], table, "a")[1]
        low, high = first.mean_rank_interval
        assert low < first.mean_rank < high
        assert first.net_interval[0] <= first.net <= first.net_interval[1]
        return high - low

    assert width(400) < 0.5 * width(25)


def test_intervals_hold_the_true_mean_rank_about_as_often_as_they_say():
    # Two equal algorithms: the expected mean rank is 1.5. 200 trials at 90 %: 180 expected, 4 deviations are 17; the
    # percentile bootstrap of 20 problems is known to be a little short.
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        low, high = scores(["a", "b"], rng.normal(size=(2, 20, 1)), "a", level=0.9, resamples=300)[0].mean_rank_interval
        hits += low <= 1.5 <= high
    assert 155 <= hits <= 197


@given(arrays(float, (3, 4, 2), elements=st.integers(-5, 5).map(float)))
def test_scores_depend_on_the_order_only(table):
    plain = scores(["a", "b", "c"], table, "b", resamples=50)
    assert plain == scores(["a", "b", "c"], np.exp(table), "b", resamples=50)
    assert sum(s.mean_rank for s in plain) == pytest.approx(6)
    assert all(s.better + s.equal + s.worse == 4 for s in plain)


def test_bootstrap_is_repeatable():
    assert scores(["a", "b", "c"], TABLE, "a", seed=4) == scores(["a", "b", "c"], TABLE, "a", seed=4)


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match="choose one of a, b, c"):
        scores(["a", "b", "c"], TABLE, "d")
    with pytest.raises(ValueError, match=r"\(2 algorithms, problems, seeds\)"):
        scores(["a", "b"], TABLE, "a")


def test_markdown_lists_the_best_first():
    lines = markdown(scores(["a", "b", "c"], TABLE, "b"), "b").splitlines()
    assert len(lines) == 5
    assert lines[-1].startswith("| c | 2.25 [")
    assert lines[-1].endswith("| 2 |")
