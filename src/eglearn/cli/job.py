"""What is to be run: the arguments of ``minimize``, from options or from the file of an earlier run."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..algorithms import ALGORITHMS
from ..evaluation import Command, load_objective
from ..result import counted
from ..store import History, StoreError, StoreMismatch
from .errors import Failure, Usage
from .options import Given, make_settings, read_bounds
from .trust import ask_for_trust, signature

_CHANGEABLE = (
    *("workers", "timeout", "retries", "vectorized", "keep_x"),
    *("target", "max_seconds", "ftol", "xtol", "patience"),
)


@dataclass(frozen=True)
class Job:
    """An objective and how to minimise it."""

    objective: str | Command
    """``module:function``, or an external program."""
    arguments: dict[str, Any]
    """Of ``minimize``, all but the objective and the callback."""

    @property
    def name(self) -> str:
        """The objective for people."""
        return shlex.join(self.objective.words) if isinstance(self.objective, Command) else self.objective

    @property
    def words(self) -> str | list[str]:
        """The objective as the file of a run has it: a name, or the words of a command."""
        return list(self.objective.words) if isinstance(self.objective, Command) else self.objective

    @property
    def once(self) -> bool:
        """Whether it is a program that is started for each point."""
        return bool(getattr(self.objective, "once", False))

    @property
    def changeable(self) -> dict[str, Any]:
        """The arguments that do not define the run: they may be others when it goes on. And who has run it, where."""
        about = {name: self.arguments[name] for name in _CHANGEABLE if name in self.arguments}
        signed = None if self.arguments.get("store") is None else signature(self)
        return about | ({"once": True} if self.once else {}) | ({} if signed is None else {"signature": signed})

    def check(self) -> None:
        """See that the objective can be loaded; its module may be in the current folder."""
        if isinstance(self.objective, Command):
            return
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        try:
            load_objective(self.objective)
        except (Exception, SystemExit) as error:
            *_, (frame, _) = traceback.walk_tb(error.__traceback__)
            if frame.f_globals.get("__name__") == load_objective.__module__:  # it is ours, about the name
                raise Usage(str(error)) from error
            reason = f"{type(error).__name__}: {error}"
            raise Failure(f"the module of the objective {self.name!r} fails ({reason}): correct it") from error


def new_job(objective: str | None, given: Given) -> Job:
    """The job that the options of ``run`` describe."""
    what = _objective(objective, given)
    if what is None:
        raise Usage("the objective is missing: name it, as in 'eglearn run module:function', or give --command")
    if "budget" not in given:
        raise Usage("the budget is missing: say how many evaluations, as in --budget 10000")
    if given.get("no_store") and "store" in given:
        raise Usage(f"both --store {given['store']} and --no-store are given: leave out one of them")
    bounds, x0, scale = _box(given)
    algorithm = ALGORITHMS[given.get("algorithm", "auto")]
    settings = make_settings(given, len(bounds), algorithm)
    arguments = {
        "bounds": bounds,
        "x0": x0,
        "scale": scale,
        "budget": given["budget"],
        "seed": given.get("seed", 0),
        "on_error": _on_error(given["on_error"]) if "on_error" in given else None,
        "width": given.get("width"),
        "ordered": bool(given.get("ordered", False)),
        "store": None if given.get("no_store") else given.get("store", "run.egl"),
        "settings": settings,
        "algorithm": algorithm,
    }
    job = Job(what, _changes(given) | arguments)
    if arguments["store"] is not None:
        _check_store(arguments["store"], job)
    return job


def old_job(path: str, objective: str | None, given: Given) -> Job:
    """The job in the file of an earlier run; what is given replaces what was said then.

    What the file names is run only if it was named here, or is trusted.
    """
    history = History(path)
    named = _objective(objective, given)
    what = named or _remembered(history)
    if what is None:
        raise Usage(f"{path} does not name its objective: name it, as in 'eglearn resume {path} module:function'")
    identity = history.identity
    try:
        box = identity["box"]
        arguments = {
            "bounds": list(zip(box["low"], box["high"], strict=True)),
            "x0": box["x0"],
            "scale": box["scale"],
            "budget": given.get("budget", identity["budget"]),
            "seed": identity["seed"],
            "on_error": identity["on_error"],
            "width": identity.get("width"),
            "ordered": identity.get("ordered", False),
            "store": path,
            "fingerprint": "any",  # who resumes a file may name another objective for it
            "settings": ALGORITHMS[identity["algorithm"]].settings_class().from_state(identity["settings"]),
            "algorithm": ALGORITHMS[identity["algorithm"]],
            "known": (known["x"], known["y"]) if (known := identity.get("known")) else None,
        }
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"{path} does not describe a run that this eglearn can continue ({error}): use the version that began it"
        ) from error
    job = Job(what, _changes(history.about) | _changes(given) | arguments)
    if named is None and not given.get("trust"):
        ask_for_trust(job, history.about.get("signature"))
    return job


def _changes(given: Given) -> dict[str, Any]:
    return {name: given[name] for name in _CHANGEABLE if name in given}


def _objective(name: str | None, given: Given) -> str | Command | None:
    command, once = given.get("command"), bool(given.get("once"))
    if name is not None and command is not None:
        raise Usage(f"both an objective ({name}) and --command are given: leave out one of them")
    if command is None:
        if once:
            raise Usage("--once is for programs: name one, as in --once --command './simulate {x}'")
        return name
    if not once and ("{x}" in command or "{file}" in command):
        raise Usage(
            f"the command {command!r} has a place for the point: add --once to start it for each point; else it is "
            'kept alive, reads a line {"id": 0, "x": [0.5, -1.0]} for each, and answers by a line {"id": 0, "y": 1.25}'
        )
    return _command(command, once)


def _command(command: str | list[str], once: bool) -> Command:
    """An external program, started for each point or kept alive."""
    try:
        return Command(command, once=once)
    except ValueError as error:
        raise Usage(str(error)) from error


def _remembered(history: History) -> str | Command | None:
    """The objective of an earlier run; None if only the program that began it knows it."""
    told = history.environment.get("objective")
    if isinstance(told, list):
        if not told or not all(isinstance(word, str) for word in told):
            return None
        return _command(told, history.about.get("once") is True)
    return told if isinstance(told, str) and "<" not in told and not told.startswith("__main__:") else None


def _check_store(store: str, job: Job) -> None:
    """Refuse to go on with the run of another objective, which is no part of a run's identity."""
    there = None
    with suppress(StoreError):  # minimize reports it, or mends what is damaged
        there = _remembered(History(store)) if Path(store).exists() else None
    if there is not None and there != job.objective:
        old = Job(there, {}).name
        raise StoreMismatch(f"{store} holds a run of {old!r}, not of {job.name!r}: choose another file with --store")


def _box(given: Given) -> tuple[list[tuple[float, float]], list[float] | None, list[float] | None]:
    bounds, x0, scale = given.get("bounds"), given.get("x0"), given.get("scale")
    if "bounds_file" in given:
        bounds = read_bounds(given["bounds_file"])
    if bounds is None:
        raise Usage("the bounds are missing: give them as in --bounds -5 5, or with --bounds-file")
    n = given.get("dim")
    if isinstance(bounds, tuple):
        n = n if n is not None else len(x0) if x0 and len(x0) > 1 else None
        if n is None:
            raise Usage("the dimension is missing: give it as in --dim 40")
        bounds = [bounds] * n
    n = len(bounds) if n is None else n
    if n < 1:
        raise Usage(f"the dimension is {n}: it must be 1 or more")
    if len(bounds) != n:
        many = counted(len(bounds), "coordinate")
        raise Usage(f"the dimension is {n}, but there are bounds for {many}: correct one of them")
    return bounds, _each("x0", x0, n), _each("scale", scale, n)


def _each(name: str, values: list[float] | None, n: int) -> list[float] | None:
    if values is None or len(values) == n:
        return values
    if len(values) != 1:
        many = f"{len(values)} numbers for {counted(n, 'coordinate')}"
        raise Usage(f"{name} has {many}: give one for all, or one for each")
    return values * n


def _on_error(text: str) -> str | float:
    with suppress(ValueError):
        return float(text)
    return text
