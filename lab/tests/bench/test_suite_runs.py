import numpy as np
import pytest

pytest.importorskip("pyarrow")

import eglearn_lab.bench  # noqa: F401
from eglearn_lab.bench.suite_runs import SuiteJob, SuiteRuns, history, problems


@pytest.mark.parametrize(("name", "reached"), [("auto", 0.2), ("slsqp", 1e-9)])
def test_a_run_without_a_box_keeps_its_improvements(name, reached):
    problem = "smooth-04-rosenbrock-n2"
    row = SuiteRuns().execute(SuiteJob("more-wild-smooth", problem, name, 0, 120))
    assert row["error"] == ""
    assert row["evaluations"] <= 120
    assert (np.diff(row["improved_to"]) < 0).all()
    curve = history(row["evaluations"], row["improved_at"], row["improved_to"])
    assert row["y0"] == curve[0] == pytest.approx(24.2)
    assert curve[-1] < reached


def test_of_noisy_problems_values_without_noise_are_kept():
    row = SuiteRuns().execute(SuiteJob("more-wild-stochastic", "stochastic-04-rosenbrock-n2", "slsqp", 0, 30))
    assert row["improved_to"][0] == pytest.approx(24.2, abs=1e-12)


def test_an_unknown_suite_is_refused():
    with pytest.raises(ValueError, match="allowed is one of more-wild-smooth"):
        problems("less-wild")
