"""Fitting head, critic and classifier of the faces; a killed fit goes on from its last checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ...._typing import Array
from ..training import Report, fit
from .networks import SIDE, Classifier, Critic, Head
from .photos import Photos
from .pool import GOOD, POOR
from .stylegan import StyleGAN


def shrink(pixels: Any) -> Tensor:
    """Photos, uint8 (k, 256, 256, 3), as images (k, 3, 64, 64) in [0, 1]."""
    parts = np.array_split(pixels, max(1, len(pixels) // 50))
    images = [torch.from_numpy(part).permute(0, 3, 1, 2).float() / 255 for part in parts]
    return torch.cat([functional.interpolate(part, size=(SIDE, SIDE), mode="area") for part in images])


def fit_head(
    gan: StyleGAN, photos: Photos, mean: Tensor, *, held_out: int, steps: int, seed: int, checkpoint: Path,
    report: Report,
) -> tuple[Head, float]:  # fmt: skip
    """A head whose images are like the photos at 64 px, and its peak signal-to-noise ratio on those held out, in dB.

    Parameters
    ----------
    gan, photos
        The generator, and its images at full size; the last ``held_out`` are not fitted to.
    mean : tensor
        Of w.
    held_out, steps, seed : int
        Photos for the test; steps of 8 images; what fixes weights and batches.
    checkpoint : Path
        Where to go on from.
    report : callable
        Called with the steps done and the loss.
    """
    wanted = shrink(photos.pixels)
    with torch.no_grad():  # in half precision: 1 MB an image
        features = torch.cat([gan.features(w[None]).half() for w in photos.w])
    spread = features[::10].float().std()
    train = len(wanted) - held_out

    def make() -> Head:
        head = Head()
        head.centre.copy_(mean)
        head.spread.copy_(spread)
        return head

    def loss(head: Head, rng: torch.Generator) -> Tensor:
        chosen = torch.randint(train, (8,), generator=rng)
        error = head.raw(features[chosen].float(), photos.w[chosen]) - wanted[chosen]
        # With the differences between neighbours, edges stay sharp; absolute values bear images that are torn anyway.
        return error.abs().mean() + error.diff(dim=2).abs().mean() + error.diff(dim=3).abs().mean()

    head, _ = fit(make, loss, steps=steps, rate=4e-3, seed=seed, checkpoint=checkpoint, report=report)
    with torch.inference_mode():
        errors = [
            functional.mse_loss(head(features[i : i + 1].float(), photos.w[i : i + 1]), wanted[i : i + 1])
            for i in range(train, len(wanted))
        ]
    return head, float(-10 * torch.log10(torch.stack(errors).mean()))


def fit_critic(
    images: Any, spread: Array, *, steps: int, seed: int, checkpoint: Path, report: Report
) -> tuple[Critic, dict[str, float]]:
    """A critic that tells images of points within the spread of z from those far off: hinge loss, margin 1.

    Parameters
    ----------
    images : uint8 tensor (k, 3, 64, 64)
        Made images.
    spread : array (k,)
        Multiples of the spread of N(0, I); those between good and poor are not used.
    steps, seed, checkpoint, report
        As in `fit_head`.
    """
    good, poor = (torch.from_numpy(np.flatnonzero(which)) for which in (spread <= GOOD, spread >= POOR))

    def loss(critic: Critic, rng: torch.Generator) -> Tensor:
        chosen = [group[torch.randint(len(group), (32,), generator=rng)] for group in (good, poor)]
        x = images[torch.cat(chosen)].float() / 255
        scores = critic(x + 0.02 * torch.randn(x.shape, generator=rng))
        return functional.relu(1 + scores[:32]).mean() + functional.relu(1 - scores[32:]).mean()

    return fit(Critic, loss, steps=steps, rate=1e-3, seed=seed, checkpoint=checkpoint, report=report)


def fit_classifier(
    images: Any, chances: Array, *, steps: int, seed: int, checkpoint: Path, report: Report
) -> tuple[Classifier, dict[str, float]]:
    """A classifier of the attributes: cross-entropy with what was measured on the images.

    Parameters
    ----------
    images : uint8 tensor (k, 3, 64, 64)
        Made images.
    chances : array (k, attributes)
        In [0, 1]: a measure near its threshold is neither sure to be above nor below.
    steps, seed, checkpoint, report
        As in `fit_head`.
    """
    truth = torch.from_numpy(chances.astype(np.float32))

    def loss(classifier: Classifier, rng: torch.Generator) -> Tensor:
        chosen = torch.randint(len(images), (32,), generator=rng)
        x = images[chosen].float() / 255
        x = x + 0.02 * torch.randn(x.shape, generator=rng)
        return functional.binary_cross_entropy_with_logits(classifier(x), truth[chosen])

    return fit(
        lambda: Classifier(truth.shape[1]), loss, steps=steps, rate=2e-3, seed=seed, checkpoint=checkpoint,
        report=report, name="cross-entropy",
    )  # fmt: skip
