"""What differs between two runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def differences(old: Any, new: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Name and both values of everything that differs between two pieces of JSON data."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            here = f"{name}.{key}" if name else key
            if key in old and key in new:
                yield from differences(old[key], new[key], here)
            else:
                yield here, _shown(old, key), _shown(new, key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i in range(len(old)):
            yield from differences(old[i], new[i], f"{name}[{i}]")
    elif old != new and not (old != old and new != new):
        yield name, _shown({"": old}, ""), _shown({"": new}, "")


def _shown(values: dict[str, Any], key: str) -> str:
    text = repr(values[key]) if key in values else "absent"
    return text if len(text) <= 60 else text[:57] + "..."
