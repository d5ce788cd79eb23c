import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eglearn_lab.suites import profiles

HISTORIES = {
    "fast": [np.array([100.0, 10.0, 1.0, 0.0]), np.array([8.0, np.nan, 8.0])],
    "slow": [np.array([100.0, 50.0, 20.0, 9.0, 9.0, 0.05]), np.array([8.0, 8.0, 4.0, 2.0])],
}
START = np.array([100.0, 10.0])


def test_evaluations_needed_by_the_convergence_test():
    needed = profiles.evaluations_needed(HISTORIES, START, tau=0.1)
    # Levels: 0 + 0.1 * 100 = 10 and 2 + 0.1 * 8 = 2.8.
    np.testing.assert_array_equal(needed["fast"], [2, np.inf])
    np.testing.assert_array_equal(needed["slow"], [4, 4])


def test_a_given_best_value_moves_the_target():
    needed = profiles.evaluations_needed(HISTORIES, START, tau=0.1, best_values=np.array([-1000.0, 7.0]))
    np.testing.assert_array_equal(needed["fast"], [np.inf, np.inf])
    np.testing.assert_array_equal(needed["slow"], [np.inf, 3])


def test_profiles_of_two_solvers_by_hand():
    needed = {"a": np.array([4.0, 30.0, np.inf]), "b": np.array([8.0, 10.0, np.inf])}
    data = profiles.data_profile(needed, np.array([1, 4, 9]), np.array([1.0, 2.0, 4.0, 6.0]))
    np.testing.assert_allclose(data["a"], [0, 1 / 3, 1 / 3, 2 / 3])
    np.testing.assert_allclose(data["b"], [0, 1 / 3, 2 / 3, 2 / 3])
    performance = profiles.performance_profile(needed, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(performance["a"], [1 / 3, 1 / 3, 2 / 3])
    np.testing.assert_allclose(performance["b"], [1 / 3, 2 / 3, 2 / 3])


def test_the_solver_with_the_lowest_value_solves_at_any_tau():
    for tau in profiles.TAUS:
        needed = profiles.evaluations_needed(HISTORIES, START, tau)
        assert np.isfinite(np.min(list(needed.values()), axis=0)).all()


@given(st.integers(0, 2**32 - 1), st.floats(1e-7, 0.9))
def test_profiles_are_shares_that_never_fall_and_tighter_tau_costs_more(seed, tau):
    rng = np.random.default_rng(seed)
    histories = {s: [rng.normal(size=rng.integers(1, 30)) for _ in range(5)] for s in "abc"}
    needed = profiles.evaluations_needed(histories, np.full(5, 3.0), tau)
    tighter = profiles.evaluations_needed(histories, np.full(5, 3.0), tau / 2)
    grid = np.geomspace(1, 64, 20)
    for curves in (profiles.data_profile(needed, np.arange(5), grid), profiles.performance_profile(needed, grid)):
        for share in curves.values():
            assert (np.diff(share) >= 0).all()
            assert ((share >= 0) & (share <= 1)).all()
    assert all((tighter[s] >= needed[s]).all() for s in "abc")


@pytest.mark.parametrize("tau", [0.0, 1.0, np.nan])
def test_a_tau_outside_the_unit_interval_is_refused(tau):
    with pytest.raises(ValueError, match="between 0 and 1"):
        profiles.evaluations_needed(HISTORIES, START, tau)


def test_a_missing_problem_is_refused():
    with pytest.raises(ValueError, match="one per problem"):
        profiles.evaluations_needed({"a": [np.ones(3)]}, START, 0.1)


@pytest.mark.parametrize("kind", ["data", "performance"])
def test_plot_shows_each_solver(kind, tmp_path):
    pytest.importorskip("matplotlib")
    grid = np.array([1.0, 2.0, 4.0])
    axes = profiles.plot_profiles(
        {"a": np.array([0.1, 0.5, 0.9]), "b": np.array([0.2, 0.2, 1.0])}, grid, kind, "tau 1e-3"
    )
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["a", "b"]
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), [0.2, 0.2, 1.0])
    assert axes.get_xscale() == ("log" if kind == "performance" else "linear")
    axes.figure.savefig(tmp_path / "profile.png")


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="'data' or 'performance'"):
        profiles.plot_profiles({}, np.ones(2), "log", "")
