"""Commands of other packages, above all of eglearn-lab, found through the entry points ``eglearn.commands``."""

from __future__ import annotations

from importlib.metadata import entry_points

from cyclopts import App

from .errors import Failure

GROUP = "eglearn.commands"
"""Each entry point names a command and the ``cyclopts.App`` behind it."""

OF_THE_LAB = ("bench", "data", "experiment")

_INSTALL = "pip install eglearn-lab (in a checkout: pip install ./lab)"


def add_commands(app: App, words: list[str]) -> None:
    """Add the commands of other packages, unless the words name one of the library's own.

    Of eglearn-lab's that are not installed, the help says what brings them; if the words name one, so does ``Failure``.
    """
    word = words[0] if words else ""
    if word in app and not word.startswith("-"):
        return
    found = entry_points(group=GROUP)
    if word in OF_THE_LAB and word not in found.names:
        raise Failure(f"'eglearn {word}' comes with another package: {_INSTALL}")
    for entry in sorted(found, key=lambda entry: entry.name):
        if entry.name not in app:
            app.command(_load(entry.name), name=entry.name)
    if absent := [name for name in OF_THE_LAB if name not in found.names]:
        app.help_epilogue = f"For benchmarks and experiments ({', '.join(absent)}): {_INSTALL}"


def _load(name: str) -> App:
    (entry,) = entry_points(group=GROUP, name=name)
    try:
        loaded: App = entry.load()
    except Exception as error:
        package = "another package" if entry.dist is None else entry.dist.name
        raise Failure(f"the command {name} of {package} cannot be loaded ({type(error).__name__}: {error})") from error
    return loaded
