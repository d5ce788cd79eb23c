"""From the installed packages to the file of the faces: all that ``eglearn data fit-faces`` does."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...._typing import Array
from ..making import Watch
from ..space import N
from .attributes import ATTRIBUTES
from .celeba import Teacher, fit_teacher
from .faces import TARGETS, load_parts, save_faces
from .fitting import fit_classifier, fit_critic, fit_head, shrink
from .landmarks import face_landmarks, load_predictor
from .latent import TRUNCATION, Latent, measure
from .measures import chances, scales
from .photos import take_photo, take_photos
from .pool import POOR, Pool, enlarge, make_images, make_pool
from .stylegan import StyleGAN

_TARGET_SEED = 20200713


@dataclass(frozen=True)
class Sizes:
    """How much is made and fitted; the defaults are those of the shipped file: a quarter of an hour of one core."""

    photos: int = 400
    pool: int = 3000
    head_steps: int = 600
    teacher_steps: int = 1000
    classifier_steps: int = 1000
    critic_steps: int = 300


def make_faces(
    out: str | os.PathLike[str], *, seed: int, command: str, watch: Watch, sizes: Sizes | None = None
) -> dict[str, str]:
    """Fit all parts, measure them on images they were not fitted to, write one file; returns its metadata.

    What is made on the way is kept in a folder beside ``out``, so that a killed call goes on; it is removed at the end.

    Parameters
    ----------
    out
        The file to write.
    seed : int
        Fixes images, weights and batches.
    command : str
        For the metadata: how to do it again.
    watch : callable
        Called with the name of a part, what is done of it, what there is in all, and the losses.
    sizes : Sizes, optional
        How much of everything.
    """
    sizes = sizes or Sizes()
    gan = StyleGAN()
    load_predictor()  # now, and not when half of the work is done
    folder = Path(f"{out}.parts")
    folder.mkdir(exist_ok=True)
    latent = measure(gan, seed)

    def fitted(function: Any, name: str, steps: int, *inputs: Any, **more: Any) -> tuple[Any, Any]:
        result: tuple[Any, Any] = function(
            *inputs, **more, steps=steps, seed=seed, checkpoint=folder / f"{name}.checkpoint",
            report=lambda done, losses: watch(name, done, steps, losses),
        )  # fmt: skip
        return result

    teacher, of_teacher = fitted(fit_teacher, "teacher", sizes.teacher_steps)
    photos = take_photos(gan, latent, folder, count=sizes.photos, seed=seed,
                         report=lambda done: watch("photos", done, sizes.photos, {}))  # fmt: skip
    held_out = sizes.photos // 5
    head, ratio = fitted(fit_head, "head", sizes.head_steps, gan, photos, latent.mean, held_out=held_out)
    head.requires_grad_(False)
    pool = make_pool(gan, latent, head, folder, count=sizes.pool, seed=seed,
                     report=lambda done: watch("made images", done, sizes.pool, {}))  # fmt: skip
    good = np.flatnonzero(pool.spread < POOR)
    pixels = enlarge(pool.images[good].float() / 255)
    scale = scales(pixels, pool.landmarks[good])
    wanted = _told(pixels, pool.landmarks[good], scale, teacher, pool.images[good].float() / 255)
    train = good[: -len(good) // 8], wanted[: -len(good) // 8]
    classifier, losses = fitted(fit_classifier, "classifier", sizes.classifier_steps, pool.images[train[0]], train[1])
    critic, _ = fitted(fit_critic, "critic", sizes.critic_steps, pool.images[: -len(pool.images) // 8],
                       pool.spread[: -len(pool.images) // 8])  # fmt: skip

    natural = np.arange(sizes.photos - held_out, sizes.photos)
    natural = natural[natural % 20 % 3 < 2]  # of the mapping network, as targets are
    views, from_head = shrink(photos.pixels[natural]), make_images(gan, head, photos.w[torch.from_numpy(natural)])
    targets = make_targets(gan, latent, scale, teacher)
    modules = {"head": head, "critic": critic, "classifier": classifier}
    about = {"command": command, "seed": str(seed), "torch": str(torch.__version__), **{
        "head, peak signal-to-noise ratio": f"{ratio:.1f} dB on {held_out} held-out photos",
        "classifier, cross-entropy": f"{losses['cross-entropy']:.4f}",
        "teacher, accuracy on CelebA": ", ".join(f"{name} {share:.3f}" for name, share in of_teacher.items()),
    }}  # fmt: skip
    save_faces(out, latent, modules, targets, about)
    about |= measured(out, pool, good[-len(good) // 8 :], wanted[-len(good) // 8 :], views, from_head,
                      _told(*_seen(views), scale, teacher, views))  # fmt: skip
    save_faces(out, latent, modules, targets, about)
    shutil.rmtree(folder)
    return about


def _seen(images: Tensor) -> tuple[Array, Array]:
    """Images as the landmark estimator gets them, and the landmarks."""
    pixels = enlarge(images)
    return pixels, face_landmarks(pixels)


def _told(pixels: Array, landmarks: Array, scale: Array, teacher: Teacher, images: Tensor) -> Array:
    """How sure each of the 40 attributes is (k, 40); the teacher sees an image and its mirror image."""
    with torch.inference_mode():
        logits = [teacher(part) + teacher(part.flip(3)) for part in torch.split(images, 100)]
    learned = torch.sigmoid(torch.cat(logits) / 2).double().numpy()
    return np.concatenate([chances(pixels, landmarks, scale), learned], axis=1)


def make_targets(gan: StyleGAN, latent: Latent, scale: Array, teacher: Teacher) -> dict[str, Tensor]:
    """Photos of faces of the mapping network, at the size that a search sees, with attributes and landmarks.

    Parameters
    ----------
    gan, latent
        The generator and its latent space.
    scale : array
        Thresholds and spreads of the measures.
    teacher : Teacher
        Of the attributes that are not measured.
    """
    z = torch.randn(TARGETS, N, generator=torch.Generator().manual_seed(_TARGET_SEED))
    with torch.no_grad():
        w = latent.mean + TRUNCATION * (gan.mapping(z) - latent.mean)
        images = (255 * shrink(np.stack([take_photo(gan, one) for one in w]))).round().byte()
    seen = images.float() / 255
    pixels, landmarks = _seen(seen)
    attributes = _told(pixels, landmarks, scale, teacher, seen) > 0.5
    return {
        "images": images,
        "attributes": torch.from_numpy(attributes).byte(),
        "landmarks": torch.from_numpy(landmarks).float(),
    }


def measured(
    path: str | os.PathLike[str], pool: Pool, held_out: Any, wanted: Array, views: Tensor, from_head: Tensor,
    of_views: Array,
) -> dict[str, str]:  # fmt: skip
    """How good the stored networks are, on images that they were not fitted to.

    Parameters
    ----------
    path
        The file.
    pool, held_out, wanted
        Made images, which of them were held out, and how sure their attributes are.
    views, from_head, of_views
        Held-out photos at 64 px, what the head makes of their w, and how sure the attributes of the photos are.
    """
    parts = load_parts(path)

    def right(images: Tensor, truth: Array) -> Array:
        with torch.inference_mode():
            told = torch.cat([parts.classifier(part) > 0 for part in torch.split(images, 100)]).numpy()
        share: Array = (told == (truth > 0.5)).mean(axis=0)
        return share

    on_made, on_photos = right(pool.images[held_out].float() / 255, wanted), right(from_head, of_views)
    common = np.maximum((wanted > 0.5).mean(axis=0), (wanted <= 0.5).mean(axis=0))
    rows = {
        name: [round(float(column[i]), 3) for column in (on_made, on_photos, common)]
        for i, name in enumerate(ATTRIBUTES)
    }
    test = slice(-(len(pool.images) // 8), None)
    spread = pool.spread[test]
    with torch.inference_mode():
        poor = np.tanh(parts.critic(pool.images[test].float() / 255).double().numpy())
        real = np.tanh(parts.critic(views).double().numpy())
    bands = {"0.4 to 0.8": (0.4, 0.8), "0.8 to 1.2": (0.8, 1.2), "1.5 to 2": (1.5, 2.0), "2 to 4": (2.0, 4.1)}
    return {
        "accuracy of attributes, made images": f"{on_made.mean():.3f}",
        "accuracy of attributes, photos": f"{on_photos.mean():.3f}",
        "accuracy of the commoner answer": f"{common.mean():.3f}",
        "mean tanh(D), photos": f"{real.mean():.2f}",
    } | {
        f"mean tanh(D), {name} times the spread": f"{poor[(spread >= low) & (spread < high)].mean():.2f}"
        for name, (low, high) in bands.items()
    } | {"attributes": json.dumps(rows)}  # fmt: skip
