"""Whatever a user calls an objective, as a function of one array; and how a store knows it again."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ._typing import Array
from .evaluation import Command, load_objective
from .store import History, StoreMismatch


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


def identified(
    fun: Callable[[Any], Any] | str | Command, fingerprint: str | None, held: History | None
) -> dict[str, Any]:
    """What the store remembers of an objective; raises if it holds the run of another one."""
    if not (fingerprint is None or isinstance(fingerprint, str)):
        raise ValueError(f"fingerprint = {fingerprint!r}: it must be a text, or None for the name of the objective")
    now: dict[str, Any] = {"objective": _name(fun)}
    before: Mapping[str, Any] = {} if held is None else held.environment
    if fingerprint != "any":
        now |= {} if fingerprint is None else {"fingerprint": fingerprint}
        key = "fingerprint" if "fingerprint" in before or "fingerprint" in now else "objective"
        if "objective" in before and not _same(before.get(key), now.get(key)):
            what = "an objective with the fingerprint" if key == "fingerprint" else "the objective"
            raise StoreMismatch(
                f"{held and held.path} holds a run of {what} {_told(before.get(key))}, not {_told(now.get(key))}: "
                "choose another file, or pass fingerprint='any' if the values of both are the same"
            )
    elif "fingerprint" in before:
        now["fingerprint"] = before["fingerprint"]
    return now


def _same(before: Any, now: Any) -> bool:
    """Whether two objectives have the same name; that of a script's module depends on who runs it."""
    if isinstance(before, str) and isinstance(now, str):
        modules, names = zip(before.partition(":")[::2], now.partition(":")[::2], strict=True)
        return names[0] == names[1] and (modules[0] == modules[1] or "__main__" in modules)
    return bool(before == now)


def _told(name: Any) -> str:
    return "(none)" if name is None else repr(shlex.join(name) if isinstance(name, list) else name)


def _name(fun: Callable[[Any], Any] | str | Command) -> str | list[str]:
    """What the store remembers of an objective: "module:function", or the words of a command."""
    if isinstance(fun, Command):
        return list(fun.words)
    if isinstance(fun, str):
        return fun
    if isinstance(fun, functools.partial):
        return f"{_name(fun.func)} <partial>"
    kind = fun if hasattr(fun, "__qualname__") else type(fun)
    return f"{kind.__module__}:{kind.__qualname__}"
