"""Images that the generator of the search makes, with their landmarks: what critic and classifier are fitted to."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ...._typing import Array
from ..space import LIMIT, N
from .landmarks import SIDE as LARGE
from .landmarks import face_landmarks
from .latent import Latent
from .networks import Head
from .stylegan import StyleGAN

GOOD, POOR = 1.0, 2.0
"""Up to this multiple of the spread of z an image counts as good, and from that one on as poor; between, as neither."""

_PART = 100
_CHUNK = 4  # images at once: more do not stay in the processor's cache


def make_images(gan: StyleGAN, head: Head, w: Tensor) -> Tensor:
    """Images (k, 3, 64, 64) in [0, 1] of w (k, 512)."""
    with torch.inference_mode():
        return torch.cat([head(gan.features(part), part) for part in torch.split(w, _CHUNK)])


def enlarge(images: Tensor) -> Array:
    """Images of any side as uint8 (k, 256, 256, 3), which the landmarks are estimated on."""
    large = [
        functional.interpolate(part, size=(LARGE, LARGE), mode="bilinear", align_corners=False).mul(255).round().byte()
        for part in torch.split(images, _PART)
    ]
    pixels: Array = torch.cat(large).permute(0, 2, 3, 1).numpy()
    return pixels


@dataclass(frozen=True)
class Pool:
    """Images and what is known of them."""

    images: Any
    """uint8 tensor (k, 3, 64, 64)"""
    landmarks: Array
    """(k, 136)"""
    spread: Array
    """(k,) of z, 1 being that of N(0, I)"""


def draw_z(number: int, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Points (count, 512) of a part, and the multiple (count,) of the spread of N(0, I) that they have.

    Two of three have 0.4 to 1.2 times the spread. Every third has 1.5 to 4 times the spread, in all coordinates or in
    some of them, as a search goes astray.
    """
    rng = torch.Generator().manual_seed(1_000_003 * seed + 500_000 + number)
    z, share = torch.randn(count, N, generator=rng), torch.rand(count, generator=rng)
    far = torch.arange(count) % 3 == 2
    spread = torch.where(far, 1.5 + 2.5 * share, 0.4 + 0.8 * share)
    some = torch.rand(count, N, generator=rng) < torch.rand(count, 1, generator=rng).clamp(min=0.3)
    some |= ~(far & (torch.rand(count, generator=rng) < 0.5))[:, None]
    # Stretching a share of the coordinates more keeps the length.
    stretch = torch.where(some, (spread**2 * N / some.sum(1)).sqrt()[:, None], 0.0)
    return (stretch * z).clamp(-LIMIT, LIMIT), spread


def make_pool(
    gan: StyleGAN, latent: Latent, head: Head, folder: Path, *, count: int, seed: int, report: Callable[[int], None]
) -> Pool:
    """``count`` images, of which those in the folder are not made again.

    Parameters
    ----------
    gan, latent, head
        The generator, its latent space, and the head.
    folder : Path
        Where the parts are kept.
    count, seed : int
        How many, and what fixes them.
    report : callable
        Called with the images done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    images, landmarks, spreads = [], [], []
    for number in range(-(-count // _PART)):
        z, spread = draw_z(number, _PART, seed)
        file = folder / f"pool-{seed}-{number:04d}.npz"
        if not file.exists():
            made = make_images(gan, head, latent.w(z))
            temporary = file.with_suffix(".tmp.npz")
            np.savez(temporary, images=(255 * made).round().byte().numpy(), landmarks=face_landmarks(enlarge(made)))
            os.replace(temporary, file)
        with np.load(file) as held:
            images.append(torch.from_numpy(held["images"]))
            landmarks.append(held["landmarks"])
        spreads.append(spread)
        report(min(count, _PART * (number + 1)))
    joined = torch.cat(spreads)[:count].double().numpy()
    return Pool(torch.cat(images)[:count], np.concatenate(landmarks)[:count], joined)
