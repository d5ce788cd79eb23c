"""Averages over problems, intervals, and comparisons of two algorithms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab.tests.bench.test_metrics import row, table

from eglearn_lab.bench import metrics


def test_score_table_averages_seeds_and_marks_what_is_missing():
    runs = table(row("a"), row("a", seed=1), row("b"), row("b", function=2))
    scores = metrics.score_table(runs, [1.0, 0.0, 1.0, 0.25])
    assert scores.algorithms == ("a", "b")
    np.testing.assert_array_equal(scores.values, [[0.5, 1.0], [np.nan, 0.25]])
    np.testing.assert_array_equal(scores.complete().values, [[0.5, 1.0]])
    with pytest.raises(ValueError, match="NaN for 1 of 4 runs"):
        metrics.score_table(runs, [1, 2, 3, np.nan])
    np.testing.assert_array_equal(
        metrics.score_table(runs, [1, np.nan, 3, 4], skip_nan=True).values, [[1, 3], [np.nan, 4]]
    )
    with pytest.raises(ValueError, match="one row for each of 4 runs"):
        metrics.score_table(runs, [1, 2])
    with pytest.raises(ValueError, match="algorithm must be one of"):
        scores.column("c")


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_interval_of_equal_values_is_that_value_exactly(method):
    values = np.full((7, 3), [0.1, 0.3, np.nan])
    values[0, 0] = np.nan
    got = metrics.bootstrap_mean(values, np.random.default_rng(1), resamples=500, method=method)
    for part in (got.estimate, got.low, got.high):
        np.testing.assert_array_equal(part, [0.1, 0.3, np.nan])


def test_percentile_interval_of_two_problems_by_hand():
    # The mean of two draws from {0, 1} is 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4.
    wide = metrics.bootstrap_mean([0.0, 1.0], np.random.default_rng(0))
    assert (wide.estimate, wide.low, wide.high) == (0.5, 0.0, 1.0)
    narrow = metrics.bootstrap_mean([0.0, 1.0], np.random.default_rng(0), level=0.4)
    assert (narrow.low, narrow.high) == (0.5, 0.5)


@pytest.mark.parametrize(("method", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_intervals_agree_with_scipys(method, theirs):
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(5).lognormal(sigma=2.5, size=10)
    got = metrics.bootstrap_mean(values, np.random.default_rng(4), resamples=50_000, method=method)
    want = stats.bootstrap(
        (values,), np.mean, method=theirs, n_resamples=50_000, rng=np.random.default_rng(5)
    ).confidence_interval
    near = 0.02 * (want.high - want.low)
    assert [float(got.low), float(got.high)] == pytest.approx([want.low, want.high], abs=near)


def test_missing_problems_leave_only_their_own_column():
    values = np.random.default_rng(0).normal(size=(30, 2))
    values[20:, 1] = np.nan
    got = metrics.bootstrap_mean(values, np.random.default_rng(1))
    assert got.estimate == pytest.approx([values[:, 0].mean(), values[:20, 1].mean()])
    assert (got.low < got.estimate).all()
    assert (got.estimate < got.high).all()
    alone = metrics.bootstrap_mean(values[:20, 1], np.random.default_rng(2))
    assert [got.low[1], got.high[1]] == pytest.approx([float(alone.low), float(alone.high)], abs=0.03)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_cover_the_truth_about_as_often_as_they_say(method):
    # 1,000 benchmarks of 60 problems as the columns of one call, each problem a success rate that is 0, 1/2 or 1.
    truth = 0.5
    values = np.random.default_rng(7).integers(0, 3, size=(60, 1000)) / 2
    got = metrics.bootstrap_mean(values, np.random.default_rng(8), resamples=1000, method=method)
    covered = ((got.low <= truth) & (truth <= got.high)).mean()
    assert 0.92 <= covered <= 0.975


def test_interval_of_a_ratio():
    hit, spent = np.array([1.0, 0.0, 1.0]), np.array([100.0, 1000.0, 300.0])
    got = metrics.bootstrap_ratio(spent, hit, np.random.default_rng(0))
    assert got.estimate == 700
    assert got.low == 100
    assert got.high == np.inf
    with pytest.raises(ValueError, match="must be finite"):
        metrics.bootstrap_mean([1.0, np.inf], np.random.default_rng(0))
    with pytest.raises(ValueError, match="method must be one of"):
        metrics.bootstrap_mean([1.0], np.random.default_rng(0), method="normal")
    with pytest.raises(ValueError, match="level must be"):
        metrics.bootstrap_mean([1.0], np.random.default_rng(0), level=95)
    with pytest.raises(ValueError, match="one shape"):
        metrics.bootstrap_mean([], np.random.default_rng(0))


def test_the_same_generator_gives_the_same_interval():
    values = np.random.default_rng(0).normal(size=50)
    one, two, three = (metrics.bootstrap_mean(values, np.random.default_rng(k)) for k in (1, 1, 2))
    assert one == two
    assert one.low != three.low


def test_paired_comparison_by_hand():
    runs = table(row("a"), row("a", seed=1), row("b"), row("a", function=2), row("b", function=2), row("a", function=3))
    score = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    got = metrics.compare(runs, score, "a", "b", np.random.default_rng(0))
    # f1: 0.5 against 0; f2: 1 against 1; f3 is not shared.
    assert (got.problems, got.mean_a, got.mean_b, got.difference) == (2, 0.75, 0.5, 0.25)
    assert (got.low, got.high) == (0.0, 0.5)
    assert (got.wins, got.ties, got.losses) == (1, 1, 0)
    turned = metrics.compare(runs, score, "a", "b", np.random.default_rng(0), higher_is_better=False)
    assert (turned.difference, turned.wins, turned.ties, turned.losses) == (0.25, 0, 1, 1)
    loose = metrics.compare(runs, score, "a", "b", np.random.default_rng(0), tie=0.5)
    assert (loose.wins, loose.ties, loose.losses) == (0, 2, 0)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.sampled_from(["percentile", "bca"]))
def test_equal_algorithms_differ_by_nothing(scores, method):
    runs = table(*(row(name, function=k) for k in range(len(scores)) for name in "ab"))
    got = metrics.compare(runs, np.repeat(scores, 2), "a", "b", np.random.default_rng(0), resamples=200, method=method)
    assert (got.difference, got.low, got.high) == (0.0, 0.0, 0.0)
    assert (got.wins, got.ties, got.losses) == (0, len(scores), 0)


def test_pairing_beats_the_difference_between_problems():
    rng = np.random.default_rng(0)
    easy = np.repeat(rng.random(100), 2)
    runs = table(*(row(name, function=k) for k in range(100) for name in "ab"))
    score = easy + np.tile([0.02, 0.0], 100) + 0.01 * rng.normal(size=200)
    got = metrics.compare(runs, score, "a", "b", rng)
    assert 0.01 < got.low < got.high < 0.03
    alone = metrics.bootstrap_mean(score[::2], rng)
    assert alone.high - alone.low > 10 * (got.high - got.low)


def test_comparisons_that_mean_nothing_are_refused():
    rng = np.random.default_rng(0)
    apart = table(row("a"), row("b", function=2))
    with pytest.raises(ValueError, match=r"^'a' and 'b' have no problem in common$"):
        metrics.compare(apart, [1.0, 1.0], "a", "b", rng)
    with pytest.raises(ValueError, match="no problem in common"):
        metrics.compare(apart, [1.0, 1.0], "a", "nobody", rng)
    capped = table(row("a"), row("b", budget=10), row("a", function=2, budget=7))
    with pytest.raises(ValueError, match="different budgets"):
        metrics.compare(capped, [1.0, 1.0, 1.0], "a", "b", rng)
    assert metrics.compare(capped, [1.0, 1.0, 1.0], "a", "b", rng, mixed_budgets=True).ties == 1
    with pytest.raises(ValueError, match="one number a run"):
        metrics.compare(apart, [[1.0], [1.0]], "a", "b", rng)
