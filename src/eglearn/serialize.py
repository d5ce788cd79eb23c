"""Plain state to bytes and back, without pickle: loading can never run code.

The format is a JSON text of the nested structure followed by the raw bytes of the arrays, which the text
refers to by position. Floats outside arrays keep their value too: Python's JSON writes the shortest text that
reads back the same, and NaN and infinities by name.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from ._typing import State

_MAGIC = b"eglearn1"
_PLAIN_KINDS = "biuf"
_DTYPE = re.compile(r"[<|][biuf][0-9]{1,2}")  # NumPy itself would evaluate some texts


def dumps(state: State) -> bytes:
    """Serialise plain data (see ``State``).

    Raises
    ------
    TypeError
        If something in ``state`` is not plain data; the message says where.

    Examples
    --------
    >>> import numpy as np
    >>> loads(dumps({"k": 3, "x": np.array([0.5, -0.5])}))
    {'k': 3, 'x': array([ 0.5, -0.5])}
    """
    if not isinstance(state, dict):
        raise TypeError(f"state is a {type(state).__name__}: it must be a dict")
    arrays: list[np.ndarray[Any, Any]] = []
    text = json.dumps(_encode(state, "state", arrays)).encode()
    parts = [_MAGIC, len(text).to_bytes(8, "little"), text]
    parts += [np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<"), copy=False).tobytes() for a in arrays]
    return b"".join(parts)


def loads(data: bytes) -> State:
    """The state that ``dumps`` wrote.

    Raises
    ------
    ValueError
        If the bytes are not such a state, or are cut short.
    """
    if data[: len(_MAGIC)] != _MAGIC:
        raise ValueError("these bytes are not an eglearn state, or come from an unknown version of the format")
    start = len(_MAGIC) + 8
    end = start + int.from_bytes(data[len(_MAGIC) : start], "little")
    try:
        tree = json.loads(data[start:end])
        state, used = _decode(tree, data, end)
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError) as error:
        raise ValueError(f"this eglearn state is damaged ({error})") from error
    if used != len(data) or not isinstance(state, dict):
        raise ValueError(f"this eglearn state is damaged (it has {len(data)} bytes, expected {used})")
    return state


def _encode(value: Any, where: str, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in _PLAIN_KINDS:
        arrays.append(np.asarray(value))
        return {"$array": [value.dtype.newbyteorder("<").str, list(value.shape)]}
    if isinstance(value, list | tuple):
        return [_encode(v, f"{where}[{i}]", arrays) for i, v in enumerate(value)]
    if isinstance(value, dict) and all(isinstance(k, str) and not k.startswith("$") for k in value):
        return {k: _encode(v, f"{where}[{k!r}]", arrays) for k, v in value.items()}
    if isinstance(value, dict):
        raise TypeError(f"{where} has a key that is not text, or begins with $: {list(value)!r}")
    raise TypeError(f"{where} is a {type(value).__name__}: a state holds only arrays, numbers, text, lists and dicts")


def _decode(tree: Any, data: bytes, at: int) -> tuple[Any, int]:
    if isinstance(tree, dict) and "$array" in tree:
        name, shape = tree["$array"]
        if not _DTYPE.fullmatch(name) or not all(type(k) is int and k >= 0 for k in shape):
            raise ValueError(f"an array of type {name} and shape {shape}")
        dtype = np.dtype(name)
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(data, dtype, count, at).reshape(shape).astype(dtype.newbyteorder("="))
        return array, at + count * dtype.itemsize
    if isinstance(tree, list):
        items = []
        for item in tree:
            value, at = _decode(item, data, at)
            items.append(value)
        return items, at
    if isinstance(tree, dict):
        pairs = {}
        for key, item in tree.items():
            pairs[key], at = _decode(item, data, at)
        return pairs, at
    return tree, at
