"""Running a job: the progress bar around ``minimize``, the result, the exit code."""

from __future__ import annotations

import json
import logging
import math
import os
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from typing import Any, TextIO

from ..evaluation.words import visible
from ..progress import ProgressBar, find_face
from ..result import Result, Status
from ..run import minimize
from ..store import History, StoreError
from .errors import ALL_FAILED, ERROR, INTERRUPTED, STORE, Failure, Usage
from .job import Job

_SHOWN_COORDINATES = 6
_LARGER_BUDGET = "; to continue, give a larger --budget"
# How a finished run can go on; one that has converged cannot.
_GO_ON = {
    Status.BUDGET: _LARGER_BUDGET,
    Status.ALL_FAILED: _LARGER_BUDGET,
    Status.TARGET: "; to continue, give a lower --target",
    Status.FTOL: "; to continue, give a smaller --ftol or a larger --patience",
    Status.XTOL: "; to continue, give a smaller --xtol or a larger --patience",
    Status.PATIENCE: "; to continue, give a larger --patience",
    Status.CONVERGED: "",
}


def execute(job: Job, *, quiet: bool, as_json: bool) -> int:
    """Minimise, print the result, and return the exit code."""
    logging.basicConfig(format="eglearn: %(message)s", level=logging.WARNING, handlers=[_Log()])
    with _json_only() if as_json else nullcontext(sys.stdout) as out:
        job.check()
        bar = None if quiet else ProgressBar(job.arguments["budget"], find_face(sys.stderr if as_json else sys.stdout))
        begun = False

        def learned(intermediate_result: Result) -> None:
            nonlocal begun
            begun = True
            if bar is not None:
                bar.learned(intermediate_result)

        try:
            with nullcontext() if bar is None else closing(bar):
                result = minimize(job.objective, callback=learned, about=job.changeable, **job.arguments)
        except Exception as error:
            if getattr(error, "in_objective", False):
                raise Failure(_mistake(error)) from error
            if not isinstance(error, ValueError | TypeError):
                raise
            if not begun:  # before the first batch: the arguments were wrong
                raise Usage(str(error)) from error
            raise
        note = _held(result, job) if not begun else None
        if note is not None and as_json:
            sys.stderr.write(f"eglearn: {note}\n")  # a program that reads the numbers would pass over it
        text = json.dumps(to_json(result, job, note)) if as_json else to_text(result, job, note)
        out.write(text + "\n")
        out.flush()
    return _code(result)


def _mistake(error: Exception) -> str:
    """A sentence about a mistake in the objective, with its place if it happened in this process."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    what = f"{type(error).__name__}: {error}"
    return f"the first evaluation failed{where} ({what}): correct the objective, or skip such failures: --on-error skip"


class _Log(logging.StreamHandler[TextIO]):
    """Writes to standard error as it is now: the live display takes its place, and would wipe out other text."""

    def format(self, record: logging.LogRecord) -> str:
        """The lines, without anything that a terminal would obey."""
        return "\n".join(map(visible, super().format(record).split("\n")))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        self.stream = sys.stderr
        super().emit(record)


@contextmanager
def _json_only() -> Iterator[TextIO]:
    """Keep standard output for us: what the objective and its processes print goes to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(kept), "w", encoding="utf-8") as out:
            yield out
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _code(result: Result) -> int:
    if result.nfev > 0 and math.isnan(result.fun) and result.status in (Status.BUDGET, Status.CONVERGED, Status.TIME):
        return ALL_FAILED
    codes = {Status.ALL_FAILED: ALL_FAILED, Status.STORE: STORE, Status.INTERRUPTED: INTERRUPTED, Status.WORKERS: ERROR}
    return codes.get(result.status, 0)


def _held(result: Result, job: Job) -> str | None:
    """What to know about a result for which no batch was evaluated; None if the store held no finished run."""
    if result.nfev == 0 or result.status not in _GO_ON:
        return None
    return (
        f"Nothing was evaluated: {job.arguments['store']} holds this run, and it is finished. "
        f"To start over, choose another --store{_GO_ON[result.status]}."
    )


def to_json(result: Result, job: Job, note: str | None) -> dict[str, Any]:
    """The result as JSON data; the status by its name."""
    data = {name: plain(result[name]) for name in result}
    return data | {"status": result.status.name, "store": plain(job.arguments["store"]), "note": note}


def plain(value: Any) -> Any:
    """A value as strict JSON data: arrays become lists, and NaN and infinities null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_text(result: Result, job: Job, note: str | None = None) -> str:
    """The result for people, and what can be done next."""
    store = job.arguments["store"]
    rows = [
        ("best value", "none" if math.isnan(result.fun) else repr(result.fun)),
        ("at x", point(result.x)),
        *(recommended(result.x_favorite, result.progress["candidate"]) if result.progress.get("noisy") == 1 else ()),
        ("evaluations", f"{result.nfev} of {result.budget}, {result.n_failed} failed"),
    ]
    if store is not None:
        rows.append(("store", str(store)))
    width = max(len(name) for name, _ in rows)
    head = [result.message] if note is None else [note, result.message]
    lines = [*map(visible, head), *(f"{name:<{width}}  {visible(text)}" for name, text in rows)]
    if result.status in (Status.INTERRUPTED, Status.TIME, Status.STORE, Status.WORKERS):
        lines.append(
            f"To continue: {visible(_resume(job))}" if store is not None else "It cannot be resumed: there is no store."
        )
    return "\n".join(lines)


def recommended(x: Any, value: float | None) -> list[tuple[str, str]]:
    """The point to use if values are noisy, and its value."""
    return [
        ("recommended x", "known when the run ends" if x is None else point(x)),
        ("its value, estimated", "not known yet" if value is None or math.isnan(value) else f"{value:.6g}"),
    ]


def _resume(job: Job) -> str:
    store, budget = str(job.arguments["store"]), job.arguments["budget"]
    words = ["eglearn", "resume", store]
    with suppress(StoreError, KeyError, TypeError):  # a result is shown even where the file cannot be read
        if History(store).identity["budget"] < budget:  # the run has not come to the larger one yet
            words += ["--budget", str(budget)]
    return shlex.join(words)


def point(x: Any) -> str:
    """The first coordinates of a point."""
    shown = ", ".join(f"{value:.6g}" for value in x[:_SHOWN_COORDINATES])
    return f"[{shown}{f', ... ({len(x)} in all)' if len(x) > _SHOWN_COORDINATES else ''}]"
