"""State by construction: a dataclass's fields are its state, as plain data and back.

Every search, map, memory and policy is a ``Stateful`` dataclass. One piece of code writes them and reads them; nobody
keeps lists of attribute names. ``serialize`` turns the plain data into bytes.
"""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from typing import Any, ClassVar, Self

import numpy as np

from ._typing import State

SHARED = {"shared": True}
"""Metadata of a field that is handed in when a state is read: the generator, which all searches of a run share."""


class Stateful:
    """A dataclass whose fields are all that its future depends on.

    Fields hold arrays, numbers, text, enums, None, other ``Stateful`` objects, and lists and dicts of these. What
    follows from the fields is set by ``_derive``. A field with a default may be missing from an older state.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Walker(Stateful):
    ...     x: float
    ...     steps: list[float]
    >>> Walker(0.5, [1.0]).state()
    {'x': 0.5, 'steps': [1.0]}
    >>> Walker.from_state({"x": 0.5, "steps": [1.0]})
    Walker(x=0.5, steps=[1.0])
    """

    kinds: ClassVar[dict[str, type[Stateful]]] = {}
    """All kinds by name, so that a state can tell which one it is."""

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        Stateful.kinds[cls.__name__] = cls

    def state(self) -> State:
        """Everything that the future depends on, as plain data; nothing in it changes later."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {f.name: plain(getattr(self, f.name)) for f in fields if not f.metadata.get("shared")}

    @classmethod
    def from_state(cls, state: State, **shared: Any) -> Self:
        """What ``state()`` described; ``shared`` are the fields that are not part of it."""
        self = cls.__new__(cls)
        for f in dataclasses.fields(cls):  # type: ignore[arg-type]
            if f.metadata.get("shared"):
                value = shared[f.name]
            elif f.name in state:
                value = restored(state[f.name], **shared)
            elif f.default is not dataclasses.MISSING:
                value = f.default
            elif f.default_factory is not dataclasses.MISSING:
                value = f.default_factory()
            else:
                raise ValueError(f"the state of {cls.__name__} has no {f.name}")
            object.__setattr__(self, f.name, value)  # also if the dataclass is frozen
        self._derive()
        return self

    def _derive(self) -> None:
        """Set what follows from the fields."""


def plain(value: Any) -> Any:
    """A field's value as plain data, copied if it could change."""
    if isinstance(value, Stateful):
        return {"kind": type(value).__name__, "state": value.state()}
    if isinstance(value, StrEnum):
        return {"enum": type(value).__name__, "value": value.value}
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def restored(value: Any, **shared: Any) -> Any:
    """The field's value that ``plain`` described."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list):
        return [restored(v, **shared) for v in value]
    if isinstance(value, dict):
        if value.keys() == {"kind", "state"}:
            return _known(Stateful.kinds, value["kind"]).from_state(value["state"], **shared)
        if value.keys() == {"enum", "value"}:
            return _known(_enums(), value["enum"])(value["value"])
        return {k: restored(v, **shared) for k, v in value.items()}
    return value


def _enums() -> dict[str, type[StrEnum]]:
    # Of several with one name, that of this package: a user's program may well have a Role of its own.
    ours_last = sorted(StrEnum.__subclasses__(), key=lambda kind: kind.__module__.startswith(f"{__package__}."))
    return {kind.__name__: kind for kind in ours_last}


def _known(kinds: dict[str, Any], name: str) -> Any:
    if name not in kinds:
        raise ValueError(f"the state holds a {name}, which this eglearn does not know: use the version that made it")
    return kinds[name]
