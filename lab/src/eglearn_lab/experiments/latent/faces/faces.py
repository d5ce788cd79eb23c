"""Faces: a published generator and landmark estimator, with a critic and a classifier fitted here.

One file holds what was fitted, how, and the targets. The generator's weights stay where the user installed them.
Needs ``eglearn-lab[faces]``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...._typing import Array
from ..cost import LatentCost
from ..protocols import Networks, Target
from ..stored import freeze, read_parts

SHIPPED = Path(__file__).with_name("faces.safetensors")
"""What was fitted, and the targets, of the published runs."""

TARGETS = 16
"""Problems that are shipped; the paper has 64."""


@dataclass(frozen=True)
class Faces:
    """The networks, and the targets: images of the whole generator, which no search is shown."""

    networks: Networks
    target_attributes: Any
    """(16, 40) booleans."""
    target_landmarks: Array
    """(16, 136)"""
    target_images: Array
    """(16, 64, 64, 3) in [0, 1]"""
    about: dict[str, str]
    """How the fitted parts were made."""

    def target(self, number: int) -> Target:
        """Attributes and landmarks as measured on a target image."""
        if not 0 <= number < len(self.target_landmarks):
            raise ValueError(f"target {number}: there are 0 to {len(self.target_landmarks) - 1}")
        return Target(self.target_attributes[number], self.target_landmarks[number])

    def cost(self, number: int) -> LatentCost:
        """The objective of problem ``number``."""
        return LatentCost(self.networks, self.target(number))

    def caption(self, number: int) -> str:
        """What to write below a target."""
        return f"face {number}"


@dataclass(frozen=True)
class Parts:
    """What the file holds, as torch modules and tensors; it can be read without the generator."""

    latent: Any
    head: Any
    critic: Any
    classifier: Any
    targets: dict[str, Any]
    about: dict[str, str]


def load_parts(path: str | os.PathLike[str] = SHIPPED) -> Parts:
    """What ``eglearn data fit-faces`` has written."""
    part, about = read_parts(path, "faces", "faces")
    from .attributes import ATTRIBUTES
    from .latent import Latent
    from .networks import Classifier, Critic, Head

    modules: dict[str, Any] = {"head": Head(), "critic": Critic(), "classifier": Classifier(len(ATTRIBUTES))}
    for name, module in modules.items():
        freeze(module, part(name))
    return Parts(Latent(**part("latent")), **modules, targets=part("targets"), about=about)


def connect(parts: Parts) -> Networks:
    """The four black boxes; images are float arrays (k, 64, 64, 3) in [0, 1]."""
    import torch

    from .landmarks import face_landmarks, load_predictor
    from .pool import enlarge, make_images
    from .stylegan import StyleGAN

    gan = StyleGAN()
    load_predictor()

    def batch(images: Array) -> torch.Tensor:
        return torch.from_numpy(np.asarray(images, dtype=np.float32)).permute(0, 3, 1, 2)

    def make(z: Array, /) -> Array:
        w = parts.latent.w(torch.from_numpy(np.asarray(z, dtype=np.float32)))
        pixels: Array = make_images(gan, parts.head, w).permute(0, 2, 3, 1).numpy()
        return pixels

    def poorness(images: Array, /) -> Array:
        with torch.inference_mode():
            scores: Array = parts.critic(batch(images)).numpy().astype(float)
        return scores

    def attributes(images: Array, /) -> Array:
        with torch.inference_mode():
            chances: Array = torch.sigmoid(parts.classifier(batch(images))).numpy().astype(float)
        return chances

    def landmarks(images: Array, /) -> Array:
        return face_landmarks(enlarge(batch(images)))

    return Networks(make, poorness, attributes, landmarks)


@cache
def load_faces(path: str | os.PathLike[str] = SHIPPED) -> Faces:
    """The faces, from a file that ``eglearn data fit-faces`` has written; by default the shipped one."""
    parts = load_parts(path)
    held = parts.targets
    images = held["images"].permute(0, 2, 3, 1).numpy().astype(float) / 255
    return Faces(connect(parts), held["attributes"].bool().numpy(), held["landmarks"].double().numpy(), images,
                 parts.about)  # fmt: skip


def save_faces(path: str | os.PathLike[str], latent: Any, modules: dict[str, Any], targets: dict[str, Any],
               about: dict[str, str]) -> None:  # fmt: skip
    """Write what `load_faces` reads; the networks' matrices in half precision, everything else as it is.

    Parameters
    ----------
    path
        The file.
    latent : Latent
        Mean and root.
    modules : dict
        ``head``, ``critic`` and ``classifier``.
    targets : dict
        Tensors ``images`` (uint8), ``attributes`` (uint8) and ``landmarks``.
    about : dict
        Text for the file's metadata.
    """
    from safetensors.torch import save_file

    tensors = {"latent.mean": latent.mean, "latent.root": latent.root}
    tensors |= {f"targets.{name}": value for name, value in targets.items()}
    for name, module in modules.items():
        for key, value in module.state_dict().items():
            tensors[f"{name}.{key}"] = value.half() if value.ndim > 1 else value
    temporary = Path(path).with_suffix(".tmp")
    save_file({key: value.contiguous() for key, value in tensors.items()}, temporary, about)
    os.replace(temporary, path)
