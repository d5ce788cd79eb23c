"""Policies that balance or swing up a pole. The variables are gains or the weights of a small network.

Cart and pole: Barto, Sutton and Anderson, IEEE Trans. SMC 13 (1983) 834, without friction. Acrobot, a double pendulum
driven at the elbow: Sutton and Barto, *Reinforcement Learning* (1998), sec. 11.3. Both are integrated by the
semi-implicit Euler rule, all starts at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..base import Array, Objective, Problem, uniform_box

Policy = Callable[[Array, Array], Array]
"""From weights and features (features, starts) to the command between -1 and 1, of shape (starts,)."""

STEPS = 100
GRAVITY = 9.8


def _linear(w: Array, features: Array) -> Array:
    return np.asarray(np.tanh(w[:-1] @ features + w[-1]))


def _network(hidden: int) -> Policy:
    """One hidden layer of tanh units."""

    def policy(w: Array, features: Array) -> Array:
        size = features.shape[0]
        inner, rest = w[: hidden * size].reshape(hidden, size), w[hidden * size :]
        return _linear(rest[hidden:], np.tanh(inner @ features + rest[:hidden, None]))

    return policy


def _weights(features: int, hidden: int) -> int:
    return hidden * features + 2 * hidden + 1


def _cart_pole(w: Array, policy: Policy, force: float, start: Array, gusts: Array | None = None) -> float:
    """Return the mean cost; angle 0 is upright. ``start`` has shape (4, starts), ``gusts`` (STEPS, starts)."""
    cart, pole, half, dt = 1.0, 0.1, 0.5, 0.04
    total, moment = cart + pole, pole * half
    x, v, angle, spin = start.copy()
    cost = np.zeros(x.size)
    for step in range(STEPS):
        s, c = np.sin(angle), np.cos(angle)
        command = policy(w, np.array([x, v, s, c, spin]))
        push = force * command if gusts is None else force * command + gusts[step]
        temp = (push + moment * spin * spin * s) / total
        turn = (GRAVITY * s - c * temp) / (half * (4.0 / 3.0 - pole / total * c * c))
        v += dt * (temp - moment / total * turn * c)
        x += dt * v
        spin += dt * turn
        angle += dt * spin
        cost += 1.0 - c + 0.02 * np.minimum(x * x, 25.0) + 0.01 * command * command
    return float(cost.mean() / STEPS)


def _acrobot(w: Array, policy: Policy, torque: float, start: Array) -> float:
    """Return the mean height that the tip lacks, 0 for upright to 1 for hanging. ``start`` has shape (4, starts).

    Unit masses, lengths and moments of inertia, centres of mass in the middle; speeds are limited as in the book.
    """
    dt = 0.05
    a, b, va, vb = start.copy()
    cost = np.zeros(a.size)
    for _ in range(STEPS):
        sb, cb = np.sin(b), np.cos(b)
        sa, ca = np.sin(a), np.cos(a)
        tip = np.sin(a + b)
        command = policy(w, np.array([sa, ca, sb, cb, va / 4, vb / 8]))
        d1 = 3.5 + cb
        d2 = 1.25 + 0.5 * cb
        phi2 = 0.5 * GRAVITY * tip  # cos(t - pi/2) = sin(t)
        phi1 = -0.5 * vb * sb * (vb + 2 * va) + 1.5 * GRAVITY * sa + phi2
        ab = (torque * command + d2 / d1 * phi1 - 0.5 * va * va * sb - phi2) / (1.25 - d2 * d2 / d1)
        aa = -(d2 * ab + phi1) / d1
        va = np.minimum(np.maximum(va + dt * aa, -4 * np.pi), 4 * np.pi)
        vb = np.minimum(np.maximum(vb + dt * ab, -9 * np.pi), 9 * np.pi)
        a = a + dt * va
        b = b + dt * vb
        cost += 2.0 + ca + np.cos(a + b)
    return float(cost.mean() / (4 * STEPS))


def _fixed(cost: Callable[[Array], float]) -> Callable[[np.random.Generator | None], Objective]:
    return lambda rng: cost


def _network_start(n: int) -> Array:
    return np.random.default_rng(n).normal(0.0, 0.3, n)


def cart_pole_balance() -> Problem:
    """Gains of a linear regulator that keeps a pole upright on a cart, from 8 tilted starts. 6 variables.

    Features: position, speed, sine and cosine of the angle, spin; and a constant.
    """
    start = np.random.default_rng(0).uniform(-1, 1, (4, 8)) * np.array([[1.0], [0.5], [0.4], [0.5]])
    return Problem(
        *uniform_box(6, -20, 20),
        x0=np.array([0.0, 0.0, 1.0, 0.0, 0.2, 0.0]),  # against the tilt, too weakly
        budget=300,
        build=_fixed(lambda w: _cart_pole(w, _linear, 10.0, start)),
        sequential=STEPS,
    )


def acrobot_pump() -> Problem:
    """Gains of a linear law that lifts a double pendulum by its elbow, from 4 hanging starts. 7 variables."""
    start = np.random.default_rng(1).uniform(-0.2, 0.2, (4, 4))
    return Problem(
        *uniform_box(7, -10, 10),
        x0=np.full(7, 0.1),
        budget=500,
        build=_fixed(lambda w: _acrobot(w, _linear, 3.0, start)),
        sequential=STEPS,
    )


def cart_pole_swing_up() -> Problem:
    """Weights of a network that swings up a hanging pole and keeps it there, from 4 starts. 57 variables."""
    start = np.random.default_rng(2).uniform(-0.2, 0.2, (4, 4)) + np.array([[0.0], [0.0], [np.pi], [0.0]])
    n = _weights(5, 8)
    return Problem(
        *uniform_box(n, -5, 5),
        x0=_network_start(n),
        budget=5_000,
        build=_fixed(lambda w: _cart_pole(w, _network(8), 15.0, start)),
        sequential=STEPS,
    )


def acrobot_swing_up() -> Problem:
    """Weights of a network that swings up a double pendulum by its elbow, from 4 starts. 65 variables."""
    start = np.random.default_rng(3).uniform(-0.2, 0.2, (4, 4))
    n = _weights(6, 8)
    return Problem(
        *uniform_box(n, -5, 5),
        x0=_network_start(n),
        budget=5_000,
        build=_fixed(lambda w: _acrobot(w, _network(8), 4.0, start)),
        sequential=STEPS,
    )


def cart_pole_gusts() -> Problem:
    """Weights of a network that balances a pole in gusts of wind; each call has new starts and gusts. 29 variables.

    The value without noise is the mean over 64 fixed starts and gusts.
    """

    def draw(rng: np.random.Generator, starts: int) -> tuple[Array, Array]:
        start = rng.uniform(-1, 1, (4, starts)) * np.array([[1.0], [0.5], [0.4], [0.5]])
        return start, rng.normal(0.0, 2.0, (STEPS, starts))

    def build(rng: np.random.Generator | None) -> Objective:
        if rng is not None:
            return lambda w: _cart_pole(w, _network(4), 10.0, *draw(rng, 8))
        start, gusts = draw(np.random.default_rng(4), 64)
        return lambda w: _cart_pole(w, _network(4), 10.0, start, gusts)

    n = _weights(5, 4)
    return Problem(
        *uniform_box(n, -5, 5), x0=_network_start(n), budget=2_000, build=build, noisy=True, sequential=STEPS
    )


def acrobot_pump_noisy() -> Problem:
    """Gains of a linear law that lifts a double pendulum; each call has new starts. 7 variables.

    The value without noise is the mean over 64 fixed starts.
    """

    def build(rng: np.random.Generator | None) -> Objective:
        if rng is not None:
            return lambda w: _acrobot(w, _linear, 3.0, rng.uniform(-0.5, 0.5, (4, 4)))
        start = np.random.default_rng(5).uniform(-0.5, 0.5, (4, 64))
        return lambda w: _acrobot(w, _linear, 3.0, start)

    return Problem(
        *uniform_box(7, -10, 10), x0=np.full(7, 0.1), budget=1_000, build=build, noisy=True, sequential=STEPS
    )


PROBLEMS = (
    cart_pole_balance,
    acrobot_pump,
    cart_pole_swing_up,
    acrobot_swing_up,
    cart_pole_gusts,
    acrobot_pump_noisy,
)
