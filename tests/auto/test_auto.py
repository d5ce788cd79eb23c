"""The default as a whole."""

from enum import StrEnum

import numpy as np
import pytest
from tests.auto.driver import sphere
from tests.search.driver import rastrigin

from eglearn import AutoEGL, AutoSettings, EGLSettings, Status
from eglearn.auto.policies import Forecast, Shares


def run(opt, fun):
    while not opt.stop():
        x = opt.ask()
        opt.tell(x, fun(x))
    return opt


@pytest.mark.parametrize(("n", "start", "reached"), [(3, 0.0, 1e-12), (64, 0.2, 1e-8)])
def test_half_of_the_box_fails(n, start, reached):
    def fun(x):
        y = np.sum((x - 0.7) ** 2, axis=1)
        y[np.sum(x, axis=1) < 0] = np.nan
        return y

    opt = run(AutoEGL([(-1, 1)] * n, np.full(n, start), budget=5000), fun)
    assert opt.stop() is Status.BUDGET
    assert opt.best_y < reached


def test_rastrigin():
    opt = run(AutoEGL([(-5, 5)] * 5, np.full(5, 4.2), budget=3000, seed=2), lambda x: rastrigin(x / 5))
    assert opt.best_y < 1e-10
    assert opt.nfev == 3000
    np.testing.assert_array_equal(opt.x_favorite, opt.best_x)
    assert set(opt.progress()) == {"candidate", "epsilon", "restarts", "noisy", "doing"}


def test_a_hundred_dimensions():
    opt = run(AutoEGL([(-5, 5)] * 100, np.full(100, 2.0), budget=1500), lambda x: np.sum(x**2, axis=1))
    assert opt.best_y < 1e-3


def test_five_hundred_dimensions():
    opt = run(AutoEGL([(-5, 5)] * 500, np.full(500, 2.0), budget=6000), lambda x: np.sum((x - 1) ** 2, axis=1))
    assert opt.best_y < 1e-3


@pytest.mark.parametrize("budget", [0, 1, 2, 20, 33, 130, 137, 330, 400])
def test_any_budget(budget):
    assert run(AutoEGL([(-1, 1)] * 64, budget=budget), sphere).nfev == budget


@pytest.mark.parametrize(("n", "policy"), [(63, Shares), (64, Forecast)])
def test_the_dimension_decides_on_the_policy(n, policy):
    opt = AutoEGL([(-1, 1)] * n, np.full(n, 0.4), budget=300)
    assert isinstance(opt._search.loop.policy, policy)
    opt.tell(opt.ask(), sphere(opt.ask()))
    copy = AutoEGL.from_state(opt.state())
    assert isinstance(copy._search.loop.policy, policy)
    np.testing.assert_array_equal(copy.ask(), opt.ask())


def test_m_is_the_batch_of_the_descents():
    opt = AutoEGL([(-1, 1)] * 3, budget=100, settings=AutoSettings(m=9))
    assert len(opt.ask()) == 9


def test_settings_of_another_algorithm_are_refused():
    with pytest.raises(TypeError, match=r"settings has the type EGLSettings: the algorithm 'auto' takes AutoSettings"):
        AutoEGL([(-1, 1)] * 3, budget=100, settings=EGLSettings(epsilon=0.5))


def test_a_state_is_read_whatever_the_enums_of_the_program_are_called():
    class Role(StrEnum):
        ADMIN = "admin"

    opt = AutoEGL([(-1, 1)] * 3, budget=100)
    copy = AutoEGL.from_state(opt.state())
    assert [lane.role for lane in copy._search.loop.lanes] == [lane.role for lane in opt._search.loop.lanes]
    assert Role.ADMIN == "admin"  # it is still there
