"""What is measured on an image of a garment: 34 landmarks of the silhouette, and 40 attributes.

The landmarks are the search's landmark estimator: a formula, continuous in the image. The attributes here are those of
photographs, whose class is known; the search uses a classifier that learned to tell them.
Images are (k, 28, 28) in [0, 1], garments bright on black.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array, Mask
from ...fashion import CLASSES

ROWS = 17
"""Heights with a left and a right landmark each: 34 points, 68 numbers."""

_EDGE = 0.04  # this share of a row's brightness is left of the left landmark
_FLOOR = 1e-3  # brightness added everywhere, so that an empty image has landmarks too

_GROUPS = {
    "top": ("t-shirt", "pullover", "coat", "shirt"),
    "footwear": ("sandal", "sneaker", "ankle boot"),
    "closed shoe": ("sneaker", "ankle boot"),
    "outer layer": ("pullover", "coat"),
    "covers the trunk": ("t-shirt", "pullover", "dress", "coat", "shirt"),
    "clothing": ("t-shirt", "trouser", "pullover", "dress", "coat", "shirt"),
    "full length": ("trouser", "dress"),
    "below the waist": ("trouser", "sandal", "sneaker", "ankle boot"),
    "buttoned": ("coat", "shirt"),
    "for summer": ("t-shirt", "dress", "sandal"),
}


def landmarks(images: Array) -> Array:
    """Where the outline is: (k, 68), x and y of 34 points in units of the image's side, from its upper left corner.

    Seventeen heights cut the brightness, from top to bottom, into eighteen equal parts. At each of them the two points
    leave 4 % of the brightness of that row outside, left and right.
    """
    mass = np.asarray(images, dtype=float) + _FLOOR
    side = mass.shape[2]
    shares = np.arange(1, ROWS + 1) / (ROWS + 1)
    y = _quantiles(mass.sum(axis=2), np.broadcast_to(shares, (len(mass), ROWS)))
    # Brightness of the row at a height that is no whole number: neighbours weighted by their distance to it.
    centres = np.arange(mass.shape[1]) + 0.5
    weights = np.maximum(0.0, 1.0 - np.abs(y[:, :, None] - centres))
    rows = np.einsum("kry,kyx->krx", weights, mass).reshape(-1, side)
    x = _quantiles(rows, np.broadcast_to([_EDGE, 1 - _EDGE], (len(rows), 2))).reshape(-1, ROWS, 2)
    points = np.stack([x, np.repeat(y[:, :, None], 2, axis=2)], axis=-1)
    in_sides: Array = points.reshape(len(mass), -1) / side
    return in_sides


def _quantiles(mass: Array, shares: Array) -> Array:
    """Where the running sum of ``mass`` (k, cells) reaches ``shares`` (k, s) of the whole, linear within a cell."""
    total = np.cumsum(mass, axis=1)
    level = shares * total[:, -1:]
    cell = (total[:, None, :] < level[:, :, None]).sum(axis=2).clip(max=mass.shape[1] - 1)
    inside = np.take_along_axis(mass, cell, axis=1)
    position: Array = cell + 1 - (np.take_along_axis(total, cell, axis=1) - level) / inside
    return position


def features(images: Array) -> dict[str, Array]:
    """Twenty numbers of each image; an attribute is true where one is above its median over the training images."""
    x = np.asarray(images, dtype=float)
    points = landmarks(x).reshape(len(x), ROWS, 2, 2)
    wide = points[:, :, 1, 0] - points[:, :, 0, 0]
    middle = points[:, :, :, 0].mean(axis=2)
    tall = points[:, -1, 0, 1] - points[:, 0, 0, 1]
    lit = x > 0.1
    area = np.maximum(lit.mean(axis=(1, 2)), 1e-6)
    bright = x.mean(axis=(1, 2)) / area
    inner = x[:, 8:20, 12:16].mean(axis=(1, 2))
    return {
        "large": area,
        "bright": bright,
        "strong contrast": np.sqrt(np.maximum((x**2).mean(axis=(1, 2)) / area - bright**2, 0.0)),
        "tall": tall,
        "wide": wide.mean(axis=1),
        "wide for its height": wide.mean(axis=1) / np.maximum(tall, 1e-6),
        "wide at the top": wide[:, 1],
        "wide in the middle": wide[:, ROWS // 2],
        "wide at the bottom": wide[:, -2],
        "narrower at the waist": (wide[:, 1] + wide[:, -2]) / 2 - wide[:, ROWS // 2],
        "widens downwards": wide[:, -4:].mean(axis=1) - wide[:, :4].mean(axis=1),
        "weight in the lower half": points[:, ROWS // 2, 0, 1],
        "weight to the right": middle.mean(axis=1),
        "leans to the right": middle[:, -4:].mean(axis=1) - middle[:, :4].mean(axis=1),
        "asymmetric": np.abs(x - x[:, :, ::-1]).mean(axis=(1, 2)),
        "dark along the middle": bright - inner,
        "vertical stripes": np.abs(np.diff(x, axis=2)).mean(axis=(1, 2)) / area,
        "horizontal stripes": np.abs(np.diff(x, axis=1)).mean(axis=(1, 2)) / area,
        "bright top": x[:, :14].mean(axis=(1, 2)) - x[:, 14:].mean(axis=(1, 2)),
        "bright spots": (x > 0.85).mean(axis=(1, 2)) / area,
    }


ATTRIBUTES = (*CLASSES, *_GROUPS, *features(np.zeros((1, 28, 28))))
"""Names of the 40 attributes: ten classes, ten groups of classes, twenty features."""


def thresholds(images: Array) -> Array:
    """Medians (20,) of the features."""
    return np.array([np.median(values) for values in features(images).values()])


def true_attributes(images: Array, labels: Array, medians: Array) -> Mask:
    """The attributes (k, 40) of images whose class is known."""
    names = np.array(CLASSES)[labels]
    groups = [np.isin(names, [group]) for group in CLASSES] + [np.isin(names, group) for group in _GROUPS.values()]
    above = [values > median for values, median in zip(features(images).values(), medians, strict=True)]
    return np.stack(groups + above, axis=1)
