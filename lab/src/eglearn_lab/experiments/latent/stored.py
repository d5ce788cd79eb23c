"""Reading networks, and what belongs to them, from one file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


def read_parts(
    path: str | os.PathLike[str], what: str, extra: str
) -> tuple[Callable[[str], dict[str, Any]], dict[str, str]]:
    """A function that gives the tensors of a part by their names, and the file's metadata.

    ``what`` and ``extra`` say in an ImportError who needs a package, and which extra of the laboratory has it.
    """
    try:
        import torch  # noqa: F401
        from safetensors import safe_open
        from safetensors.torch import load_file
    except ImportError as error:
        raise ImportError(f"the {what} need {error.name}: pip install 'eglearn-lab[{extra}]'") from error
    with safe_open(path, "pt") as file:
        about = dict(file.metadata() or {})
    tensors = load_file(path)

    def part(name: str) -> dict[str, Any]:
        held = {key.removeprefix(f"{name}."): value for key, value in tensors.items() if key.startswith(f"{name}.")}
        return {key: value.float() if value.is_floating_point() else value for key, value in held.items()}

    return part, about


def freeze(module: Any, weights: dict[str, Any]) -> None:
    """Give a network its weights, which do not change from now on."""
    module.load_state_dict(weights)
    module.eval().requires_grad_(False)
