"""The networks of the faces that are fitted here and shipped: head, critic, attribute classifier, as torch modules.

Images are (k, 3, 64, 64) in [0, 1]. Needs ``eglearn[nn]``.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..space import N

SIDE = 64
"""Pixels of the images that a search sees."""
CHANNELS = 128
"""Of the features that the head reads."""


def _separable(into: int, out: int) -> nn.Sequential:
    """A convolution in two cheap ones: each channel for itself, then each pixel for itself."""
    alone = nn.Conv2d(into, into, 3, padding=1, groups=into, bias=False)
    return nn.Sequential(alone, nn.Conv2d(into, out, 1), nn.LeakyReLU(0.2))


class Head(nn.Module):
    """Features of the generator (k, 128, 64, 64) and w to images: stands for the generator's last layers."""

    def __init__(self) -> None:
        super().__init__()
        self.style = nn.Linear(N, CHANNELS)
        self.body = nn.Sequential(_separable(CHANNELS, 96), _separable(96, 96), nn.Conv2d(96, 3, 3, padding=1))
        self.centre: Tensor  # mean of w, and spread of the features
        self.spread: Tensor
        self.register_buffer("centre", torch.zeros(N))
        self.register_buffer("spread", torch.ones(()))
        nn.init.zeros_(self.style.weight)
        nn.init.ones_(self.style.bias)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def raw(self, features: Tensor, w: Tensor) -> Tensor:
        """Images before they are cut to [0, 1], for the fit."""
        image: Tensor = self.body(features * (self.style(w - self.centre) / self.spread)[:, :, None, None])
        return (image + 1) / 2

    def forward(self, features: Tensor, w: Tensor) -> Tensor:
        """Images."""
        return self.raw(features, w).clamp(0, 1)


def _halve(into: int, out: int) -> list[nn.Module]:
    return [nn.Conv2d(into, out, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]


class Critic(nn.Module):
    """Images to one number each, positive for poor ones."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *_halve(3, 24), *_halve(24, 48), *_halve(48, 64), *_halve(64, 64), nn.Flatten(), nn.Linear(64 * 16, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Numbers (k,)."""
        score: Tensor = self.body(2 * x - 1)
        return score[:, 0]


class Classifier(nn.Module):
    """Images to the logits (k, attributes)."""

    def __init__(self, attributes: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *_halve(3, 32), *_halve(32, 64), nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
            *_halve(64, 96), *_halve(96, 128), nn.Flatten(), nn.Dropout(0.3), nn.Linear(128 * 16, attributes),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.body(2 * x - 1)
        return logits
