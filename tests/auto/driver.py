"""Loops over lanes, and how tests look into them."""

import numpy as np
from tests.search.driver import centre, rotation

from eglearn.auto.loop import Loop
from eglearn.auto.plan import MANY, plan


class Lanes(Loop):
    """A loop that the driver of single searches can run."""

    done = None

    @property
    def rng(self):
        return self.board.rng


def few_loop(n, seed=0, budget=None, start=-0.3):
    """The default's lanes in few dimensions."""
    assert n < MANY
    return Lanes.begun(np.random.default_rng(seed), np.full(n, start), plan(n, budget), budget)


def many_loop(n, seed=0, budget=None, start=-0.3):
    """The default's lanes in many dimensions, also for small n, where they are quick to test."""
    return Lanes.begun(np.random.default_rng(seed), np.full(n, start), plan(MANY, budget), budget)


def lane(loop, role):
    """The number of the lane with that role, and the lane."""
    return next((k, one) for k, one in enumerate(loop.lanes) if one.role is role)


def put(loop, role, search, limit=0):
    """Give that lane this search and the turn."""
    k, one = lane(loop, role)
    one.search, one.limit = search, limit
    loop.policy._turn_to(k)
    return one


def step(loop, fun):
    """One batch; returns the search that proposed it, and its points."""
    search, u = loop.search, loop.propose()
    loop.learn(u, fun(u))
    return search, u


def kinds_in_turn(loop, fun, limit):
    """Kinds of searches with evaluations, in order."""
    rows = []
    while loop.used < limit:
        search, u = step(loop, fun)
        if rows and rows[-1][0] is search:
            rows[-1][1] += len(u)
        else:
            rows.append([search, len(u)])
    return [(type(search), count) for search, count in rows]


def sphere(u):
    return np.sum((u - centre(u.shape[1])) ** 2, axis=1)


STEEP = rotation(128)[:3]


def few_directions(u):
    """Three directions out of 128 are a thousand times as curved as the others."""
    return 1e3 * np.sum((u @ STEEP.T - 0.3) ** 2, axis=1) + np.sum((u - 0.1) ** 2, axis=1)


def go_on(lane, board):
    """What follows the lane's search: in the same effort, or in a new one."""
    if not lane.follow(board):
        lane.begin(board)
