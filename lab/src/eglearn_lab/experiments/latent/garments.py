"""Garments: the four black boxes that are shipped, and the problems posed to them.

Generator, discriminator and classifier are small networks trained on FashionMNIST; the landmark estimator is a formula.
One file holds their weights, how they were made, and the test images that the targets are taken from, so that a search
needs no other data. Needs ``eglearn-lab[latent]``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..._typing import Array
from ...fashion import CLASSES
from .cost import LatentCost
from .protocols import Networks, Target
from .silhouette import landmarks, true_attributes
from .stored import freeze, read_parts

SHIPPED = Path(__file__).with_name("garments.safetensors")
"""Weights and targets of the published runs."""

TARGETS = 64
"""Problems that are shipped; the paper has 64."""


@dataclass(frozen=True)
class Garments:
    """The networks, and the images and labels of the targets, which no search is shown."""

    networks: Networks
    target_images: Array
    """(64, 28, 28) in [0, 1], of FashionMNIST's test set."""
    target_labels: Any
    """(64,) numbers of classes."""
    medians: Array
    """(20,) of the features, over the training images."""
    about: dict[str, str]
    """How the weights were made."""

    def target(self, number: int) -> Target:
        """The true attributes of a target image, and its landmarks as estimated."""
        if not 0 <= number < len(self.target_images):
            raise ValueError(f"target {number}: there are 0 to {len(self.target_images) - 1}")
        image, label = self.target_images[number : number + 1], self.target_labels[number : number + 1]
        wanted = true_attributes(image, label, self.medians)[0]
        return Target(wanted, np.asarray(self.networks.landmarks(image))[0])

    def cost(self, number: int) -> LatentCost:
        """The objective of problem ``number``."""
        return LatentCost(self.networks, self.target(number))

    def caption(self, number: int) -> str:
        """What to write below a target."""
        return CLASSES[int(self.target_labels[number])]


@cache
def load_garments(path: str | os.PathLike[str] = SHIPPED) -> Garments:
    """The networks in a file that ``eglearn data train-garments`` has written; by default the shipped ones."""
    part, about = read_parts(path, "garments", "latent")
    import torch

    from .networks import Classifier, Discriminator, Generator
    from .silhouette import ATTRIBUTES

    generator, critic, classifier = Generator(), Discriminator().bake(), Classifier(len(ATTRIBUTES))
    for module, name in ((generator, "generator"), (critic, "discriminator"), (classifier, "classifier")):
        freeze(module, part(name))

    def batch(images: Array) -> torch.Tensor:
        return torch.from_numpy(np.asarray(images, dtype=np.float32))[:, None]

    def make(z: Array, /) -> Array:
        with torch.inference_mode():
            images = generator(torch.from_numpy(np.asarray(z, dtype=np.float32)))
        pixels: Array = images[:, 0].numpy().astype(float)
        return pixels

    def poorness(images: Array, /) -> Array:
        with torch.inference_mode():  # the discriminator is positive for real images, the paper's D for poor ones
            scores: Array = critic(batch(images), fixed_spread=True).numpy().astype(float)
        return -scores

    def attributes(images: Array, /) -> Array:
        with torch.inference_mode():
            chances: Array = torch.sigmoid(classifier(batch(images))).numpy().astype(float)
        return chances

    held = part("targets")
    return Garments(
        Networks(make, poorness, attributes, landmarks),
        held["images"].numpy().astype(float) / 255,
        held["labels"].numpy(),
        held["medians"].numpy().astype(float),
        about,
    )


def save_garments(
    path: str | os.PathLike[str], modules: dict[str, Any], targets: dict[str, Any], about: dict[str, str]
) -> None:
    """Write what `load_garments` reads; matrices in half precision, everything else as it is.

    Parameters
    ----------
    path
        The file.
    modules : dict
        ``generator``, ``discriminator`` (baked) and ``classifier``.
    targets : dict
        Arrays ``images`` (uint8), ``labels`` and ``medians``.
    about : dict
        Text for the file's metadata: command, seed, losses.
    """
    import torch
    from safetensors.torch import save_file

    tensors = {f"targets.{name}": torch.from_numpy(np.array(array)) for name, array in targets.items()}
    for name, module in modules.items():
        for key, value in module.state_dict().items():
            tensors[f"{name}.{key}"] = (value.half() if value.ndim > 1 else value).contiguous()
    temporary = Path(path).with_suffix(".tmp")
    save_file(tensors, temporary, about)
    os.replace(temporary, path)
