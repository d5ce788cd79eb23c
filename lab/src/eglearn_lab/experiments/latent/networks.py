"""The three networks of the garments, as torch modules: generator, discriminator, attribute classifier.

Images are (k, 1, 28, 28) in [0, 1]. Needs ``eglearn[nn]``.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm
from torch.nn.utils.parametrize import remove_parametrizations

LATENT = 512
"""Dimension of z, as in the paper."""


def _wider(into: int, out: int) -> list[nn.Module]:
    """Twice the side; a kernel of 4 with stride 2 covers all pixels alike, so no checkerboard is built in."""
    return [nn.ConvTranspose2d(into, out, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]


class Generator(nn.Module):
    """z (k, 512) to images, a DCGAN (Radford, Metz and Chintala 2016)."""

    def __init__(self) -> None:
        super().__init__()
        # All pixels hang on the same 128 numbers, which makes the parts of a garment fit together.
        self.first = nn.Sequential(
            nn.Linear(LATENT, 128, bias=False), nn.BatchNorm1d(128), nn.ReLU(),
            nn.Linear(128, 64 * 7 * 7, bias=False), nn.Unflatten(1, (64, 7, 7)), nn.BatchNorm2d(64), nn.ReLU(),
        )  # fmt: skip
        self.rest = nn.Sequential(*_wider(64, 32), *_wider(32, 16), nn.Conv2d(16, 1, 3, padding=1), nn.Sigmoid())

    def forward(self, z: Tensor) -> Tensor:
        """Images of latent points."""
        image: Tensor = self.rest(self.first(z))
        return image


class Discriminator(nn.Module):
    """Images to one number each, positive for real ones; spectral norm (Miyato and others 2018).

    A last channel holds the spread over the batch (Karras and others 2018), which a generator without variety cannot
    hide; ``spread`` fixes it where single images are judged.
    """

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            spectral_norm(nn.Conv2d(1, 32, 4, stride=2, padding=1)), nn.LeakyReLU(0.1),
            spectral_norm(nn.Conv2d(32, 64, 4, stride=2, padding=1)), nn.LeakyReLU(0.1),
        )  # fmt: skip
        self.tail = nn.Sequential(
            spectral_norm(nn.Conv2d(65, 96, 4, stride=2, padding=1)), nn.LeakyReLU(0.1),
            nn.Flatten(), spectral_norm(nn.Linear(96 * 3 * 3, 1)),
        )  # fmt: skip
        self.spread: Tensor
        self.register_buffer("spread", torch.zeros(()))

    def forward(self, x: Tensor, fixed_spread: bool = False) -> Tensor:
        """Scores (k,)."""
        h = self.body(2 * x - 1)
        spread = self.spread if fixed_spread else h.std(0, correction=0).mean()
        h = torch.cat([h, spread.expand(len(h), 1, *h.shape[2:])], 1)
        score: Tensor = self.tail(h)
        return score[:, 0]

    def bake(self) -> Discriminator:
        """Replace each weight with the one it is normalised to: what is shipped, and cheaper to use."""
        for layer in (*self.body, *self.tail):
            if hasattr(layer, "parametrizations"):
                remove_parametrizations(layer, "weight")
        return self


class Classifier(nn.Module):
    """Images to the logits (k, 40) of the attributes."""

    def __init__(self, attributes: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 48, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(48), nn.ReLU(),
            nn.Conv2d(48, 48, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(48), nn.ReLU(),
            nn.Flatten(), nn.Dropout(0.2), nn.Linear(48 * 4 * 4, 128), nn.ReLU(), nn.Linear(128, attributes),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """Logits (k, attributes)."""
        logits: Tensor = self.body(2 * x - 1)
        return logits
