"""From FashionMNIST to the file of the garments: all that ``eglearn data train-garments`` does."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..._typing import Array
from ...fashion import load_fashion
from .garments import TARGETS, load_garments, save_garments
from .silhouette import thresholds, true_attributes
from .space import N

Watch = Callable[[str, int, int, dict[str, float]], None]
"""Called with the name of the training, steps done, steps in all, and the losses."""

_TARGET_SEED = 1


def make_garments(
    out: str | os.PathLike[str],
    *,
    steps: int,
    classifier_steps: int,
    seed: int,
    data: str | os.PathLike[str] | None,
    command: str,
    watch: Watch,
) -> dict[str, str]:
    """Train the networks, measure them on the test images, write one file; returns what is in its metadata.

    Checkpoints beside ``out`` let a killed call go on; they are removed at the end.

    Parameters
    ----------
    out
        The file to write.
    steps, classifier_steps, seed : int
        Steps of generator and discriminator, steps of the classifier, and what fixes weights and batches.
    data
        The folder with FashionMNIST; None: Debian's.
    command : str
        For the metadata: how to do it again.
    watch : callable
        Called after each step.
    """
    import torch

    from .training import train_classifier, train_gan

    images, labels = load_fashion("train", data)
    test_images, test_labels = load_fashion("t10k", data)
    pixels = images / 255
    medians = thresholds(pixels)
    attributes = true_attributes(pixels, labels, medians)
    del pixels
    places = {name: Path(f"{out}.{name}.checkpoint") for name in ("classifier", "gan")}
    classifier, of_classifier = train_classifier(
        images, attributes, steps=classifier_steps, seed=seed, checkpoint=places["classifier"],
        report=lambda done, losses: watch("classifier", done, classifier_steps, losses),
    )  # fmt: skip
    generator, discriminator, of_gan = train_gan(
        images, steps=steps, seed=seed, checkpoint=places["gan"],
        report=lambda done, losses: watch("generator", done, steps, losses),
    )  # fmt: skip
    chosen = np.random.default_rng(_TARGET_SEED).choice(len(test_images), TARGETS, replace=False)
    about = {"command": command, "seed": str(seed), "torch": str(torch.__version__)}
    about |= {name: f"{value:.4f}" for name, value in (of_classifier | of_gan).items()}
    modules = {"generator": generator, "discriminator": discriminator.bake(), "classifier": classifier}
    targets = {"images": test_images[chosen], "labels": test_labels[chosen].astype(np.int64), "medians": medians}
    save_garments(out, modules, targets, about)
    about |= measured(out, test_images / 255, test_labels)  # of the weights as they are stored
    save_garments(out, modules, targets, about)
    for place in places.values():
        place.unlink(missing_ok=True)
    return about


def measured(path: str | os.PathLike[str], images: Array, labels: Any) -> dict[str, str]:
    """How good the stored networks are, on images that they were not trained on.

    Parameters
    ----------
    path
        The file of the networks.
    images, labels : array
        Real images (k, 28, 28) in [0, 1] and their classes.
    """
    garments = load_garments.__wrapped__(path)
    networks = garments.networks
    chance = np.concatenate([networks.attributes(part) for part in np.array_split(images, 20)])
    truth = true_attributes(images, labels, garments.medians)
    made = networks.generator(np.random.default_rng(0).standard_normal((1000, N)))
    far = networks.generator(3 * np.random.default_rng(0).standard_normal((1000, N)))
    quality = {"real": images[:1000], "made": made, "far off": far}
    return {
        "accuracy of attributes": f"{np.mean((chance > 0.5) == truth):.4f}",
        "accuracy of classes": f"{np.mean(np.argmax(chance[:, :10], axis=1) == labels):.4f}",
    } | {f"mean tanh(D), {name}": f"{np.mean(np.tanh(networks.critic(x))):.3f}" for name, x in quality.items()}
