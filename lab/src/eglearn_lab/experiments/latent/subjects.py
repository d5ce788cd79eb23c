"""What can be searched for: the generators that come with problems, by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..._typing import Array
from .cost import LatentCost
from .faces import faces
from .garments import SHIPPED, load_garments
from .protocols import Networks, Target


class Subject(Protocol):
    """Black boxes and targets."""

    @property
    def networks(self) -> Networks:
        """The four black boxes."""

    @property
    def target_images(self) -> Array:
        """(targets, side, side) or (targets, side, side, 3), in [0, 1]; no search is shown them."""

    @property
    def about(self) -> dict[str, str]:
        """How the networks were made."""

    def target(self, number: int, /) -> Target:
        """Wanted attributes and landmarks of a problem."""

    def cost(self, number: int, /) -> LatentCost:
        """The objective of a problem."""

    def caption(self, number: int, /) -> str:
        """What to write below a target."""


@dataclass(frozen=True)
class Entry:
    """A subject that can be loaded."""

    load: Callable[[], Subject]
    file: Path
    """What is shipped of it."""
    problems: int
    """That are searched by default."""

    @property
    def weights(self) -> str:
        """Which networks these are: the start of the file's SHA-256."""
        return hashlib.sha256(self.file.read_bytes()).hexdigest()[:12]


SUBJECTS: dict[str, Entry] = {
    "garments": Entry(load_garments, SHIPPED, 16),
    "faces": Entry(faces.load_faces, faces.SHIPPED, 4),
}
"""By name."""


def find_subject(name: str) -> Entry:
    """The entry of a name."""
    if name not in SUBJECTS:
        raise ValueError(f"no subject {name!r}: there are {', '.join(SUBJECTS)}")
    return SUBJECTS[name]
