"""Draw the pictures of the guide, history.png: one run, seen by ``result.history.plot``."""

import tempfile
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot
from PIL import Image

from eglearn import minimize


def simulate(x):
    """A simulation that takes time, and fails for some points."""
    time.sleep(0.004 + 0.02 * (x[1] > 2))
    if x[0] > 3.5:
        raise ValueError("no mesh")
    return float(np.sum(np.arange(1, 5) * (x - 1) ** 2 + 1 - np.cos(3 * (x - 1)))) + 0.1


def picture(history, kind):
    """One picture as an array of pixels."""
    few = [0, 1, 2] if kind == "pairs" else None
    axes = np.atleast_1d(history.plot(kind, variables=few, names=["mass", "drag", "lift", "span"])).flat[0]
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        axes.figure.savefig(file.name, dpi=110)
        return pyplot.imread(file.name)


def stacked(images, axis):
    """Images beside or below one another, on white."""
    size = max(image.shape[1 - axis] for image in images)
    white = [np.ones((size, i.shape[1], 4)) if axis == 1 else np.ones((i.shape[0], size, 4)) for i in images]
    for canvas, image in zip(white, images, strict=True):
        canvas[: image.shape[0], : image.shape[1]] = image
    return np.concatenate(white, axis=axis)


if __name__ == "__main__":
    history = minimize(simulate, [(-5, 5)] * 4, [-3, 3, 0, 3], budget=500, workers=4).history
    kinds = (("convergence", "parallel"), ("timeline", "pairs"), ("slices",))
    rows = [stacked([picture(history, kind) for kind in row], axis=1) for row in kinds]
    pixels = (255 * stacked(rows, axis=0)[..., :3]).round().astype(np.uint8)
    Image.fromarray(pixels).quantize(64).save(Path(__file__).with_name("history.png"), optimize=True)
