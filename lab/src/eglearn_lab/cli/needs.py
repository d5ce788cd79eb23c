"""Whether the packages that a command needs are there."""

from __future__ import annotations

import importlib.util

from eglearn.cli.errors import Failure


def need(what_needs: str, *packages: str, by: str) -> None:
    """Raise ``Failure`` if a package is missing; ``by`` is the distribution and extra that brings it."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise Failure(f"{what_needs} {' and '.join(missing)}: pip install '{by}'")
