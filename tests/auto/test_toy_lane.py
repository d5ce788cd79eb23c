"""A new search becomes part of the default by one line in ``SEARCHES`` and one line of a plan."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest
from tests.auto.driver import Lanes, sphere
from tests.search.driver import rotated_rastrigin

from eglearn import AutoEGL
from eglearn.auto.lanes import Place, RestartPlan
from eglearn.auto.plan import plan
from eglearn.search.base import BatchSearch, Reason
from eglearn.search.registry import SEARCHES
from eglearn.serialize import dumps, loads
from eglearn.settings import Settings, setting, whole


@dataclass(frozen=True, kw_only=True)
class ToySettings(Settings):
    radius: float = setting(0.1, "half-width of the samples around the best point", "toy")
    points: int = setting(6, "points in a batch", "toy", whole(1))
    patience: int = setting(3, "batches without a gain that end the search", "toy", whole(1))


@dataclass(init=False, eq=False, repr=False)
class Toy(BatchSearch):
    """Random points around the best one, until several batches gain nothing."""

    settings_class = ToySettings
    scale_setting = "radius"
    batch_setting = "points"

    vain: int

    def __init__(self, rng, start, settings=None, **rest):
        super().__init__(rng, start, settings, **rest)
        self.vain = 0

    @property
    def radius(self):
        return self.settings.radius

    def _propose(self):
        offsets = self.rng.uniform(-self.radius, self.radius, (self.settings.points, self.n))
        return np.clip(self.best_u + offsets, -1, 1)

    def _learn(self, u, y):
        assert self.done is None  # nobody goes on with a search that is over
        self.vain = 0 if self._note_best(u, y) else self.vain + 1
        if self.vain == self.settings.patience:
            self.done = Reason.FAILED if np.isnan(self.best_y) else Reason.STAGNANT


BUDGET = 10_000
TOY = RestartPlan(search="toy", settings=ToySettings(points=8), place=Place.RANDOM, scale=0.3)


def plan_with_toy(n, budget):
    planned = plan(n, budget)
    return dataclasses.replace(planned, lanes=(*planned.lanes, TOY))


def auto_with_toy(n, budget):
    return AutoEGL([(-1, 1)] * n, np.full(n, -0.3), budget=budget, plan=plan_with_toy(n, budget))


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(SEARCHES, "toy", Toy)


def toy_lane(opt):
    return opt._search.loop.lanes[-1]


def run(opt, fun, limit):
    """Evaluations of the toy, and how many toys there were."""
    used, toys = 0, []
    while opt.nfev < limit and not opt.stop():
        active = opt._search.active
        x = opt.ask()
        opt.tell(x, fun(x))
        if isinstance(active, Toy):
            used += len(x)
            toys += [active] * (not toys or toys[-1] is not active)
    return used, len(toys)


@pytest.mark.parametrize("n", [4, 64])
def test_it_runs_as_planned_and_begins_again(n):
    opt = auto_with_toy(n, BUDGET)
    used, toys = run(opt, rotated_rastrigin, BUDGET)
    assert toys > 3
    assert 0.01 * BUDGET < used < 0.5 * BUDGET
    search = toy_lane(opt).search
    assert isinstance(search, Toy)
    assert (search.radius, search.settings.points) == (0.3, 8)
    assert opt._search.loop.board.restarts >= toys - 1


@pytest.mark.parametrize("n", [4, 64])
def test_success_earns_it_evaluations(n):
    """Values depend on who asks: the noise guard, which would see that, is left out."""

    def share(bonus):
        loop = Lanes.begun(np.random.default_rng(0), np.full(n, -0.3), plan_with_toy(n, BUDGET), BUDGET)
        used = 0
        while loop.used < BUDGET:
            toy, u = isinstance(loop.search, Toy), loop.propose()
            loop.learn(u, rotated_rastrigin(u) - bonus * toy * (1 + used / BUDGET))
            used += toy * len(u)
        return used / BUDGET

    assert share(1e3) > 1.5 * share(0.0)


@pytest.mark.parametrize("n", [4, 64])
def test_it_resumes_from_a_state(n):
    opt = auto_with_toy(n, BUDGET)
    while not isinstance(opt._search.active, Toy) or opt._search.active.used < 16:
        x = opt.ask()
        opt.tell(x, rotated_rastrigin(x))
    copy = AutoEGL.from_state(loads(dumps(opt.state())))
    assert isinstance(copy._search.active, Toy)
    for _ in range(200):
        x = opt.ask()
        np.testing.assert_array_equal(copy.ask(), x)
        for one in (opt, copy):
            one.tell(x, rotated_rastrigin(x))


@pytest.mark.parametrize("n", [4, 64])
def test_where_all_of_its_points_fail_it_begins_at_the_best_point(n):
    opt = auto_with_toy(n, BUDGET)
    while not isinstance(opt._search.active, Toy):
        x = opt.ask()
        opt.tell(x, sphere(x))
    first = opt._search.active
    while first.done is None:
        x = opt.ask()
        opt.tell(x, np.full(len(x), np.nan) if opt._search.active is first else sphere(x))
    assert first.done is Reason.FAILED
    np.testing.assert_array_equal(toy_lane(opt).search.best_u, opt._search.loop.board.best_u)
