"""The options of ``run``: one table for the command line, the configuration file and the help.

What concerns an algorithm is read off the fields of its settings class.
"""

from __future__ import annotations

import dataclasses
import inspect
import tomllib
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cyclopts import CoercionError, Group, Parameter, Token

from ..algorithms import ALGORITHMS, AskTell
from ..settings import Settings
from .errors import Usage

Given = dict[str, Any]
"""Values by the names of their options; what was not given is absent."""

_EVALUATION: dict[str, tuple[Any, str]] = {
    "workers": (int, "Number of local worker processes; -1: one per core. [default: 1]"),
    "timeout": (float, "Seconds per evaluation; a longer one is killed and counts as failed. [default: no limit]"),
    "retries": (int, "How often to retry a failed evaluation. [default: 0]"),
    "vectorized": (bool, "The function takes many points (m, n) and returns m values."),
    "keep-x": (Literal["all", "improvements", "none"], "Which points the store keeps. [default: all]"),
    "target": (float, "Stop when a value is at or below this."),
    "max-seconds": (float, "Stop after the first value that arrives after this many seconds."),
    "ftol": (float, "Stop if no value has been lower by more than this for --patience evaluations."),
    "xtol": (float, "Stop if no coordinate of the best point has moved by more than this for --patience evaluations."),
    "patience": (
        int,
        "Stop after this many evaluations without progress. [default with --ftol or --xtol: 20 (n + 20)]",
    ),
}
_OUTPUT: dict[str, tuple[Any, str]] = {
    "quiet": (bool, "Show only the result, no progress."),
    "json": (bool, "Write the result to standard output as one JSON object; everything else goes to standard error."),
}
_CONTINUED: dict[str, tuple[Any, str]] = {
    "budget": (int, "Total number of evaluations, if more than before."),
}
_COMMAND: dict[str, tuple[Any, str]] = {
    "command": (
        str,
        "An external program as the objective. It keeps running: for each point it reads a line "
        '{"id": 0, "x": [0.5, -1.0]}, then writes and flushes a line {"id": 0, "y": 1.25}; docs/evaluation.md has an '
        "example.",
    ),
    "once": (
        bool,
        "Start the program of --command once per point, as in --once --command './simulate {x}': {x} stands for the "
        "coordinates, {file} for a file with one coordinate per line; the last line that it writes is the value.",
    ),
}
_TRUST: dict[str, tuple[Any, str]] = {
    "trust": (
        bool,
        "Run the command or module named in the file without asking. Use this only if you trust its source.",
    ),
}
_PROBLEM: dict[str, tuple[Any, str]] = {
    "dim": (int, "Number of coordinates; not needed if bounds or x0 are given for each."),
    "bounds": (
        tuple[float, float],
        "LOW and HIGH, the same for all coordinates (in a --config file also a list of pairs).",
    ),
    "bounds-file": (str, "A text file with one line per coordinate: LOW and HIGH."),
    "x0": (
        list[float],
        "Where to start: one number for all coordinates, or one for each. [default: the centre of the box]",
    ),
    "scale": (
        list[float],
        "The expected distance from x0 to the minimum, where bounds are infinite or a hundred times as far away; one "
        "number, or one per coordinate.",
    ),
    "budget": (int, "Number of evaluations; failed ones count."),
    "seed": (int, "Seed; the same seed gives the same points. [default: 0]"),
    "algorithm": (
        Literal[tuple(ALGORITHMS)],
        "The algorithm: the default (auto), one of the paper's, or a single search. [default: auto]",
    ),
    "preset": (
        Literal["default", "paper-coco", "authors-code", "paper-latent"],
        "The settings to start from; change single ones with the options that 'eglearn settings' lists. "
        "[default: default]",
    ),
    "width": (
        int,
        "Number of evaluations in flight at a time; it is part of the run and stays when the run is resumed. "
        "[default: the number of workers]",
    ),
    "ordered": (
        bool,
        "Use values in the order in which points were asked for, so that points do not depend on timing.",
    ),
    "on-error": (
        str,
        "What to do with a failed evaluation: skip, raise (end the run), or a number as its value. [default: skip]",
    ),
}
_FILES: dict[str, tuple[Any, str]] = {
    "store": (str, "The file for history and checkpoints; if it holds this run, the run continues. [default: run.egl]"),
    "no-store": (bool, "Keep no file; the run cannot be resumed."),
    "config": (str, "A TOML file with the same option names; the command line takes precedence."),
}
_WITHOUT_NO = {"vectorized", "ordered", "no-store", "quiet", "json", "once", "trust"}


def whole_number(hint: Any, tokens: Sequence[Token]) -> Any:
    """What stands for a whole number, as 1000 or 1e3, or for a list of them; "none" where the option allows it."""
    if Literal["none"] in get_args(hint) and tokens[0].value == "none":
        return "none"
    values = [_whole(token) for token in tokens]
    return values if get_origin(hint) is list else values[0]


def _whole(token: Token) -> int:
    with suppress(ValueError):
        return int(token.value)  # exactly, also a seed with more digits than a float has
    with suppress(ValueError):
        if (value := float(token.value)).is_integer():
            return int(value)
    raise CoercionError(msg=f"{token.value} is not a whole number", token=token)


Whole = Annotated[int, Parameter(converter=whole_number)]
"""A whole number; cyclopts alone would round 2.5."""


def run_options() -> Iterator[inspect.Parameter]:
    """The options of ``run`` as parameters for cyclopts."""
    yield from _parameters("Problem", _COMMAND | _PROBLEM)
    yield from _parameters("Evaluation", _EVALUATION)
    yield from _parameters("Files and output", _FILES | _OUTPUT)
    yield from _parameters("Settings of the algorithm", dict(_settings()), show=False)


def settings_options() -> Iterator[inspect.Parameter]:
    """The settings of the algorithm as parameters for cyclopts."""
    yield from _parameters("Settings of the algorithm", dict(_settings()))


def resume_options() -> Iterator[inspect.Parameter]:
    """The options of ``resume``: what may change between two parts of a run."""
    evaluation = {name: (hint, text.partition(" [default")[0]) for name, (hint, text) in _EVALUATION.items()}
    yield from _parameters("Evaluation (default: as before)", _TRUST | _CONTINUED | _COMMAND | evaluation)
    yield from _parameters("Output", _OUTPUT)


def with_options(options: Iterator[inspect.Parameter]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Replace ``**given`` in the signature of a command, of which cyclopts makes its command line."""

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[:-1]
        signature = inspect.Signature([*own, *options], return_annotation=int)
        command.__signature__ = signature  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
        return command

    return decorate


def _fields() -> dict[str, tuple[dataclasses.Field[Any], Any]]:
    """The settings of all algorithms that have a preset or a paper behind them, and their types."""
    fields: dict[str, tuple[dataclasses.Field[Any], Any]] = {}
    for name in ("egl", "igl", "convergent-egl", "auto"):
        kind = ALGORITHMS[name].settings_class()
        hints = get_type_hints(kind)
        for field in dataclasses.fields(kind):
            if field.metadata:
                fields.setdefault(field.name, (field, hints[field.name]))
    return fields


def _settings() -> Iterator[tuple[str, tuple[Any, str]]]:
    for field, hint in _fields().values():
        if get_origin(hint) is tuple:
            hint = list[get_args(hint)[0]]  # type: ignore[misc]
        elif get_origin(hint) in (Union, types.UnionType):  # with None, for which people type "none"
            hint = get_args(hint)[0] | Literal["none"]
        meta = field.metadata
        default = " ".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
        text = f"{meta['meaning']}; {meta['allowed'].text} ({meta['source']}) [default: {default}]"
        yield _option(field.name), (hint, text)


def _option(setting: str) -> str:
    """The option of a setting; the width of a network's blocks must not be taken for that of the run."""
    name = setting.replace("_", "-")
    return f"model-{name}" if name in _PROBLEM else name


def _parameters(title: str, options: Mapping[str, tuple[Any, str]], show: bool = True) -> Iterator[inspect.Parameter]:
    group = Group.create_ordered(title)
    for name, (hint, text) in options.items():
        details: dict[str, Any] = {"consume_multiple": True} if get_origin(hint) is list else {}
        if name in _WITHOUT_NO or hint is not bool:
            details["negative"] = ""
        if int in (hint, *get_args(hint)):
            details["converter"] = whole_number
        details |= {"name": f"--{name}", "help": text, "group": group, "show": show}
        how = Parameter(show_default=False, show_choices=True, **details)
        annotation = Annotated[hint | None, how]  # type: ignore[valid-type]
        yield inspect.Parameter(
            name.replace("-", "_"), inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
        )


def read_config(path: str, parse: Callable[[list[str]], Given]) -> Given:
    """What a configuration file gives, with the same names, types and checks as on the command line.

    Parameters
    ----------
    path
        A TOML file.
    parse
        Reads options from the words of a command line.
    """
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Usage(f"the configuration {path} cannot be read ({error.strerror}): check its name") from error
    except ValueError as error:
        raise Usage(f"the configuration {path} is not valid TOML ({error}): correct it") from error
    content = {key.replace("_", "-"): value for key, value in content.items()}
    known = {p.name.replace("_", "-") for p in run_options()} - {"config"} | {"objective"}
    if unknown := sorted(content.keys() - known):
        raise Usage(
            f"unknown in {path}: {', '.join(unknown)}; 'eglearn run --help' and 'eglearn settings' list all names"
        )
    given: Given = {}
    if isinstance(content.get("bounds"), list) and all(isinstance(pair, list) for pair in content["bounds"]):
        given["bounds"] = _pairs(content.pop("bounds"), path)
    if "objective" in content:
        given["objective"] = str(content.pop("objective"))
    words: list[str] = []
    for key, value in content.items():
        if isinstance(value, list):
            words += [f"--{key}", *map(str, value)]
        else:
            words.append(f"--{key}={str(value).lower() if isinstance(value, bool) else value}")
    try:
        return parse(words) | given
    except Usage as error:
        raise Usage(f"in {path}: {error}") from error


def read_bounds(path: str) -> list[tuple[float, float]]:
    """The bounds in a text file: LOW and HIGH on each line, by blanks or commas; ``#`` begins a comment."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise Usage(f"the bounds file {path} cannot be read ({error}): check its name") from error
    lines = (line.partition("#")[0].replace(",", " ").split() for line in text.splitlines())
    return _pairs([words for words in lines if words], path)


def _pairs(rows: list[list[Any]], path: str) -> list[tuple[float, float]]:
    try:
        return [(float(low), float(high)) for low, high in rows]
    except (ValueError, TypeError) as error:
        raise Usage(f"the bounds in {path} must be LOW and HIGH, two numbers, for each coordinate") from error


def make_settings(given: Given, n: int, algorithm: type[AskTell]) -> Settings:
    """The algorithm's settings from the preset and the single fields."""
    kind = algorithm.settings_class()
    changes: dict[str, Any] = {}
    for name, (field, _) in _fields().items():
        option = _option(name)
        if (key := option.replace("-", "_")) in given:
            if not algorithm.uses(name):
                users = [other for other in ALGORITHMS if ALGORITHMS[other].uses(name)]
                raise Usage(
                    f"--{option} is not a setting of the algorithm {algorithm.name!r}: leave it out, "
                    f"or choose --algorithm {users[0]}"
                )
            changes[name] = _value(field, given[key])
    preset = given.get("preset", "default").replace("-", "_")
    if preset != "default" and not hasattr(kind, preset):
        raise Usage(f"--preset {given['preset']} is for the paper's algorithms: choose --algorithm egl or igl")
    try:
        return kind(**changes) if preset == "default" else getattr(kind, preset)(n, **changes)
    except ValueError as error:
        raise Usage(str(error)) from error


def _value(field: dataclasses.Field[Any], value: Any) -> Any:
    if value == "none" and field.metadata["allowed"].test(None):
        return None
    return tuple(value) if isinstance(value, list) else value
