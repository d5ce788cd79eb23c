"""Settings: frozen dataclasses whose fields carry their meaning, what is allowed, and their source.

Each search has a settings class of its own beside it. The command line and the documentation are made from the same
fields.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ._typing import State
from .state import Stateful, restored


@dataclass(frozen=True)
class Allowed:
    """A set of values: a test and its description for people."""

    test: Callable[[Any], bool]
    text: str


def _real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def whole(low: int) -> Allowed:
    """Whole numbers from ``low`` on."""
    return Allowed(
        lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= low, f"a whole number, {low} or more"
    )


def one_of(*choices: str) -> Allowed:
    """One of several words."""
    return Allowed(lambda v: v in choices, "one of " + ", ".join(map(repr, choices)))


def or_none(allowed: Allowed) -> Allowed:
    """The same, or None."""
    return Allowed(lambda v: v is None or allowed.test(v), allowed.text + ", or None")


POSITIVE = Allowed(lambda v: _real(v) and v > 0, "a number above 0")
NOT_NEGATIVE = Allowed(lambda v: _real(v) and v >= 0, "a number, 0 or more")
FACTOR = Allowed(lambda v: _real(v) and 0 < v <= 1, "a number in (0, 1]")
BELOW_ONE = Allowed(lambda v: _real(v) and 0 < v < 1, "a number in (0, 1)")
SHARE = Allowed(lambda v: _real(v) and 0 < v < 0.5, "a number in (0, 0.5)")
FRACTION = Allowed(lambda v: _real(v) and 0 <= v < 1, "a number in [0, 1)")
APERTURE = Allowed(lambda v: _real(v) and 0 < v <= math.pi, "an angle in (0, pi]")
FLAG = Allowed(lambda v: isinstance(v, bool), "True or False")
WIDTHS = Allowed(
    lambda v: isinstance(v, tuple) and len(v) > 0 and all(whole(1).test(w) for w in v),
    "a tuple of whole numbers, each 1 or more",
)
NUMBERS = Allowed(
    lambda v: isinstance(v, tuple) and len(v) > 0 and all(map(_real, v)),
    "a tuple of numbers",
)


def setting(default: Any, meaning: str, source: str, allowed: Allowed = POSITIVE) -> Any:
    """Declare a field of a settings class."""
    return dataclasses.field(default=default, metadata={"meaning": meaning, "source": source, "allowed": allowed})


@dataclass(frozen=True, kw_only=True)
class Settings(Stateful):
    """What all settings classes have in common.

    Raises
    ------
    ValueError
        If a value is not allowed; the message names the field, the value and what is allowed.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            allowed: Allowed | None = field.metadata.get("allowed")
            value = getattr(self, field.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, field.name, value := value.item())
            if allowed is not None and not allowed.test(value):
                raise ValueError(f"{type(self).__name__}.{field.name} = {value!r}: allowed is {allowed.text}")

    @classmethod
    def describe(cls) -> str:
        """All fields as a table in Markdown: name, default, meaning, allowed, source."""
        rows = ["| field | default | meaning | allowed | source |", "|---|---|---|---|---|"]
        for f in dataclasses.fields(cls):
            if not (meta := f.metadata):
                continue
            rows.append(
                f"| `{f.name}` | `{f.default!r}` | {meta['meaning']} | {meta['allowed'].text} | {meta['source']} |"
            )
        return "\n".join(rows)

    @classmethod
    def from_state(cls, state: State, **shared: Any) -> Self:
        """The settings that ``state`` describes, checked again."""
        names = {f.name for f in dataclasses.fields(cls)}
        if unknown := sorted(state.keys() - names):
            raise ValueError(f"{cls.__name__} has no setting {unknown[0]!r}")
        values = {name: restored(value, **shared) for name, value in state.items()}
        return cls(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})

    def changed(self, **changes: Any) -> Self:
        """A copy with other values; an unknown name is an error that lists those there are."""
        names = [f.name for f in dataclasses.fields(self)]
        if unknown := [name for name in changes if name not in names]:
            raise TypeError(f"{type(self).__name__} has no setting {unknown[0]!r}; it has {', '.join(names)}")
        return dataclasses.replace(self, **changes)
