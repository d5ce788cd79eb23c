"""Images of the whole network, 1024 px scaled to 256, with the w they were made from: what the head is fitted to.

They are written in parts, so that a killed call goes on. Two thirds of a processor second each.
"""

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
from ..space import N
from .latent import Latent
from .stylegan import StyleGAN

SIDE = 256
_PART = 20


@dataclass(frozen=True)
class Photos:
    """What is known of each image."""

    w: Tensor
    """(k, 512)"""
    pixels: Any
    """uint8 (k, 256, 256, 3)"""


def draw_w(gan: StyleGAN, latent: Latent, number: int, count: int, seed: int) -> Tensor:
    """W of the photos of a part: two of three from the mapping network, the third from the whitened space.

    The first are what the generator was trained for, at half to all of its spread. The second are where a search goes:
    up to twice the spread of z, where images are poor, and the head must show them so.
    """
    rng = torch.Generator().manual_seed(1_000_003 * seed + number)
    z, share = torch.randn(count, N, generator=rng), torch.rand(count, 1, generator=rng)
    natural = latent.mean + (0.5 + 0.5 * share) * (gan.mapping(z) - latent.mean)
    return torch.where(torch.arange(count)[:, None] % 3 < 2, natural, latent.w((0.5 + 1.5 * share) * z))


def take_photo(gan: StyleGAN, w: Tensor) -> Array:
    """The image of one w (512,) at 256 px, as uint8 (256, 256, 3)."""
    image = functional.interpolate(gan.images(w[None]), size=(SIDE, SIDE), mode="area")[0]
    pixels: Array = (127.5 * (image + 1)).round().byte().permute(1, 2, 0).numpy()
    return pixels


def take_photos(
    gan: StyleGAN, latent: Latent, folder: Path, *, count: int, seed: int, report: Callable[[int], None]
) -> Photos:
    """``count`` photos, of which those in the folder are not taken again.

    Parameters
    ----------
    gan, latent
        The generator and its latent space.
    folder : Path
        Where the parts are kept.
    count, seed : int
        How many, and what fixes them.
    report : callable
        Called with the photos done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    all_w, all_pixels = [], []
    with torch.no_grad():
        for number in range(-(-count // _PART)):
            w = draw_w(gan, latent, number, _PART, seed)
            file = folder / f"photos-{seed}-{number:04d}.npy"
            if not file.exists():
                temporary = file.with_suffix(".tmp.npy")
                np.save(temporary, np.stack([take_photo(gan, one) for one in w]))
                os.replace(temporary, file)
            all_w.append(w)
            all_pixels.append(np.load(file))
            report(min(count, _PART * (number + 1)))
    return Photos(torch.cat(all_w)[:count], np.concatenate(all_pixels)[:count])
