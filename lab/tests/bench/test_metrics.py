import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eglearn_lab.bench import metrics
from eglearn_lab.bench.metrics import Results

NEVER = [-1] * 51


def row(algorithm="a", function=1, best_gap=0.0, **other):
    """A run; its trace holds one entry, the end, unless another is given."""
    run = {
        "suite": "bbob",
        "function": function,
        "dimension": 2,
        "instance": 1,
        "algorithm": algorithm,
        "seed": 0,
        "budget": 1000,
        "evaluations": 1000,
        "f_opt": 10.0,
        "y0": 210.0,
        "best_gap": best_gap,
        "recommended_gap": best_gap,
        "trace_evaluations": [1000],
        "trace_gap": [best_gap],
        "target_evaluations": NEVER,
        "cpu_optimiser": 2.0,
        "cpu_function": 1.0,
        "status": "ok",
    }
    return run | other


def table(*rows):
    return Results.from_rows(rows)


def hits(*when):
    """Evaluations at which the first targets (100, 63, 40, ...) were reached."""
    return [*when, *NEVER[len(when) :]]


# The table


def test_cut_runs_are_as_they_were_then():
    trace = {"trace_evaluations": [10, 80, 700], "trace_gap": [50.0, 4.0, 0.5], "target_evaluations": hits(9, 80, 300)}
    short = row("short", budget=90, evaluations=60, best_gap=3.0, trace_evaluations=[60])
    runs = table(row("long", best_gap=0.5, **trace), short)
    then = metrics.cut(runs, 100)
    assert then["best_gap"].tolist() == then["recommended_gap"].tolist() == [4, 3]
    assert then["budget"].tolist() == [100, 90]
    assert then["evaluations"].tolist() == [100, 60]
    assert [list(entry) for entry in then["trace_gap"]] == [[50, 4], [3]]
    assert then["target_evaluations"][0, :4].tolist() == [9, 80, -1, -1]
    assert metrics.success(then, reference="optimum").tolist() == [False, False]
    assert runs["best_gap"].tolist() == [0.5, 3]


def test_cut_runs_are_compared_at_one_moment():
    """Traces have an entry at 14,125 evaluations, and next at 15,849 or the end: what comes between is for nobody."""
    long = row("long", budget=150_000, trace_evaluations=[10, 14_125, 15_849], trace_gap=[50.0, 4.0, 0.5])
    late = row("late", budget=15_000, best_gap=0.1, trace_evaluations=[10, 14_125, 15_000], trace_gap=[50.0, 5.0, 0.1])
    then = metrics.cut(table(long, late), 15_000)
    assert then["best_gap"].tolist() == [4, 5]
    assert metrics.gap_at(then, [15_000])[:, 0].tolist() == [4, 5]


def test_select_group_and_mask():
    runs = table(row("a"), row("b"), row("a", function=2), row("b", function=3))
    assert len(runs) == 4
    assert runs.algorithms == ("a", "b")
    assert runs.select(algorithm="a")["function"].tolist() == [1, 2]
    assert runs.select(function=range(2, 9), algorithm=["b"])["function"].tolist() == [3]
    assert runs.mask(function=(1,)).tolist() == [True, True, False, False]
    assert [(value, len(part)) for value, part in runs.by("function")] == [(1, 2), (2, 1), (3, 1)]
    problems, index = runs.problems()
    assert problems == tuple(metrics.Problem("bbob", k, 2, 1) for k in (1, 2, 3))
    assert index.tolist() == [0, 0, 1, 2]
    assert len(runs.select(algorithm="nobody")) == 0


def test_tables_from_rows_and_from_arrow_are_equal():
    arrow = pytest.importorskip("pyarrow")
    rows = [row("a", trace_evaluations=[1, 10, 1000], trace_gap=[5.0, float("nan"), 0.1]), row("b")]
    ours, theirs = Results.from_rows(rows), Results.from_arrow(arrow.Table.from_pylist(rows))
    assert set(ours.columns) == set(theirs.columns)
    np.testing.assert_array_equal(metrics.gap_at(ours, [1, 99, 1000]), metrics.gap_at(theirs, [1, 99, 1000]))
    for name in ("suite", "algorithm", "function", "target_evaluations", "status", "best_gap"):
        np.testing.assert_array_equal(ours[name], theirs[name])
    assert theirs.select(algorithm="b")["algorithm"].tolist() == ["b"]


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="more than once"):
        table(row(), row())
    with pytest.raises(ValueError, match="no rows"):
        table()
    with pytest.raises(ValueError, match="lack the columns"):
        Results.from_columns({"suite": ["bbob"]})
    with pytest.raises(ValueError, match="one length"):
        Results.from_columns({name: [value] for name, value in row().items()} | {"seed": [1, 2]})
    with pytest.raises(ValueError, match="51 numbers"):
        table(row(target_evaluations=[1, 2]))
    with pytest.raises(ValueError, match="no column 'colour'"):
        table(row())["colour"]


# Success


@pytest.mark.parametrize(
    ("gap", "initial", "star", "passes"),
    [
        (1.0, 100.0, 0.0, True),  # both clauses just hold
        (1.0001, 1e6, 0.0, False),  # too far
        (0.9, 80.0, 0.0, False),  # 0.9 / 80 > 1/100
        (3.5, 252.5, 2.5, True),  # 1 from the best, of 250
        (3.5, 100.0, 2.5, False),  # 1 of 97.5
        (0.0, 0.0, 0.0, True),  # started at the optimum
        (5.0, 5.0, 5.0, True),  # nobody left the start
        (float("nan"), 100.0, 0.0, False),
        (float("inf"), 100.0, 0.0, False),
        (0.0, float("nan"), 0.0, False),
        (0.5, float("inf"), 0.0, True),
        (0.5, 100.0, float("nan"), False),
    ],
)
def test_success_of_one_run(gap, initial, star, passes):
    assert bool(metrics.success_test(gap, initial, star)) is passes


def test_papers_success_depends_on_who_is_compared_and_the_strict_one_does_not():
    # y0 - f_opt = 200. Nobody is near the optimum, but alone b is the best there is.
    both = table(row("a", best_gap=20.0), row("b", best_gap=50.0))
    assert metrics.success(both).tolist() == [True, False]
    assert metrics.success(both.select(algorithm="b")).tolist() == [True]
    assert metrics.success(both, reference="optimum").tolist() == [False, False]
    assert metrics.success(both.select(algorithm="b"), reference="optimum").tolist() == [False]


def test_best_among_the_compared_is_taken_for_each_problem_over_all_seeds_and_skips_failures():
    runs = table(
        row("a", best_gap=20.5),
        row("a", best_gap=20.0, seed=1),
        row("b", best_gap=float("nan"), status="failed"),
        row("b", best_gap=21.5, seed=1),
        row("a", best_gap=0.1, function=2),
        row("b", best_gap=float("nan"), function=3),
        row("b", best_gap=float("-inf"), function=4),
    )
    assert metrics.success(runs).tolist() == [True, True, False, False, True, False, False]


def test_success_over_time_reads_the_trace_and_ends_as_the_run_does():
    runs = table(
        row("a", best_gap=0.5, trace_evaluations=[1, 10, 100, 1000], trace_gap=[200.0, 3.0, 1.5, 0.5]),
        row("b", best_gap=1.4, trace_evaluations=[1, 50, 700], trace_gap=[150.0, 1.45, 1.4], evaluations=700),
    )
    t = [0, 49, 50, 99, 100, 999, 1000, 10**6]
    # y* - f_opt = 0.5: a has to come to 1.5, b to 1.5.
    assert metrics.success(runs, t).tolist() == [
        [False] * 4 + [True] * 4,
        [False] * 2 + [True] * 6,
    ]
    assert metrics.success(runs, t, reference="optimum")[:, -3:].tolist() == [[False, True, True], [False] * 3]
    assert metrics.success(runs).tolist() == metrics.success(runs, [1000])[:, 0].tolist()


def test_success_under_noise_judges_the_recommended_point():
    runs = table(row(best_gap=-3.0, recommended_gap=0.8))
    assert metrics.success(runs, reference="optimum", gap="recommended_gap").tolist() == [True]
    with pytest.raises(ValueError, match="reference must be one of"):
        metrics.success(runs, reference="best")


# Distance


def test_scaled_distance_by_hand():
    runs = table(
        row("a", best_gap=100.0, trace_evaluations=[1, 10, 100], trace_gap=[300.0, 150.0, 100.0]),
        row("b", best_gap=180.0, trace_evaluations=[5, 20], trace_gap=[180.0, float("nan")]),
    )
    t = [0, 1, 5, 10, 50, 100, 5000]
    # y0 - f_opt = 200, y* - f_opt = 100; a's first value is worse than y0.
    np.testing.assert_allclose(
        metrics.scaled_distance(runs, t),
        [[1, 1, 1, 0.5, 0.5, 0, 0], [1, 1, 0.8, 0.8, 0.8, 0.8, 0.8]],
    )
    np.testing.assert_allclose(
        metrics.scaled_distance(runs, t, reference="optimum"),
        [[1, 1, 1, 0.75, 0.75, 0.5, 0.5], [1, 1, 0.9, 0.9, 0.9, 0.9, 0.9]],
    )
    mean = metrics.score_table(runs, metrics.scaled_distance(runs, t)).values.mean(axis=(0, 1))
    np.testing.assert_allclose(mean, [1, 1, 0.9, 0.65, 0.65, 0.4, 0.4])


def test_scaled_distance_of_runs_that_found_nothing_is_one():
    bad = float("nan")
    runs = table(
        row("a", best_gap=bad, trace_evaluations=[], trace_gap=[]),
        row("b", best_gap=float("inf"), trace_gap=[float("inf")]),
        row("c", function=2, best_gap=200.0, trace_gap=[200.0]),  # stays at the start, the best there is
        row("d", function=3, best_gap=400.0, trace_gap=[400.0]),  # the start was better
        row("e", function=4, y0=bad, best_gap=3.0, trace_gap=[3.0]),
    )
    assert metrics.scaled_distance(runs, [10, 1000]).tolist() == [[1, 1], [1, 1], [0, 0], [1, 1], [1, 0]]
    assert metrics.scaled_distance(runs, [1000], reference="optimum").ravel().tolist() == [1, 1, 1, 1, 1]


# Targets and running times


def test_targets_are_cocos():
    assert len(metrics.TARGETS) == 51
    assert metrics.TARGETS[[0, 5, 10, 50]] == pytest.approx([100, 10, 1, 1e-8])


def test_share_of_targets_by_hand():
    runs = table(row("a", target_evaluations=hits(1, 10, 11, 1000)), row("b"))
    np.testing.assert_allclose(
        metrics.targets_reached(runs, [0, 10, 11, 999, 1000]) * 51, [[0, 2, 3, 3, 4], [0] * 5], atol=1e-12
    )
    limits = metrics.budget_limits(runs)
    assert limits.tolist() == [[10, 100, 1000]] * 2
    ecdf = metrics.score_table(runs, metrics.targets_reached(runs, limits))
    np.testing.assert_allclose(ecdf.column("a") * 51, [[2, 3, 4]])
    np.testing.assert_allclose(ecdf.column("b"), [[0, 0, 0]])


def test_ecdf_per_dimension_and_pooled_weighs_problems_not_seeds():
    runs = table(
        row("a", target_evaluations=hits(*range(1, 52))),
        row("a", dimension=3, seed=0),
        row("a", dimension=3, seed=1, target_evaluations=hits(*range(1, 52))),
        row("a", dimension=3, seed=2),
    )
    reached = metrics.targets_reached(runs, [1000])[:, 0]
    pooled = metrics.score_table(runs, reached).values
    np.testing.assert_allclose(pooled, [[1.0], [1 / 3]])
    for n, value in ((2, 1.0), (3, 1 / 3)):
        mine = runs.mask(dimension=n)
        np.testing.assert_allclose(metrics.score_table(runs.where(mine), reached[mine]).values, [[value]])


def test_budgets_may_differ_between_problems_only():
    runs = table(row(budget=200), row(dimension=3, budget=300))
    assert metrics.budget_limits(runs, [0.29, 1]).tolist() == [[58, 200], [87, 300]]
    capped = table(row("a"), row("b", budget=100, evaluations=100))
    with pytest.raises(ValueError, match=r"different budgets \[100, 1000\]: name the one that counts"):
        metrics.budget_limits(capped)
    assert metrics.budget_limits(capped, [1.0], budget=1000).tolist() == [[1000], [1000]]
    with pytest.raises(ValueError, match="one row a run"):
        metrics.targets_reached(runs, [[1, 2]])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-1, 2000), min_size=51, max_size=51), st.lists(st.integers(0, 3000), min_size=2))
def test_curves_are_monotone_in_t(when, t):
    t = sorted(t)
    gaps = np.array(when, dtype=float)
    run = table(
        row("a", target_evaluations=when, trace_evaluations=np.arange(51) * 40, trace_gap=gaps, best_gap=gaps.min())
    )
    assert (np.diff(metrics.targets_reached(run, t)) >= 0).all()
    for reference in metrics.REFERENCES:
        assert (np.diff(metrics.success(run, t, reference=reference).astype(int)) >= 0).all()
        assert (np.diff(metrics.scaled_distance(run, t, reference=reference)) <= 0).all()


def test_expected_running_time_by_hand():
    # Hits after 100 and 300 evaluations, one run of 1000 without: 1400 / 2.
    assert metrics.expected_running_time([100, -1, 300], [500, 1000, 500]) == 700
    assert metrics.expected_running_time([-1, -1], [500, 1000]) == float("inf")
    runs = table(
        row("a", target_evaluations=hits(1, 100)),
        row("a", instance=2, target_evaluations=hits(1)),
        row("b", evaluations=30),
    )
    times = metrics.running_times(runs, 10**1.8)
    assert times == {("bbob", 1, 2, "a"): 1100.0, ("bbob", 1, 2, "b"): float("inf")}
    with pytest.raises(ValueError, match="the nearest is"):
        metrics.running_times(runs, 0.5)


def test_cpu_per_evaluation():
    runs = table(row("a", evaluations=500), row("b", evaluations=0))
    np.testing.assert_array_equal(metrics.cpu_per_evaluation(runs), [0.004, np.nan])
