"""FashionMNIST (Xiao, Rasul and Vollgraf 2017): reading its four files.

Debian and Ubuntu have them as the package ``dataset-fashion-mnist``.
"""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
"""Where the Debian package puts the files."""

CLASSES = (
    "t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot",
)  # fmt: skip


def load_fashion(split: str, folder: str | os.PathLike[str] | None = None) -> tuple[Any, Any]:
    """Images (N, 28, 28) and labels (N,), as uint8.

    Parameters
    ----------
    split
        ``"train"`` (60,000 images) or ``"t10k"`` (10,000, the test set).
    folder
        Where the files are; None: where the Debian package puts them.

    Raises
    ------
    FileNotFoundError
        If they are not there; the message tells how to get them.
    """
    if split not in ("train", "t10k"):
        raise ValueError(f"split = {split!r}: allowed is 'train' or 't10k'")
    place = DEBIAN if folder is None else Path(folder)
    images = read_idx(place / f"{split}-images-idx3-ubyte.gz")
    labels = read_idx(place / f"{split}-labels-idx1-ubyte.gz")
    if images.ndim != 3 or labels.shape != images.shape[:1]:
        raise ValueError(f"the files in {place} hold {images.shape} images and {labels.shape} labels: get them again")
    return images, labels


def read_idx(path: Path) -> Any:
    """An array in the IDX format: two zero bytes, type 8 (uint8), rank, the sizes as big-endian integers, the data."""
    if not path.exists():
        raise FileNotFoundError(
            f"{path.name} is not in {path.parent}: install FashionMNIST with 'apt-get install dataset-fashion-mnist', "
            f"or name the folder that holds its four .gz files"
        )
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be unpacked ({error}): get it again") from error
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is not an IDX file of bytes: get it again")
    rank = content[3]
    shape = struct.unpack(f">{rank}I", content[4 : 4 + 4 * rank])
    data = np.frombuffer(content, np.uint8, offset=4 + 4 * rank)
    if data.size != np.prod(shape, dtype=np.int64):
        raise ValueError(f"{path} holds {data.size} bytes where {shape} are announced: get it again")
    return data.reshape(shape)
