"""Training the networks of the garments on FashionMNIST; a killed training goes on from its last checkpoint.

Needs ``eglearn[nn]``. About half an hour on one core; `eglearn data train-garments` is the command.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .networks import LATENT, Classifier, Discriminator, Generator

Report = Callable[[int, dict[str, float]], None]
"""Called after each step with the number of steps done and the losses."""

Network = TypeVar("Network", bound=torch.nn.Module)

_BATCH = 64
_CHECKPOINT_EVERY = 200
_AVERAGE = 0.998  # of the generator's weights: a mean over the last 500 steps or so
_KEEP = 0.99  # of the losses that are reported


class Training:
    """What all trainings share: steps with a generator of their own, and checkpoints that replace each other."""

    def __init__(self, parts: dict[str, Any], seed: int, checkpoint: Path) -> None:
        self.parts, self.file = parts, checkpoint
        self.rng = torch.Generator().manual_seed(seed + 1)  # the weights were drawn with the seed itself
        self.done = 0
        self.losses: dict[str, float] = {}
        if checkpoint.exists():
            held = torch.load(checkpoint, weights_only=True)
            for name, part in parts.items():
                part.load_state_dict(held[name])
            self.rng.set_state(held["rng"])
            self.done, self.losses = held["done"], held["losses"]

    def save(self) -> None:
        """Write all that the next step depends on."""
        held = {name: part.state_dict() for name, part in self.parts.items()}
        temporary = self.file.with_suffix(".tmp")
        torch.save(held | {"rng": self.rng.get_state(), "done": self.done, "losses": self.losses}, temporary)
        os.replace(temporary, self.file)

    def run(self, steps: int, step: Callable[[], dict[str, float]], report: Report) -> None:
        """Do what is left of ``steps``."""
        while self.done < steps:
            for name, value in step().items():
                self.losses[name] = _KEEP * self.losses.get(name, value) + (1 - _KEEP) * value
            self.done += 1
            if self.done % _CHECKPOINT_EVERY == 0 or self.done == steps:
                self.save()
            report(self.done, self.losses)

    def draw(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """A batch, as images in [0, 1] and their numbers."""
        chosen = torch.randint(len(images), (_BATCH,), generator=self.rng)
        return images[chosen, None].float() / 255, chosen


def train_gan(
    images: Any, *, steps: int, seed: int, checkpoint: Path, report: Report
) -> tuple[Generator, Discriminator, dict[str, float]]:
    """A generator and its discriminator: hinge losses, spectral norm, Adam.

    The generator returned has the moving average of the weights (Yazici and others 2019), and normalisation by the
    statistics that belong to these.

    Parameters
    ----------
    images : uint8 array (N, 28, 28)
    steps, seed : int
        Steps of both networks, in all; what fixes weights and batches.
    checkpoint : path
        Where to go on from, and what is written every 200 steps.
    report : callable
        Called with the steps done and the losses.
    """
    data = torch.from_numpy(np.array(images))
    with torch.random.fork_rng(devices=[]):  # the caller's random state stays as it is
        torch.manual_seed(seed)
        made, judge = Generator(), Discriminator()
    average = copy.deepcopy(made)
    adam_made = torch.optim.Adam(made.parameters(), lr=4e-4, betas=(0.5, 0.999), fused=True)
    adam_judge = torch.optim.Adam(judge.parameters(), lr=4e-4, betas=(0.5, 0.999), fused=True)
    parts = {"made": made, "judge": judge, "average": average, "adam_made": adam_made, "adam_judge": adam_judge}
    training = Training(parts, seed, checkpoint)

    def step() -> dict[str, float]:
        fake = made(torch.randn(_BATCH, LATENT, generator=training.rng))
        on_real, on_fake = judge(training.draw(data)[0]), judge(fake.detach())
        loss_judge = functional.relu(1 - on_real).mean() + functional.relu(1 + on_fake).mean()
        _descend(adam_judge, loss_judge)
        loss_made = -judge(fake).mean()
        _descend(adam_made, loss_made)
        with torch.no_grad():
            for kept, new in zip(average.parameters(), made.parameters(), strict=True):
                kept.lerp_(new, 1 - _AVERAGE)
        return {
            "discriminator loss": loss_judge.item(),
            "score of real images": on_real.mean().item(),
            "score of made images": on_fake.mean().item(),
        }

    training.run(steps, step, report)
    _settle(average, judge, data, training)
    return average, judge, training.losses


def _settle(average: Generator, judge: Discriminator, data: Tensor, training: Training) -> None:
    """Fix what depends on the batch: means and variances of the normalisation, and the discriminator's spread."""
    for layer in average.modules():
        if isinstance(layer, torch.nn.BatchNorm1d | torch.nn.BatchNorm2d):
            layer.reset_running_stats()
            layer.momentum = None  # a plain mean over all batches
    with torch.no_grad():
        average.train()
        for _ in range(100):
            average(torch.randn(_BATCH, LATENT, generator=training.rng))
        average.eval()
        judge.eval()
        spreads = [judge.body(2 * training.draw(data)[0] - 1).std(0, correction=0).mean() for _ in range(50)]
        judge.spread.copy_(torch.stack(spreads).mean())


def fit(
    make: Callable[[], Network],
    loss: Callable[[Network, torch.Generator], Tensor],
    *,
    steps: int,
    rate: float,
    seed: int,
    checkpoint: Path,
    report: Report,
    name: str = "loss",
) -> tuple[Network, dict[str, float]]:
    """Fit a network by Adam with a rate that falls to zero; returns it and the loss.

    Parameters
    ----------
    make : callable
        Makes the network; its weights are fixed by the seed.
    loss : callable
        The loss of a new batch, which is drawn with the generator given.
    steps, rate, seed
        Steps in all, the first rate, and what fixes weights and batches.
    checkpoint : path
        Where to go on from, and what is written every 200 steps.
    report : callable
        Called with the steps done and the loss.
    name : str
        What to call the loss.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = make()
        adam = torch.optim.Adam(network.parameters(), lr=rate, fused=True)
        training = Training({"network": network, "adam": adam}, seed, checkpoint)

        def step() -> dict[str, float]:
            for group in adam.param_groups:
                group["lr"] = rate * (1 - training.done / steps)
            torch.manual_seed(seed + 1 + training.done)  # of the dropout: a training that was killed goes on alike
            value = loss(network, training.rng)
            _descend(adam, value)
            return {name: value.item()}

        training.run(steps, step, report)
    return network.eval(), training.losses


def train_classifier(
    images: Any, attributes: Any, *, steps: int, seed: int, checkpoint: Path, report: Report
) -> tuple[Classifier, dict[str, float]]:
    """A network that tells the attributes (N, 40) of images: cross-entropy, Adam with a rate that falls to zero.

    Images get a little noise, so that made images are no surprise. Arguments
    otherwise as in `train_gan`.
    """
    data, truth = torch.from_numpy(np.array(images)), torch.from_numpy(np.array(attributes, dtype=np.float32))

    def loss(network: Classifier, rng: torch.Generator) -> Tensor:
        chosen = torch.randint(len(data), (_BATCH,), generator=rng)
        x = data[chosen, None].float() / 255
        x = (x + 0.05 * torch.rand(1, generator=rng) * torch.randn(x.shape, generator=rng)).clamp(0, 1)
        return functional.binary_cross_entropy_with_logits(network(x), truth[chosen])

    return fit(
        lambda: Classifier(truth.shape[1]), loss, steps=steps, rate=2e-3, seed=seed, checkpoint=checkpoint,
        report=report, name="cross-entropy",
    )  # fmt: skip


def _descend(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
