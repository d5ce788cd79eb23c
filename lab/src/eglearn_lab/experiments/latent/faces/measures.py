"""What is measured on an image of a face: numbers from its landmarks and from the colours of regions they mark out.

An attribute is true where its number is above a quantile. The names say what is measured, not what it may be a sign
of: *lines between the eyes* are mostly those of glasses, a *dark chin* may be a beard or a shadow, and what is told
from the colours of places where hair usually is may be a hat.
Points are dlib's 68: 0-16 jaw, 17-26 brows, 27-35 nose, 36-47 eyes, 48-67 mouth; left is the viewer's left.
"""

from __future__ import annotations

import numpy as np

from ...._typing import Array

_WEIGHTS = np.array([0.299, 0.587, 0.114])  # of red, green and blue in brightness


class _Face:
    """Landmarks of k faces, the unit of length, and mean colours of regions."""

    def __init__(self, pixels: Array, landmarks: Array) -> None:
        self.pixels = pixels
        self.p = landmarks.reshape(len(landmarks), -1, 2)
        self.left_eye, self.right_eye = self.p[:, 36:42].mean(axis=1), self.p[:, 42:48].mean(axis=1)
        self.unit = np.linalg.norm(self.right_eye - self.left_eye, axis=1)

    def far(self, a: int, b: int) -> Array:
        """Distance of two points, in units of that of the eyes."""
        distance: Array = np.linalg.norm(self.p[:, a] - self.p[:, b], axis=1) / self.unit
        return distance

    def colour(self, centre: Array, wide: float, tall: float | None = None) -> Array:
        """Mean colour (k, 3) of boxes around the centres (k, 2); sizes in units of the distance of the eyes."""
        side = self.pixels.shape[1]
        half = np.stack([wide * self.unit, (wide if tall is None else tall) * self.unit], axis=1) / 2
        low = np.clip(np.floor((centre - half) * side).astype(int), 0, side - 2)
        high = np.clip(np.ceil((centre + half) * side).astype(int), low + 1, side)
        boxes = zip(self.pixels, low, high, strict=True)
        return np.array([image[y0:y1, x0:x1].mean(axis=(0, 1)) for image, (x0, y0), (x1, y1) in boxes]) / 255

    def steep(self, centre: Array, wide: float, tall: float) -> Array:
        """Mean of the absolute differences between rows, in boxes as above."""
        side = self.pixels.shape[1]
        half = np.stack([wide * self.unit, tall * self.unit], axis=1) / 2
        low = np.clip(((centre - half) * side).astype(int), 0, side - 4)
        high = np.clip(((centre + half) * side).astype(int), low + 3, side)
        boxes = zip(self.pixels, low, high, strict=True)
        return np.array(
            [np.abs(np.diff(image[y0:y1, x0:x1] @ _WEIGHTS, axis=0)).mean() for image, (x0, y0), (x1, y1) in boxes]
        ) / 255  # fmt: skip


def _light(colour: Array) -> Array:
    brightness: Array = colour @ _WEIGHTS
    return brightness


def _red(colour: Array) -> Array:
    share: Array = colour[:, 0] / (colour.sum(axis=1) + 1e-3)
    return share


def _blue(colour: Array) -> Array:
    share: Array = colour[:, 2] / (colour.sum(axis=1) + 1e-3)
    return share


def measures(pixels: Array, landmarks: Array) -> dict[str, Array]:
    """Numbers (k,) of each image, by name.

    Parameters
    ----------
    pixels : uint8 array (k, side, side, 3)
    landmarks : array (k, 136)
        In units of the side.
    """
    f = _Face(pixels, landmarks)
    p, far, unit = f.p, f.far, f.unit
    x, y = p[:, :, 0], p[:, :, 1]
    width = far(1, 15)
    eyes = (f.left_eye + f.right_eye) / 2
    across = np.stack([unit, np.zeros_like(unit)], axis=1)
    down = np.stack([np.zeros_like(unit), unit], axis=1)

    cheeks = (f.colour(f.left_eye + 0.55 * down, 0.25), f.colour(f.right_eye + 0.55 * down, 0.25))
    skin = (cheeks[0] + cheeks[1]) / 2
    brow_top = p[:, 17:27].min(axis=1)[:, 1]
    forehead_at = np.stack([eyes[:, 0], brow_top - 0.35 * unit], axis=1)
    forehead = f.colour(forehead_at, 0.8, 0.25)
    crown_at = np.stack([eyes[:, 0], brow_top - 1.05 * unit], axis=1)
    crown = f.colour(crown_at, 0.7, 0.3)
    lips = (f.colour((p[:, 51] + p[:, 62]) / 2, 0.3, 0.08) + f.colour((p[:, 57] + p[:, 66]) / 2, 0.3, 0.08)) / 2
    inside = f.colour((p[:, 62] + p[:, 66]) / 2, 0.3, 0.06)
    chin = f.colour((p[:, 57] + p[:, 8]) / 2, 0.35, 0.2)
    above_lip = f.colour((p[:, 33] + p[:, 51]) / 2, 0.3, 0.08)
    brows = (f.colour(p[:, 19], 0.3, 0.1) + f.colour(p[:, 24], 0.3, 0.1)) / 2
    sides = [f.colour(p[:, 4] - 0.3 * across, 0.25, 0.5), f.colour(p[:, 12] + 0.3 * across, 0.25, 0.5)]
    ears = [f.colour(p[:, 0] - 0.25 * across, 0.2, 0.4), f.colour(p[:, 16] + 0.25 * across, 0.2, 0.4)]
    corner = np.full((len(p), 2), 0.06)
    corners = [f.colour(corner, 0.3), f.colour(np.array([1.0, 0.0]) + corner * np.array([-1.0, 1.0]), 0.3)]
    ground = (corners[0] + corners[1]) / 2
    bottom = (f.colour(np.array([0.12, 0.96]) + 0 * corner, 0.6, 0.2)
              + f.colour(np.array([0.88, 0.96]) + 0 * corner, 0.6, 0.2)) / 2  # fmt: skip
    under = (f.colour(f.left_eye + 0.28 * down, 0.3, 0.1) + f.colour(f.right_eye + 0.28 * down, 0.3, 0.1)) / 2
    middle_lip = (y[:, 62] + y[:, 66]) / 2
    chord = ((y[:, 17] + y[:, 21]) / 2 - y[:, 19] + (y[:, 22] + y[:, 26]) / 2 - y[:, 24]) / 2 / unit
    turned = ((x[:, 30] - (x[:, 1] + x[:, 15]) / 2) / unit) / width
    height = (y[:, 8] - brow_top) / unit

    def apart(a: Array, b: Array) -> Array:
        distance: Array = np.linalg.norm(a - b, axis=1)
        return distance

    return {
        "mouth corners lifted": (middle_lip - (y[:, 48] + y[:, 54]) / 2) / unit,
        "wide mouth": far(48, 54),
        "open mouth": far(62, 66),
        "bright inside the mouth": _light(inside) - _light(lips),
        "dark lips": _light(skin) - _light(lips),
        "wide nose": far(31, 35),
        "long nose": far(27, 33),
        "arched brows": chord,
        "brows far above the eyes": (eyes[:, 1] - (y[:, 19] + y[:, 24]) / 2) / unit,
        "brows close together": -far(21, 22),
        "dark brows": _light(skin) - _light(brows),
        "long face": height / width,
        "long chin": far(57, 8),
        "turned to the left": -turned,
        "turned to the right": turned,
        "nose tip high": (eyes[:, 1] - y[:, 30]) / height / unit,
        "light skin": _light(skin),
        "ruddy skin": _red(skin),
        "dark chin": _light(skin) - _light(chin),
        "dark upper lip": _light(skin) - _light(above_lip),
        "dark below the eyes": _light(skin) - _light(under),
        "lines between the eyes": f.steep(p[:, 27], 0.35, 0.4),
        "dark hair": -_light(crown),
        "light hair": _light(crown),
        "reddish hair": _red(crown),
        "hair on the forehead": apart(forehead, skin),
        "bare crown": -apart(crown, skin),
        "hair beside the jaw": sum(apart(side, ground) - apart(side, crown) for side in sides),
        "ears hidden": sum(apart(ear, skin) - apart(ear, crown) for ear in ears),
        "lit from the left": _light(cheeks[0]) - _light(cheeks[1]),
        "lit from the right": _light(cheeks[1]) - _light(cheeks[0]),
        "bright background": _light(ground),
        "bluish background": _blue(ground),
        "reddish background": _red(ground),
        "bright clothes": _light(bottom),
        "bright picture": _light(pixels.mean(axis=(1, 2)) / 255),
        "colourful picture": np.array([image.std(axis=2).mean() for image in pixels]),
    }


_RARE = 0.3
_SHARES = dict.fromkeys(
    ("turned to the left", "turned to the right", "lit from the left", "lit from the right", "dark hair", "light hair",
     "lines between the eyes", "bare crown"), _RARE,
)  # fmt: skip
"""Shares of the images that have an attribute, where it is not a half: of opposites, neither may be true."""

MEASURED = tuple(measures(np.zeros((1, 8, 8, 3), np.uint8), np.random.default_rng(0).random((1, 136))))
"""Names of the attributes that are measured."""

_SOFT = 0.25  # in units of a measure's spread


def scales(pixels: Array, landmarks: Array) -> Array:
    """Thresholds and spreads (2, attributes) of the measures."""
    values = measures(pixels, landmarks)
    return np.array([[np.quantile(v, 1 - _SHARES.get(name, 0.5)), v.std()] for name, v in values.items()]).T


def chances(pixels: Array, landmarks: Array, scale: Array) -> Array:
    """How sure each measured attribute is (k, attributes): 1/2 at the threshold, 0.98 one spread above it.

    Parameters
    ----------
    pixels, landmarks
        As for `measures`.
    scale : array
        What `scales` returned.
    """
    values = np.stack(list(measures(pixels, landmarks).values()), axis=1)
    threshold, spread = scale
    share: Array = 1 / (1 + np.exp(-np.clip((values - threshold) / (_SOFT * spread), -30, 30)))
    return share
