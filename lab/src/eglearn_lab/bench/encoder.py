"""The encoder behind the 784-D problems: f_784(x) = f_10(clip(mean of Encoder(x), -5, 5)), paper sec. 5.1.

It is the encoder of a variational autoencoder (Kingma and Welling 2014) of FashionMNIST images (Xiao and others 2017),
784-400-10 with one ReLU layer. A pixel p in [0, 1] enters as x = 2 p - 1, so that the box [-1, 1]^784 is the range of
the images and x = 0 is the uniformly grey one. The weights are shipped and are part of the problems' definition; the
file also says how they were made. Using them takes NumPy only, training them again takes ``eglearn[nn]``.

Can the optimum of the 10-D problem be reached from the box? With the shipped weights a point that maps to it was found
for 70 of the 72 problems of instances 1 to 3 (L-BFGS-B on the distance, exact gradients); not for f5, instances 1 and
2, whose optimum is a corner of [-5, 5]^10.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._typing import Array
from ..fashion import read_idx

PIXELS, HIDDEN, LATENT = 784, 400, 10
SHIPPED = Path(__file__).with_name("fashion_encoder.safetensors")
"""The encoder of suite ``coco-784``."""

_SHAPES = {
    "hidden.weight": (HIDDEN, PIXELS),
    "hidden.bias": (HIDDEN,),
    "mean.weight": (LATENT, HIDDEN),
    "mean.bias": (LATENT,),
}
_STORED = np.dtype("<f2")
_STORED_NAME = "F16"  # the same in safetensors' words
_BATCH, _RATE = 128, 1e-3

Progress = Callable[[int, int, float], None]
"""Called with the images seen, all images to be seen, and the mean loss of this epoch so far."""


@dataclass(frozen=True)
class Encoder:
    """The mean of the latent code; call it with a point (784,) or points (k, 784).

    Attributes
    ----------
    weights : dict
        Arrays in float64: ``hidden.weight`` (400, 784), ``hidden.bias``, ``mean.weight`` (10, 400), ``mean.bias``.
    about : dict
        How they were made, as text.

    Examples
    --------
    >>> import numpy as np
    >>> shipped_encoder()(np.zeros(784)).shape
    (10,)
    """

    weights: dict[str, Array]
    about: dict[str, str] = field(default_factory=dict)

    def __call__(self, x: Array) -> Array:
        """Codes (10,) or (k, 10)."""
        w = self.weights
        hidden = np.maximum(x @ w["hidden.weight"].T + w["hidden.bias"], 0)
        code: Array = hidden @ w["mean.weight"].T + w["mean.bias"]
        return code

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file in half precision: a JSON header behind its length, then the numbers."""
        header: dict[str, Any] = {"__metadata__": self.about}
        blocks: list[bytes] = []
        at = 0
        for name, shape in _SHAPES.items():
            block = self.weights[name].astype(_STORED).tobytes()
            header[name] = {"dtype": _STORED_NAME, "shape": list(shape), "data_offsets": [at, at + len(block)]}
            blocks.append(block)
            at += len(block)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of 8
        path = Path(path)
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(blocks))
        os.replace(temporary, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Encoder:
        """Read what ``save`` has written; ValueError if it is something else."""
        raw = Path(path).read_bytes()
        begin = 8 + int.from_bytes(raw[:8], "little")
        try:
            header = json.loads(raw[8:begin])
            weights = {}
            for name, shape in _SHAPES.items():
                entry = header[name]
                if entry["dtype"] != _STORED_NAME or tuple(entry["shape"]) != shape:
                    raise ValueError(f"{name} is {entry['dtype']} {entry['shape']}")
                low, high = entry["data_offsets"]
                numbers = np.frombuffer(raw[begin + low : begin + high], dtype=_STORED)
                weights[name] = numbers.reshape(shape).astype(np.float64)
            return cls(weights, dict(header.get("__metadata__", {})))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path} is not an encoder {PIXELS}-{HIDDEN}-{LATENT} in half precision ({error}): make one with "
                "'eglearn data train-encoder'"
            ) from error


@cache
def shipped_encoder() -> Encoder:
    """The encoder of suite ``coco-784``."""
    return Encoder.load(SHIPPED)


class EncodedProblem:
    """A 10-D problem of cocoex behind the encoder, with cocoex's names for what the benchmark asks of a problem."""

    is_observed = False

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.initial_solution: Array = np.zeros(PIXELS)
        self.lower_bounds: Array = np.full(PIXELS, -1.0)
        self.upper_bounds: Array = np.full(PIXELS, 1.0)
        self._encode = shipped_encoder()

    def __call__(self, x: Array) -> float:
        """The value at ``x`` (784,)."""
        code = self._encode(x)
        return float(self.inner(np.clip(code, self.inner.lower_bounds, self.inner.upper_bounds)))

    @property
    def evaluations(self) -> int:
        """Calls so far."""
        return int(self.inner.evaluations)

    def free(self) -> None:
        """Let go of cocoex's problem."""
        self.inner.free()


# --- training ---------------------------------------------------------------------------------------------------


def read_images(folder: str | os.PathLike[str]) -> tuple[npt.NDArray[np.uint8], str]:
    """FashionMNIST's training images (N, 784), 0 to 255, and the SHA-256 of their file."""
    path = Path(folder) / "train-images-idx3-ubyte.gz"
    images = read_idx(path)
    if images.ndim != 3 or images[0:1].size != PIXELS:
        raise ValueError(f"{path} does not hold images of 28 x 28 pixels: take FashionMNIST's file of that name")
    return images.reshape(-1, PIXELS), hashlib.sha256(path.read_bytes()).hexdigest()


def train_encoder(
    images: npt.NDArray[np.uint8], *, epochs: int, seed: int, progress: Progress | None = None
) -> tuple[Encoder, float]:
    """Train the autoencoder and keep its encoder; also returns the mean loss in the last epoch, in nats an image.

    The loss is the negative evidence bound: binary cross-entropy of the pixels, summed, plus the divergence of the code
    from N(0, 1). The decoder is 10-400-784. Adam, 1e-3, batches of 128.
    """
    import torch
    from torch.nn import functional

    if epochs < 1:
        raise ValueError(f"epochs = {epochs}: it must be 1 or more")
    pixels = torch.from_numpy(images.astype(np.float32) / 255)
    with torch.random.fork_rng(devices=[]):  # the caller's random state stays as it is
        torch.manual_seed(seed)
        hidden, mean, log_variance = (
            torch.nn.Linear(PIXELS, HIDDEN),
            torch.nn.Linear(HIDDEN, LATENT),
            torch.nn.Linear(HIDDEN, LATENT),
        )
        decoder = torch.nn.Sequential(torch.nn.Linear(LATENT, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, PIXELS))
        layers = torch.nn.ModuleList([hidden, mean, log_variance, decoder])
        optimiser = torch.optim.Adam(layers.parameters(), lr=_RATE)
        last = 0.0
        for epoch in range(epochs):
            total, seen = 0.0, 0
            for rows in torch.split(torch.randperm(len(pixels)), _BATCH):
                p = pixels[rows]
                features = functional.relu(hidden(2 * p - 1))
                mu, log_var = mean(features), log_variance(features)
                code = mu + torch.exp(log_var / 2) * torch.randn_like(mu)
                misfit = functional.binary_cross_entropy_with_logits(decoder(code), p, reduction="sum")
                loss = misfit + 0.5 * (mu**2 + log_var.exp() - 1 - log_var).sum()
                optimiser.zero_grad()
                (loss / len(p)).backward()
                optimiser.step()
                total, seen = total + loss.item(), seen + len(p)
                last = total / seen
                if progress is not None:
                    progress(epoch * len(pixels) + seen, epochs * len(pixels), last)
    trained = {"hidden": hidden, "mean": mean}
    weights = {
        f"{name}.{part}": np.asarray(value.detach().numpy(), dtype=np.float64)
        for name, layer in trained.items()
        for part, value in layer.named_parameters()
    }
    return Encoder(weights), last
