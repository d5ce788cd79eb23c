"""Descents in two dimensions: along a field learned once over the box, or learned anew around each candidate."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..bench.problems import NoiseFree, Problem
from ..ours import EGLSettings, LinearRegion, OutputMap, Replay, Samples, ball, gradient_model, value_model

HALF_WIDTH = 5.0  # of COCO's box: from u in [-1, 1] to x
SETTINGS = EGLSettings(
    model="spline", order="first", m=64, replay=8, splines=8, width=64, blocks=2, minibatch=128, training_steps=30
)
_FIELD_STEPS, _FIELD_PAIRS = 3000, 20_000


class Landscape:
    """A problem in the cube [-1, 1]^2; a call maps points (k, 2) to gaps (k,): values above the lowest.

    Attributes
    ----------
    title : str
        Its function and instance.
    best : (2,)
        Where the lowest value is.
    highest : float
        The largest gap on a grid over the box.
    """

    def __init__(self, problem: Problem) -> None:
        self.title = f"f{problem.function} i{problem.instance}"
        self._f = NoiseFree(problem)
        self.best = self._f.best_parameter() / HALF_WIDTH
        self._lowest = self._f.optimum()
        line = np.linspace(-1, 1, 101)
        self.highest = float(self(np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)).max())

    def __call__(self, u: Array) -> Array:
        """Gaps (k,) at points (k, 2)."""
        return np.array([self._f(HALF_WIDTH * point) for point in u]) - self._lowest


@dataclass(frozen=True)
class Descent:
    """A path: candidates (K + 1, 2) in the cube, their gaps, and the gradients (K, 2) that were followed."""

    u: Array
    gaps: Array
    gradients: Array

    @property
    def efficiency(self) -> float:
        """From start to end as the crow flies, over the length of the path: 1 is a straight line."""
        length = float(np.sum(np.linalg.norm(np.diff(self.u, axis=0), axis=1)))
        return float(np.linalg.norm(self.u[-1] - self.u[0])) / length if length > 0 else 0.0

    @property
    def jitter(self) -> float:
        """Root mean square of the change from step to step over that of the steps: 0 straight, 2 to and fro."""
        steps = np.diff(self.u, axis=0)
        size = float(np.linalg.norm(steps))
        return float(np.linalg.norm(np.diff(steps, axis=0))) / size if size > 0 else 0.0

    @property
    def last_steps(self) -> float:
        """Mean length of the last quarter of the steps."""
        steps = np.linalg.norm(np.diff(self.u, axis=0), axis=1)
        return float(np.mean(steps[-max(1, len(steps) // 4) :]))

    @property
    def steepest(self) -> float:
        """The largest gradient followed."""
        return float(np.max(np.linalg.norm(self.gradients, axis=1)))

    @property
    def end(self) -> float:
        """The gap at the end of the path."""
        return float(self.gaps[-1])


def learn_field(f: Landscape, epsilon: float, size: float, rng: np.random.Generator) -> Callable[[Array], Array]:
    """The mean-gradient over the whole box, for values scaled to [-1, 1] there: (k, 2) to (k, 2)."""
    count = max(1000, round(_FIELD_PAIRS * size))
    first = rng.uniform(-1, 1, (count, 2))
    second = first + epsilon * ball(rng, count, 2)
    pairs = np.stack([first, second], axis=1)[(np.abs(second) <= 1).all(axis=1)].reshape(-1, 2)
    v = 2 * f(pairs) / f.highest - 1
    unit = float(np.std(v[1::2] - v[::2]))  # trained in this unit: small radii would else learn slowly
    settings = dataclasses.replace(SETTINGS, minibatch=512, training_steps=max(1, round(_FIELD_STEPS * size)))
    samples = Samples(pairs, v / unit, (2,) * (len(pairs) // 2), np.zeros(2))
    fit = gradient_model(settings, 2, rng).fit(samples, 0.0, rng)
    return lambda u: unit * fit.gradient(u)


def follow(f: Landscape, field: Callable[[Array], Array], starts: Array, alpha: float, steps: int) -> list[Descent]:
    """Gradient steps of constant ``alpha`` from each of the ``starts`` (k, 2), kept in the box."""
    u, gradients = [starts], []
    for _ in range(steps):
        gradients.append(field(u[-1]))
        u.append(np.clip(u[-1] - alpha * gradients[-1], -1, 1))
    paths, slopes = np.stack(u, axis=1), np.stack(gradients, axis=1)
    return [Descent(path, f(path), slope) for path, slope in zip(paths, slopes, strict=True)]


def descend(f: Landscape, epsilons: Array, alphas: Array, rng: np.random.Generator, *, of_values: bool) -> Descent:
    """Sample, learn, step from the centre: algorithm 3 with given radii and step sizes in place of its regions.

    Parameters
    ----------
    f : Landscape
    epsilons, alphas : (K,)
        The radius and the step size of each step.
    rng : numpy.random.Generator
    of_values : bool
        IGL: learn the values and follow their gradient; else EGL.
    """
    model = (value_model if of_values else gradient_model)(SETTINGS, 2, rng)
    region, replay = LinearRegion.whole(2), Replay(SETTINGS.replay)
    u = [np.zeros(2)]
    gradients = []
    for k, (epsilon, alpha) in enumerate(zip(epsilons, alphas, strict=True)):
        batch = np.clip(u[-1] + epsilon * ball(rng, SETTINGS.batch_size(2), 2), -1, 1)
        batch[0] = u[-1]
        replay.add(batch, f(batch), region)
        output = OutputMap()
        output.update(replay.y)
        samples = replay.samples(output(replay.y), u[-1])
        for _ in range(5 if k == 0 else 1):  # a first training that is longer, as the paper's warm-up
            fit = model.fit(samples, 0.0, rng)
        gradients.append(fit.gradient(u[-1][None])[0])
        u.append(np.clip(u[-1] - alpha * gradients[-1], -1, 1))
    path = np.array(u)
    return Descent(path, f(path), np.array(gradients))
