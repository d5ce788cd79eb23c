"""The commands, and how their words are read."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Parameter, UnknownOptionError

from .. import __version__
from ..evaluation.words import visible
from ..names import stands_for
from ..result import counted
from ..store.errors import understood
from .errors import Failure, Usage
from .lab import add_commands
from .options import Given, read_config, resume_options, run_options, settings_options, with_options

_HELP = """Minimise functions that can only be evaluated, by learning their gradient.

Exit codes: 0 success, 1 error, 2 wrong usage, 3 all evaluations failed, 4 the store failed, 130 interrupted.
Every error is one sentence on standard error; add --debug to any command for the traceback."""

app = App(name="eglearn", help=_HELP, version=__version__, help_format="plaintext")
_Flag = Parameter(negative="", show_default=False)


@app.command
@with_options(run_options())
def run(objective: str | None = None, /, **given: Any) -> int:
    """Minimise OBJECTIVE, a function given as module:function, or the program given by --command.

    Modules are also searched for in the current folder.
    History and checkpoints go to a file (--store). To continue an interrupted
    run, repeat the command or use 'eglearn resume'.
    Settings of the algorithm are options too; 'eglearn settings' lists them.
    For example, with 4 worker processes:
    eglearn run simulation:loss --dim 40 --bounds -5 5 --budget 150000 --workers 4

    Parameters
    ----------
    objective
        The function to minimise, as module:function; for the function loss in simulation.py, that is simulation:loss.
    """
    from .job import new_job
    from .running import execute

    given, objective = _with_config(objective, given)
    return execute(new_job(objective, given), quiet=bool(given.get("quiet")), as_json=bool(given.get("json")))


@app.command
@with_options(resume_options())
def resume(store: str, objective: str | None = None, /, **given: Any) -> int:
    """Continue the run in the file STORE as if it had never stopped, with a larger budget if you like.

    OBJECTIVE or --command is needed only if a Python program started the run,
    or if the objective has a new name. Unless you started the run yourself, in
    this folder, you are asked before anything that the file names is run.

    Parameters
    ----------
    store
        The file of a run.
    objective
        The function to minimise, as module:function. [default: as before]
    """
    from .job import old_job
    from .running import execute

    return execute(old_job(store, objective, given), quiet=bool(given.get("quiet")), as_json=bool(given.get("json")))


@app.command(name="settings")
def list_settings() -> int:
    """List the settings of the algorithms, which 'eglearn run' takes as options.

    The default, auto, takes only --m; the others need --algorithm egl, igl or
    convergent-egl. A --config file uses the same names.
    """
    listed = App(name="eglearn run", help=list_settings.__doc__, help_flags=[], version_flags=[])
    listed.default(with_options(settings_options())(lambda **given: 0))
    listed.help_print([])
    return 0


@app.command
def show(store: str, /, *, json: Annotated[bool, _Flag] = False) -> int:
    """Show the state of the run in the file STORE, even while it is running.

    Parameters
    ----------
    store
        The file of a run.
    json
        Write one JSON object.
    """
    from .summary import rows, summarise

    with understood(store):
        data = summarise(store)
        lines = rows(data)
    if json:
        return _write_json(data)
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.ROUNDED, show_header=False, title=Text(visible(store)), title_justify="left")
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in lines:
        table.add_row(name, Text(visible(text)))
    Console().print(table)
    return 0


@app.command
def export(store: str, /, *, to: str, force: Annotated[bool, _Flag] = False) -> int:
    """Write the evaluations of the run in the file STORE to a table, one row per evaluation.

    Parameters
    ----------
    store
        The file of a run.
    to
        The file to write: CSV if it ends in .csv, Parquet if it ends in .parquet.
    force
        Overwrite that file if it exists.
    """
    from .export import export as write

    with understood(store):
        count = write(store, to, force)
    sys.stdout.write(f"{counted(count, 'evaluation')} written to {visible(to)}\n")
    return 0


@app.command
def backup(store: str, copy: str, /, *, without_log: Annotated[bool, _Flag] = False) -> int:
    """Copy the run in the file STORE to the new file COPY, even while it is running.

    While a run is running, and after it was killed, part of it is in a log
    beside the file (STORE-wal). A plain copy of the file would miss that part.

    Parameters
    ----------
    store
        The file of a run.
    copy
        The new file; it must not exist.
    without_log
        Copy only what the file itself holds, if its log is lost.
    """
    from ..store import backup as make

    count = make(store, copy, without_log=without_log)
    sys.stdout.write(f"{counted(count, 'evaluation')} copied to {visible(copy)}\n")
    return 0


@app.command
def report(store: str, /, *, out: str | None = None) -> int:
    """Write an HTML page about the run in the file STORE.

    Parameters
    ----------
    store
        The file of a run.
    out
        The page to write. [default: the name of the store, ending in .html]
    """
    out = f"{store.removesuffix('.egl')}.html" if out is None else out
    if not out.endswith((".html", ".htm")):
        raise Usage(f"{out} does not end in .html: choose such a name for the page")
    from ..report import write_report

    with understood(store):
        write_report(store, out)
    sys.stdout.write(f"{visible(out)} written: open it in a browser\n")
    return 0


@app.command
def ui(store: str, /, *, port: int = 0) -> int:
    """Show the run in the file STORE in a browser while it runs; there, pause it, stop it or raise its budget.

    The page is on this machine only (127.0.0.1), for whoever has the printed
    address. Ctrl-C ends the page, not the run.

    Parameters
    ----------
    store
        The file of a run.
    port
        Where the page is; 0: any free port.
    """
    from ..ui import Server

    if not 0 <= port < 65536:
        raise Usage(f"--port {port} is not a port: choose one from 0 to 65535")
    try:
        with understood(store):
            server = Server(store, port)
    except OSError as error:
        raise Failure(f"the page cannot be shown on port {port} ({error.strerror}): choose another --port") from error
    with server, suppress(KeyboardInterrupt):
        sys.stdout.write(f"open {server.url}\n")
        sys.stdout.flush()
        server.serve_forever()
    return 0


def launch(words: list[str]) -> int:
    """Run the command that the words name, and return its exit code."""
    add_commands(app, words)
    try:
        code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        raise _usage(error) from error
    return code if isinstance(code, int) else 0


def _usage(error: CycloptsError) -> Usage:
    text = " ".join(str(error).replace(", ...", "").split()).rstrip("., ")
    if isinstance(error, UnknownOptionError):
        option = (error.token.keyword or error.token.value).partition("=")[0]
        name = option.lstrip("-").replace("-", "_")
        if (ours := stands_for(name)) != name:
            text = f"unknown option: {option}. Use --{ours.replace('_', '-')}"
    chain = " ".join(("eglearn", *(error.command_chain or ())))
    return Usage(f"{text[:1].lower()}{text[1:]} (see '{chain} --help')")


def _with_config(objective: str | None, given: Given) -> tuple[Given, str | None]:
    """What is given on the command line and, for the rest, in the configuration file."""
    if "config" not in given:
        return given, objective
    config = read_config(given["config"], _parse_run)
    if objective is not None or "command" in given:  # one of them, whatever the file says
        config.pop("command", None)
        config.pop("objective", None)
    if "store" in given or "no_store" in given:
        config.pop("no_store", None)
        config.pop("store", None)
    if "bounds" in given or "bounds_file" in given:
        config.pop("bounds", None)
        config.pop("bounds_file", None)
    objective = objective or config.pop("objective", None)
    return config | given, objective


def _parse_run(words: list[str]) -> Given:
    try:
        _, bound, _ = app.parse_args(["run", *words], exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise _usage(error) from error
    return dict(bound.kwargs)


def _write_json(data: dict[str, Any]) -> int:
    sys.stdout.write(json.dumps(data) + "\n")
    return 0
