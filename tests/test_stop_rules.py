"""ftol, xtol and patience: they end runs that make no more progress, and only these."""

import numpy as np
import pytest
from scipy.optimize import rosen

from eglearn import Status, minimize
from eglearn.cli import main
from eglearn.evaluation import Outcome
from eglearn.stop_rules import StopRules

BOX = [(-5, 5)] * 10


def bowl(x):
    return float(np.sum((x - 1) ** 2))


@pytest.mark.parametrize(
    ("rule", "status", "words"),
    [
        ({"ftol": 1e-8}, Status.FTOL, "No value was lower by more than ftol = 1e-08 for 600 evaluations."),
        ({"xtol": 1e-5}, Status.XTOL, "The best point moved by no more than xtol for 600 evaluations."),
        ({"xtol": np.full(10, 1e-5)}, Status.XTOL, "The best point moved by no more than xtol for 600 evaluations."),
        ({"patience": 300}, Status.PATIENCE, "There was no lower value for 300 evaluations."),
        ({"ftol": 1e-8, "patience": 100}, Status.FTOL, "ftol = 1e-08 for 100 evaluations."),
    ],
)
def test_a_bowl_ends_below_a_thousand_evaluations(rule, status, words):
    result = minimize(bowl, BOX, budget=50_000, **rule)
    assert result.nfev < 1000
    assert result.status is status
    assert result.success
    assert result.message.endswith(words)
    assert result.fun < 1e-10


def test_rules_are_off_unless_given():
    assert minimize(bowl, BOX, budget=2500).nfev == 2500


ROTATION = np.linalg.qr(np.random.default_rng(0).standard_normal((10, 10)))[0]


def narrow(x):  # condition number 1e6
    return float(np.sum(10 ** (6 * np.arange(10) / 9) * (ROTATION @ (x - 1)) ** 2))


@pytest.mark.parametrize("fun", [rosen, narrow])
@pytest.mark.parametrize("rule", [{"ftol": 1e-8}, {"xtol": 1e-5}])
def test_valleys_are_followed_to_their_end(fun, rule):
    result = minimize(fun, BOX, np.full(10, 0.5), budget=20_000, **rule)
    assert result.nfev < 5000
    assert result.fun < 1e-8


def ridge(x):  # one valley, but the first descent gets stuck on its sharp floor
    z = ROTATION @ (x - 1)
    return float(z[0] ** 2 + 100 * np.sqrt(np.sum(z[1:] ** 2)))


@pytest.mark.parametrize("patience", [100, 600, 2000])
def test_a_run_ends_so_many_evaluations_after_the_last_progress_whatever_restarts_do(patience):
    result = minimize(ridge, BOX, budget=20_000, ftol=1e-6, patience=patience)
    y, last, mark = result.history.y, 0, np.inf
    for number, value in enumerate(y, start=1):
        if value < mark - 1e-6:
            last, mark = number, value
    assert result.status is Status.FTOL
    assert 0 <= result.nfev - last - patience < 30  # at the end of a batch
    assert (result.fun < 1e-6) == (patience == 2000)  # the search after the first descent needs that long


def test_slow_progress_counts_when_it_adds_up():
    rules = StopRules(1, ftol=1.0, patience=10)
    for i in range(100):
        rules.told(np.zeros(1), Outcome(-0.2 * i))
        assert rules.status() is None
    for _ in range(10):
        rules.told(np.zeros(1), Outcome(0.0))
    assert rules.status() is Status.FTOL


def test_a_point_that_moves_at_equal_values_is_no_progress_but_one_that_gains_is():
    rules = StopRules(2, xtol=0.1, patience=5)
    rules.told(np.zeros(2), Outcome(1.0))
    for i in range(20):
        assert rules.status() is None
        rules.told(np.array([0.0, 0.2 * (i + 1)]), Outcome(0.9**i))
    for i in range(5):
        rules.told(np.array([0.0, 99.0 + i]), Outcome(1.0))
    assert rules.status() is Status.XTOL


def test_failures_count_as_evaluations_but_a_run_without_a_value_goes_on():
    rules = StopRules(1, patience=3)
    for _ in range(5):
        rules.told(np.zeros(1), Outcome(np.nan, "no mesh"))
    assert rules.status() is None
    for outcome in (Outcome(1.0), *[Outcome(np.nan, "no mesh")] * 3):
        rules.told(np.zeros(1), outcome)
    assert rules.status() is Status.PATIENCE


def test_a_stored_run_that_was_stopped_so_is_finished(tmp_path):
    first = minimize(bowl, BOX, budget=50_000, xtol=1e-5, store=tmp_path / "run.egl", keep_x="improvements")
    again = minimize(lambda x: 1 / 0, BOX, budget=50_000, xtol=1e-5, store=tmp_path / "run.egl", fingerprint="any")
    assert (again.nfev, again.fun, again.status) == (first.nfev, first.fun, Status.XTOL)


def test_a_run_that_was_interrupted_stops_where_it_would_have(tmp_path):
    whole = minimize(bowl, BOX, budget=50_000, ftol=1e-8)
    calls = 0

    def flaky(x):
        nonlocal calls
        calls += 1
        if calls == 333:
            raise KeyboardInterrupt
        return bowl(x)

    path = tmp_path / "run.egl"
    part = minimize(flaky, BOX, budget=50_000, ftol=1e-8, store=path)
    assert part.status is Status.INTERRUPTED
    rest = minimize(flaky, BOX, budget=50_000, ftol=1e-8, store=path)
    assert (rest.nfev, rest.fun, rest.message) == (whole.nfev, whole.fun, whole.message)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"ftol": -1}, "ftol = -1: it must be a finite number, 0 or more"),
        ({"ftol": "small"}, "ftol = 'small'"),
        ({"xtol": [1, 2]}, r"xtol = \[1, 2\]: .* one for each of 10 coordinates"),
        ({"patience": 0}, "patience = 0: it must be a whole number of evaluations above 0"),
        ({"patience": 2.5}, "patience = 2.5"),
        ({"xtol": 0.1, "store": "x.egl", "keep_x": "none"}, "xtol needs points, but keep_x = 'none'"),
    ],
)
def test_wrong_rules_are_refused(rule, words):
    with pytest.raises(ValueError, match=words):
        minimize(bowl, BOX, budget=10, **rule)


def test_rules_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sim.py").write_text("def bowl(x):\n    return float(sum((x - 1) ** 2))\n")
    words = ["run", "sim:bowl", "--dim", "5", "--bounds", "-5", "5", "--budget", "9000", "--quiet"]
    assert main([*words, "--ftol", "1e-6", "--patience", "150"]) == 0
    assert "No value was lower by more than ftol = 1e-06 for 150 evaluations." in capsys.readouterr().out
    assert main([*words, "--ftol", "1e-6", "--patience", "150"]) == 0
    out = capsys.readouterr().out
    assert "Nothing was evaluated" in out
    assert "to continue, give a smaller --ftol or a larger --patience" in out
    assert main(["resume", "run.egl", "--patience", "300", "--trust"]) == 0  # the ftol of before stays
    assert "ftol = 1e-06 for 300 evaluations" in capsys.readouterr().out
