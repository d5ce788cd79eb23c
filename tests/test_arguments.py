"""minimize(): what it is called with, and what it says at the end."""

import inspect

import numpy as np
import pytest

from eglearn import EGL, AutoEGL, EGLSettings, Status, minimize, names
from eglearn.evaluation import Command
from eglearn.store import StoreError


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
        ({"x0": "123"}, "x0 = '123': it must be a vector of numbers"),
        ({"x0": np.array(["2020", "2021", "2022"], dtype="datetime64[Y]")}, "it must be a vector of numbers"),
        ({"x0": np.ma.masked_array([0.0, 1.0, 2.0], [0, 0, 1])}, r"x0\[2\] = nan: it must be a finite number"),
        ({"bounds": {"a": (0, 1)}}, r"bounds are a dict: give one \(low, high\) pair"),
        ({"bounds": "abc"}, "bounds are a str"),
        ({"bounds": [("0", "1")]}, "bounds hold '0': they must be numbers"),
        ({"store": 3}, "store = 3: it must be the path of a file"),
        ({"store": b"run.egl"}, "store = b'run.egl': it must be the path of a file"),
        ({"store": ""}, "store = '': the path is empty"),
        ({"keep_x": "nothing"}, "keep_x = 'nothing': it must be one of 'all', 'improvements', 'none'"),
        ({"store": "a\0b"}, "a path cannot hold a zero byte"),
        ({"store": "a" * 400}, "cannot use aaaa"),
        ({"patience": 10.5}, "patience = 10.5"),
        ({"budget": 10**400}, "it must be a whole number of evaluations, from 0 to 1e18"),
        ({"bounds": [None, (0, 1), (0, 1)]}, r"write \(None, None\) where there is no bound"),
        ({"workers": lambda f, items: 3}, "workers returned 3: it must work like map"),
        ({"patience": np.inf}, "patience = inf"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_evaluated(wrong, said):
    calls = []
    with pytest.raises((TypeError, ValueError, StoreError), match=said):
        minimize(lambda x: calls.append(x) or 1.0, **{"bounds": BOX, "budget": 100} | wrong)
    assert calls == []


def test_wrong_parts_are_named():
    with pytest.raises(TypeError, match="command = 3: it must be a text, or a list of words"):
        Command(3)
    with pytest.raises(TypeError, match="state is of type int: it must be what"):
        AutoEGL.from_state(3)
    history = minimize(f, BOX, budget=9).history
    with pytest.raises(ValueError, match="names = 5: it must be a list of 3 different names"):
        history.to_pandas(5)
    with pytest.raises(ValueError, match=r"kind = \['slices'\]: it must be one of"):
        history.plot(["slices"])


def test_settings_may_be_numbers_of_numpy():
    settings = EGLSettings(m=np.int64(8), epsilon=np.float64(0.2))
    assert settings == EGLSettings(m=8, epsilon=0.2)
    assert (type(settings.m), type(settings.epsilon)) == (int, float)


def test_the_largest_scale_is_no_overflow():
    assert minimize(f, BOX, [0] * 3, scale=1e308, budget=40).fun < 1


def test_another_algorithm_in_a_store_is_named_alone(tmp_path):
    minimize(f, BOX, budget=40, store=tmp_path / "run.egl")
    with pytest.raises(StoreError, match=r"another run \(algorithm is 'auto' there and 'egl' here\): continue"):
        minimize(f, BOX, budget=40, store=tmp_path / "run.egl", algorithm="egl")
    with pytest.raises(StoreError, match="the number of coordinates is 3 there and 4 here"):
        minimize(f, [(-5, 5)] * 4, budget=40, store=tmp_path / "run.egl")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *((name, "use budget, the number of evaluations") for name in ("maxiter", "maxfev", "maxfevals", "n_trials")),
        ("sigma0", "use scale"),
        ("popsize", "use width"),
        ("tol", "use ftol"),
        ("tolx", "use xtol"),
        ("ftarget", "use target"),
        ("rng", "use seed"),
        ("n_jobs", "use workers"),
        ("method", "use algorithm"),
        ("disp", "use progress"),
        ("jac", "eglearn uses no derivatives"),
        ("constraints", "bounds are the only constraints"),
        ("options", "pass each option as an argument"),
        ("callbck", "did you mean callback?"),
        ("nonsense", "it has fun, bounds, x0, args, budget"),
    ],
)
def test_names_of_other_tools_lead_to_ours(name, said):
    with pytest.raises(TypeError, match=f"^minimize.. has no argument '{name}': ") as error:
        minimize(f, BOX, budget=10, **{name: 1})
    assert said in str(error.value)


@pytest.mark.parametrize("ours", sorted({*names._OURS, *names._FOREIGN.values()}))
def test_the_names_that_are_advised_exist(ours):
    assert ours in inspect.signature(minimize).parameters
    assert names._WHAT[ours]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: minimize(f, BOX), "needs budget, the number of evaluations, such as budget=1000"),
        (lambda: minimize(f, x0=[0] * 3, budget=9), "needs bounds, such as"),
        (
            lambda: minimize(f, [0, 0, 0], bounds=BOX, budget=9),
            "got bounds twice, by position and by name: the order is",
        ),
        (lambda: minimize(f, BOX, None, (), 100), "takes only fun, bounds, x0, args by position"),
        (
            lambda: minimize(f, [0, 0, 0], budget=9),
            "bounds of length 3 are one point, not pairs",
        ),
        (lambda: AutoEGL(BOX), "AutoEGL.. needs budget"),
        (lambda: AutoEGL(BOX, budget=9, maxfevals=9), "AutoEGL.. has no argument 'maxfevals': use budget"),
        (lambda: AutoEGL(BOX, budget=9, tolfun=9), "that is ftol of eglearn.minimize; by ask and tell, it is up to"),
        (lambda: AutoEGL(BOX, budget=9, method="egl"), "each algorithm has a class"),
        (lambda: EGL(BOX, budget=9, epsilon=0.1), r"it is a setting, pass settings=EGLSettings\(epsilon=...\)"),
    ],
)
def test_missing_and_misplaced_arguments_get_one_sentence(call, said):
    with pytest.raises((TypeError, ValueError), match=said):
        call()


def test_a_result_is_shown_in_lines_that_fit_on_a_page():
    result = minimize(f, BOX, budget=30)
    lines = str(result).splitlines()
    assert lines[0] == "   message: The budget of 30 evaluations is used."
    assert [line.split(":")[0].strip() for line in lines] == [
        *("message", "success", "status", "fun", "x", "x_favorite", "nfev", "budget", "nit", "n_failed", "progress"),
        "history",
    ]
    assert repr(result) == str(result)
    many = minimize(f, [(-5, 5)] * 300, budget=9)
    assert max(map(len, str(many).splitlines())) <= 120
    assert len(str(many).splitlines()) < 30


def test_numbers_may_come_in_any_type():
    expected = minimize(f, BOX, [0.5] * 3, budget=100)
    got = minimize(f, BOX, 0.5, budget=1e2, on_error=np.float32(3), target=np.float64(-1), max_seconds=np.int64(100))
    np.testing.assert_array_equal(got.x, expected.x)
    assert (got.nfev, got.message) == (100, expected.message)
    assert minimize(f, BOX, budget=10_000, patience=1e2).status is Status.PATIENCE
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"low": [-5] * 3, "high": [5] * 3}, index=["a", "b", "c"])
    got = minimize(f, table, pandas.Series({"a": 0.5, "b": 0.5, "c": 0.5}), budget=100)
    np.testing.assert_array_equal(got.x, expected.x)


def test_a_coroutine_is_no_number():
    async def later(x):
        return f(x)

    with pytest.raises(TypeError, match="is async: pass a plain function"):
        minimize(later, BOX, budget=10)


def test_tensors_of_torch_are_numbers():
    torch = pytest.importorskip("torch")
    expected = minimize(f, BOX, [0.5, 0.0, 1.0], budget=50)
    got = minimize(lambda x: torch.tensor(f(x), dtype=torch.float64), BOX, torch.tensor([0.5, 0.0, 1.0]), budget=50)
    np.testing.assert_array_equal(got.x, expected.x)


def test_messages_tell_what_ended_a_run_with_its_number():
    assert minimize(f, BOX, budget=100, target=2.5).message == "The target of 2.5 was reached."
    assert minimize(f, BOX, budget=10**6, max_seconds=0.01).message == "The time of 0.01 s is over."
    assert minimize(f, BOX, budget=1).message == "The budget of 1 evaluation is used."
    failed = minimize(lambda x: None, BOX, budget=100)
    assert (
        failed.message == f"All {failed.nfev} evaluations failed, the first because the objective returned None "
        "(NoneType), not a number."
    )
    assert minimize(f, [(2, 2)] * 3, budget=10).message.startswith("All coordinates are fixed")
    noise = np.random.default_rng(0)
    noisy = minimize(lambda x: f(x) * np.exp(noise.standard_normal()), BOX, budget=1000)
    assert "Values are noisy: use x_favorite" in noisy.message


def test_results_can_be_compared_and_kept_in_sets():
    one, two = (minimize(f, BOX, budget=10) for _ in range(2))
    assert one == one
    assert one != two
    assert len({one, two, one}) == 2
