"""eglearn inside other tools, each the real one: SciPy, nevergrad, IOHprofiler."""

import json
import warnings

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import Bounds, OptimizeResult, OptimizeWarning, rosen

import eglearn

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # nevergrad's own imports
    import nevergrad as ng

    import eglearn.nevergrad

ioh = pytest.importorskip("ioh")
BOX = [(-5, 5)] * 3


def bowl(x):
    return float(np.sum((x - 1) ** 2))


def by_scipy(fun=bowl, x0=(0.5, 3, -2), **given):
    return scipy.optimize.minimize(fun, x0, method=eglearn.scipy_method, **given)


# --- SciPy --------------------------------------------------------------------------------------------------------


def test_scipy_gets_what_its_own_methods_give():
    ours, theirs = by_scipy(bounds=BOX), scipy.optimize.minimize(bowl, [0.5, 3, -2], method="Nelder-Mead", bounds=BOX)
    assert isinstance(ours, OptimizeResult)
    assert set(theirs.keys()) - {"final_simplex"} <= set(ours.keys())
    assert (ours.success, ours.status) == (True, 0)
    assert type(ours.status) is int
    np.testing.assert_allclose(ours.x, 1, atol=1e-5)
    assert len(ours.history) == ours.nfev < 1500
    assert str(ours).count("\n") > 5


@pytest.mark.parametrize("bounds", [None, Bounds([-5] * 3, [5] * 3), [(None, None), (0, None), (-5, 5)]])
def test_scipys_bounds_in_all_forms(bounds):
    x0 = (0.5, 3, -2)
    seen = []
    result = by_scipy(lambda x: seen.append(x) or bowl(x), x0, bounds=bounds)
    assert result.fun < 1e-8
    np.testing.assert_array_equal(seen[0], x0)
    assert bounds is None or min(x[2] for x in seen) >= -5


def test_a_minimum_far_from_the_start_is_found_without_bounds():
    assert by_scipy(lambda x: bowl(x - 1e4)).fun < 1e-4


def test_scipys_start_outside_the_bounds_is_moved_inside_with_a_warning():
    for method in ("Nelder-Mead", eglearn.scipy_method):
        with pytest.warns(OptimizeWarning, match="Initial guess is not within the specified bounds"):
            result = scipy.optimize.minimize(bowl, [9.0, 0.0], method=method, bounds=[(-5, 5)] * 2)
        np.testing.assert_allclose(result.x, 1, atol=1e-3)


def test_scipys_options():
    result = by_scipy(options={"maxfev": 40}, bounds=BOX)
    assert (result.nfev, result.success, result.status) == (40, False, 1)
    result = by_scipy(options={"maxiter": 3}, bounds=BOX)
    assert (result.nit, result.success, result.status) == (3, False, 1)
    assert "Maximum number of iterations" in result.message
    assert by_scipy(options={"target": 0.1}, bounds=BOX).fun <= 0.1
    assert by_scipy(options={"seed": 1}, bounds=BOX).nfev != 0
    assert by_scipy(tol=1e-3, bounds=BOX).message.startswith("No value was lower by more than ftol = 0.001")
    with pytest.warns(OptimizeWarning, match="Unknown solver options: eps, gtol"):
        by_scipy(options={"gtol": 1, "eps": 2, "maxfev": 9}, bounds=BOX)
    with pytest.warns(OptimizeWarning, match=r"Unknown solver options: maxfun \(maxfev limits the evaluations\)"):
        by_scipy(options={"maxfun": 9, "maxfev": 9}, bounds=BOX)


def test_scipys_args_and_message(capsys):
    result = by_scipy(lambda x, a, b: a * bowl(x) + b, args=(2, 3), bounds=BOX, options={"disp": True})
    assert result.fun == pytest.approx(3)
    assert capsys.readouterr().out.strip() == result.message


def test_scipys_callbacks():
    seen = []
    by_scipy(callback=seen.append, bounds=BOX, options={"maxfev": 60})
    assert all(x.shape == (3,) for x in seen)
    assert len(seen) > 3

    def until(intermediate_result):
        assert isinstance(intermediate_result, OptimizeResult)
        assert intermediate_result.status == 0 or intermediate_result.fun < 1
        if intermediate_result.fun < 1:
            raise StopIteration

    result = by_scipy(callback=until, bounds=BOX)
    assert (result.status, result.success, result.message) == (99, False, "`callback` raised `StopIteration`.")


def test_scipy_constraints_and_derivatives():
    with pytest.raises(ValueError, match="constraints are not supported: pass bounds, or add a penalty"):
        by_scipy(constraints={"type": "ineq", "fun": lambda x: x[0]})
    with pytest.warns(RuntimeWarning, match="eglearn uses no derivatives: jac is not used"):
        by_scipy(jac=lambda x: 2 * (x - 1), bounds=BOX, options={"maxfev": 9})


def test_inside_basinhopping():
    arguments = {"method": eglearn.scipy_method, "bounds": BOX, "options": {"maxfev": 300}}
    result = scipy.optimize.basinhopping(rosen, [2, 2, 2], niter=2, minimizer_kwargs=arguments, rng=0)
    assert result.fun < 1


# --- nevergrad ----------------------------------------------------------------------------------------------------


def test_nevergrad_finds_it_in_its_registry():
    optimizer = ng.optimizers.registry["EGL"](ng.p.Array(init=np.full(5, 3.0)), budget=600)
    recommended = optimizer.minimize(bowl)
    assert optimizer.num_tell == 600
    assert bowl(recommended.value) < 1e-8
    random = ng.optimizers.registry["RandomSearch"](ng.p.Array(init=np.full(5, 3.0)), budget=600)
    assert bowl(recommended.value) < bowl(random.minimize(bowl).value)


@pytest.mark.parametrize("workers", [1, 7, 40])
def test_nevergrad_with_bounds_logs_integers_and_workers(workers):
    space = ng.p.Instrumentation(
        x=ng.p.Array(shape=(2,)).set_bounds(-1, 4),
        rate=ng.p.Log(lower=1e-4, upper=1),
        k=ng.p.Scalar(lower=0, upper=9).set_integer_casting(),
    )

    def loss(x, rate, k):
        assert (x >= -1).all()
        assert (x <= 4).all()
        return bowl(x) + np.log10(rate / 1e-2) ** 2 + (k - 7) ** 2

    optimizer = ng.optimizers.registry["EGL"](space, budget=800, num_workers=workers)
    optimizer.parametrization.random_state.seed(3)
    open_points = []
    while optimizer.num_tell < 800:
        while len(open_points) < workers and optimizer.num_ask < 800:
            open_points.append(optimizer.ask())
        candidate = open_points.pop(len(open_points) // 2)
        optimizer.tell(candidate, loss(**candidate.kwargs))
    assert loss(**optimizer.recommend().kwargs) < 0.1
    assert optimizer.optimiser.nit > 10  # batches: the search goes on, whatever the number of workers


def test_nevergrad_failures_unasked_points_pickles_and_points_that_are_never_told(tmp_path):
    optimizer = ng.optimizers.registry["EGL"](ng.p.Array(init=np.full(2, 3.0)), num_workers=2)  # without a budget
    for i in range(300):
        candidate = optimizer.ask()
        if i % 50 == 9:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nevergrad warns of failures
            optimizer.tell(candidate, np.nan if i % 7 == 3 else bowl(candidate.value))
    best = optimizer.parametrization.spawn_child(new_value=np.array([1.0, 1.0]))
    optimizer.tell(best, 0.0)
    optimizer.dump(tmp_path / "optimizer.pkl")
    again = type(optimizer).load(tmp_path / "optimizer.pkl")
    assert bowl(again.recommend().value) == 0.0
    np.testing.assert_array_equal(again.ask().value, optimizer.ask().value)


# --- IOHprofiler --------------------------------------------------------------------------------------------------


def test_an_experiment_of_iohprofiler(tmp_path, monkeypatch):
    from eglearn.ioh import Algorithm

    monkeypatch.chdir(tmp_path)
    algorithm = Algorithm(evaluations_per_coordinate=200, seed=5)
    experiment = ioh.Experiment(
        algorithm, fids=[1, 8], iids=[1], dims=[3], reps=2, algorithm_name="eglearn", zip_output=False,
        output_directory=str(tmp_path), folder_name="data",
    )  # fmt: skip
    experiment()
    runs = {}
    for path in tmp_path.rglob("*.json"):
        data = json.loads(path.read_text())
        assert data["algorithm"]["name"] == "eglearn"
        runs[data["function_id"]] = [run for scenario in data["scenarios"] for run in scenario["runs"]]
    assert {len(some) for some in runs.values()} == {2}
    assert runs[8][0]["best"] != runs[8][1]["best"]  # each has its own seed
    assert all(0 < run["evals"] <= 600 for some in runs.values() for run in some)
    assert all(run["best"]["y"] < 1e-7 for run in runs[1])  # the sphere
