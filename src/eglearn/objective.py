"""Whatever a user calls an objective, as a function of one array."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ._typing import Array
from .evaluation import Command, load_objective


class WithArguments:
    """``fun(x, *args)`` as a function of x that can be sent to workers."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.fun, self.args = fun, args

    def __call__(self, x: Array) -> Any:
        """The value at a point."""
        return self.fun(x, *self.args)


class WithTuple:
    """A function with a ``functools`` cache: the cache needs an argument that can be hashed, which an array cannot."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun

    def __call__(self, x: Array, *args: Any) -> Any:
        """The value at a point."""
        return self.fun(tuple(x.tolist()), *args)


class WithTensor:
    """A ``torch.nn.Module``: it gets a tensor of the type and on the device of its parameters, without gradients."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __call__(self, x: Array, *args: Any) -> Any:
        """The value at a point, or the values of a batch (m, n)."""
        import torch

        like = next(self.module.parameters(), torch.zeros((), dtype=torch.float64))
        with torch.no_grad():
            answer = self.module(torch.as_tensor(x, dtype=like.dtype, device=like.device), *args)
        return answer.cpu().numpy() if isinstance(answer, torch.Tensor) else answer


def as_function(fun: Any, args: Any = ()) -> Any:
    """The objective as a function of x alone, or a ``Command``.

    Parameters
    ----------
    fun
        What the user gave.
    args
        More arguments for it; what is not a tuple is one argument, as in SciPy.

    Examples
    --------
    >>> as_function(lambda x, a: a * x, (3,))(2)
    6
    """
    args = args if isinstance(args, tuple) else (args,)
    if isinstance(fun, Command):
        if args:
            raise ValueError(f"args = {args!r}: a Command takes none, write them into its words")
        return fun
    if isinstance(fun, str) and args:
        fun = load_objective(fun)
    if hasattr(fun, "cache_info") and hasattr(fun, "__wrapped__"):
        fun = WithTuple(fun)
    elif (torch := sys.modules.get("torch")) is not None and isinstance(fun, torch.nn.Module):
        fun = WithTensor(fun)
    return WithArguments(fun, args) if args else fun
