"""Every algorithm by its name: through ``minimize``, and by ask and tell."""

import numpy as np
import pytest

import eglearn
from eglearn import EGL, AutoEGL, AutoSettings, ConvergentSettings, EGLSettings, IGLSettings, Status, minimize
from eglearn.algorithms import ALGORITHMS, find_algorithm
from eglearn.asktell import AskTell
from eglearn.search.registry import SEARCHES
from eglearn.serialize import dumps, loads

BOX = [(-3.0, 4.0)] * 4
BUDGET = 150
NAMES = pytest.mark.parametrize("name", ALGORITHMS)


def f(x):
    return float(np.sum((x - 0.7) ** 2) + 0.1 * np.sum(np.abs(x - 0.7)))


def settings_for(name):
    """None, or fewer training steps where networks would take long."""
    if name == "igl":
        return IGLSettings(hidden=(16,), training_steps=5)
    return None


def by_ask_and_tell(opt):
    asked = []
    while not opt.stop():
        x = opt.ask()
        asked.append(x)
        opt.tell(x, [f(point) for point in x])
    return np.concatenate(asked)


def test_the_names_are_the_searches_and_the_default():
    assert set(ALGORITHMS) == {"auto", *SEARCHES}
    for name, kind in ALGORITHMS.items():
        assert kind.name == name
        assert issubclass(kind, AskTell)
        assert kind.settings_class() is kind.search_class.settings_class


@NAMES
def test_minimize_and_ask_and_tell_are_the_same_run(name):
    seen = []

    def remembered(x):
        seen.append(x.copy())
        return f(x)

    settings = settings_for(name)
    res = minimize(remembered, BOX, budget=BUDGET, algorithm=name, settings=settings, seed=3)
    opt = ALGORITHMS[name](BOX, budget=BUDGET, settings=settings, seed=3)
    asked = by_ask_and_tell(opt)
    np.testing.assert_array_equal(np.array(seen), asked)
    assert (asked >= -3).all()
    assert (asked <= 4).all()
    assert (res.nfev, res.fun, res.status) == (opt.nfev, opt.best_y, opt.stop())
    assert res.x.tolist() == opt.best_x.tolist()
    assert res.fun == min(map(f, asked)) < f(asked[0])
    assert res.status in (Status.BUDGET, Status.CONVERGED)


@NAMES
def test_the_class_is_as_good_as_its_name(name):
    settings = settings_for(name)
    by_name, by_class = (
        minimize(f, BOX, budget=40, algorithm=wanted, settings=settings) for wanted in (name, ALGORITHMS[name])
    )
    assert (by_name.fun, by_name.x.tolist()) == (by_class.fun, by_class.x.tolist())


@NAMES
def test_a_state_goes_on_under_its_own_name_alone(name):
    kind = ALGORITHMS[name]
    opt = kind(BOX, budget=BUDGET, settings=settings_for(name), seed=1)
    x = opt.ask()
    opt.tell(x[:2], [f(point) for point in x[:2]])
    state = loads(dumps(opt.state()))
    assert state["algorithm"] == name
    np.testing.assert_array_equal(by_ask_and_tell(kind.from_state(state)), by_ask_and_tell(opt))
    other = ALGORITHMS["egl" if name != "egl" else "auto"]
    with pytest.raises(ValueError, match=f"belongs to the algorithm '{name}', not to '{other.name}'"):
        other.from_state(state)


@NAMES
def test_settings_of_its_own_class_and_of_no_other(name):
    kind = ALGORITHMS[name]
    assert find_algorithm(name, kind.settings_class()()) is kind
    wrong = ConvergentSettings() if name != "convergent-egl" else EGLSettings()
    with pytest.raises(TypeError, match=f"the algorithm '{name}' takes {kind.settings_class().__name__}"):
        minimize(f, BOX, budget=20, algorithm=name, settings=wrong)


@pytest.mark.parametrize(
    ("settings", "name"), [(EGLSettings(), "egl"), (IGLSettings(), "igl"), (ConvergentSettings(), "convergent-egl")]
)
def test_settings_do_not_choose_the_algorithm_but_the_error_says_which(settings, name):
    with pytest.raises(TypeError, match=f"algorithm={name!r}") as caught:
        minimize(f, BOX, budget=20, settings=settings)
    assert "'auto' takes AutoSettings" in str(caught.value)


def test_what_is_no_algorithm_is_named_beside_those_there_are():
    for wrong in ("EGL", "", "cma", dict, 3):
        with pytest.raises(ValueError, match="algorithm = ") as caught:
            minimize(f, BOX, budget=20, algorithm=wrong)
        assert repr(wrong) in str(caught.value)
        assert all(repr(name) in str(caught.value) for name in ALGORITHMS)


def test_without_a_name_it_is_the_default():
    assert find_algorithm(None) is AutoEGL is find_algorithm("auto", AutoSettings(m=4))


def test_a_class_of_ones_own():
    class Careful(EGL):
        name = "careful"

    assert find_algorithm(Careful) is Careful
    assert minimize(f, BOX, budget=60, algorithm=Careful).fun == minimize(f, BOX, budget=60, algorithm="egl").fun


def test_whatever_is_public_is_there():
    for name in eglearn.__all__:
        assert getattr(eglearn, name).__doc__
    assert not hasattr(eglearn, "Settings")
