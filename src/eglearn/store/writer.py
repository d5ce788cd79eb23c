"""Writing a run's file, and continuing it."""

from __future__ import annotations

import json
import math
import os
import socket
import sqlite3
import time
import zlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, get_args

from .._typing import Array
from ..evaluation.base import Outcome
from ..result import counted
from .compare import differences
from .connection import check_log, connect, connect_reader, format_of, neighbour, set_journal_mode
from .copying import tidy_up
from .errors import Damaged, StoreError, StoreMismatch, reported, sqlite_code
from .layout import (
    ASKED,
    FILE_FORMAT,
    INSERT_EVALUATION,
    INSERT_META,
    MAGIC,
    VALUE_COLUMNS,
    checkpoint_digest,
    create_tables,
    point_bytes,
    storable,
    to_columns,
    to_outcome,
    to_text,
)
from .lock import FileLock
from .recall import Recall
from .salvage import finish_repair, salvage

KeepX = Literal["all", "improvements", "none"]
"""Which points are kept in the file; their values always are."""

_SYNC_SECONDS = 1.0


class Store(Recall):
    """The file of a run, open for writing by this process and no other.

    A new file is created and written to at once, so that a full disk or a read-only folder shows up before
    anything is evaluated. An existing file must hold the same run, which can then be continued. If its
    structure is damaged, what can be read moves to a new file and the damaged one is kept under another name.

    Parameters
    ----------
    path
        The file.
    identity
        What defines the run, such as settings, bounds, budget and seed: numbers, text, arrays, lists, dicts. The
        ``"budget"``, if there is one, may be larger than before; see ``extend``.
    environment
        What may change between two parts of a run, such as versions; changes are only noted.
    keep_x
        Which points to keep: all, those with a new lowest value, or none.
    about
        What else a later part of the run may want to know, as JSON data; it replaces what stands in the file.

    Attributes
    ----------
    notes
        Sentences for the user: changed versions, damage, and what was done about it.

    Raises
    ------
    StoreMismatch
        If the file holds another run; the message names what differs.
    StoreError
        If the file cannot be used, or is in use. Every method raises it when a read or write fails.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from eglearn import serialize
    >>> from eglearn.store import History
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "run.egl")
    >>> with Store(path, {"seed": 0}) as store:
    ...     order = store.record(7, np.array([0.5, -0.5]), Outcome(2.0))
    ...     store.save(1, {"best": 2.0}, serialize.dumps({"k": 1}))
    >>> with Store(path, {"seed": 0}) as store:
    ...     store.latest_checkpoint(), store.answers({7: np.array([0.5, -0.5])})[7][1].y
    ((1, {'k': 1}), 2.0)
    >>> [(e.order, e.index, e.x) for e in History(path).evaluations()]
    [(1, 7, array([ 0.5, -0.5]))]
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        identity: Mapping[str, Any],
        environment: Mapping[str, Any] | None = None,
        keep_x: KeepX = "all",
        about: Mapping[str, Any] | None = None,
    ) -> None:
        if keep_x not in get_args(KeepX):
            raise ValueError(f"keep_x is one of {', '.join(get_args(KeepX))}, not {keep_x!r}")
        self.path = Path(path)
        self.notes: list[str] = []
        self._keep_x = keep_x
        self._new_about = about
        self._best = math.inf
        self._synced = -math.inf
        self._flushed = True
        """Whether the file itself says that it has a log."""
        self._db: sqlite3.Connection | None = None
        meta = {"identity": identity, "environment": environment or {}}
        try:
            self._open(meta)
        except Damaged as damage:
            self.notes.append(str(damage))
            self._open(meta)  # the new file with what could be read

    def _open(self, meta: dict[str, Mapping[str, Any]]) -> None:
        self._lock = FileLock(self.path)
        held = False
        try:
            with reported(self.path):
                tidy_up(self.path)
                # Reading a file through SQLite may end the lock: not with an empty one, which may be deleted below.
                held = bool(self._lock.first_bytes(1)) and self._holds_run()
                if held:
                    self._read_identity()
                    self._compare(meta)
                self._db = connect(self.path, "rw")
                self._lock.hold()
                if not held:
                    # Before the log begins: a file that lacks its log never looks empty.
                    create_tables(self._db, meta)
                    held = True
                    self._read_identity()
                    if not self._lock.created:
                        self.notes.append(f"{self.path} was empty: the run starts from the beginning")
                set_journal_mode(self._db, "WAL")
                self._db.execute("PRAGMA wal_autocheckpoint = 4000")  # pages: wait for the disk less often
            self._begin_log()
            if self._keep_x == "improvements":
                best = self._rows("SELECT min(y) FROM evaluations WHERE typeof(y) = 'real'")[0][0]
                self._best = math.inf if best is None else best
        except BaseException:
            if self._lock.created and not held:  # while it is locked: nobody else can have begun with it
                neighbour(self.path, "").unlink(missing_ok=True)
            self.close()
            raise

    def _holds_run(self) -> bool:
        """Whether there is a run to continue; raises if the file must not be touched or is damaged."""
        if self._lock.first_bytes(len(MAGIC)) != MAGIC:
            raise StoreError(f"{self.path} is not the file of a run and was not changed: choose another name")
        if note := finish_repair(self.path, self._lock.hold):
            raise Damaged(note)
        try:
            with connect_reader(self.path) as db:
                if not (found := format_of(db, self.path)):
                    return False
                if found != FILE_FORMAT:
                    raise StoreError(
                        f"{self.path} can be read, but not continued, since it has format {found}: to continue it, use "
                        "the eglearn that wrote it, or that of commit f660b58"
                    )
                check_log(db, self.path)
                problem = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            if sqlite_code(error) != sqlite3.SQLITE_CORRUPT:
                raise
            problem = str(error)
        except UnicodeDecodeError:
            problem = "its tables are unreadable"
        if problem != "ok":
            self._lock.hold()
            raise Damaged(salvage(self.path, " ".join(problem.replace("*", "").split()), self._lock.hold))
        return True

    def _begin_log(self) -> None:
        """Write who holds the file, and that from now on it is whole only together with its log.

        That note goes through the log into the file itself: where it stands, there was a log.
        """
        meta: dict[str, Mapping[str, Any]] = {
            "holder": {"process": os.getpid(), "host": socket.gethostname()},
            "parts": {"begun": [*self.begun()[-999:], time.time()]},
            "log": {"begun": True},
        }
        if self._new_about is not None:
            meta["about"] = self._new_about
        statements: list[tuple[str, Sequence[Any]]] = [(INSERT_META, to_text(*item)) for item in meta.items()]
        # From now on they would be those of an earlier part.
        self._write(*statements, ("DELETE FROM meta WHERE key IN ('result', 'paused')", ()))
        self._flush_log()

    def _flush_log(self) -> None:
        """Move the log's content to the file, unless a reader is in the way: then later."""
        assert self._db is not None
        with reported(self.path):
            _, frames, moved = self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        self._flushed = frames == moved

    def _compare(self, meta: dict[str, Mapping[str, Any]]) -> None:
        identity, environment = (json.loads(to_text(*item)[1]) for item in meta.items())
        wrong = list(differences(self.identity, identity))
        if any(name == "algorithm" for name, *_ in wrong):  # whose settings have other names
            wrong = [item for item in wrong if not item[0].startswith("settings")]
        before, now = (len(each.get("box", {}).get("low", [])) for each in (self.identity, identity))
        if before != now:
            wrong = [("the number of coordinates", str(before), str(now))]
        if [name for name, *_ in wrong] == ["budget"]:
            given, budget = self.given, identity["budget"]
            if budget < given:
                raise StoreMismatch(
                    f"{self.path} holds a run of {counted(given, 'evaluation')}, and a budget can only grow: "
                    f"{budget} is too few, give it {given} or more"
                )
        elif wrong:
            shown = "; ".join(f"{name} is {old} there and {new} here" for name, old, new in wrong[:8])
            more = f"; and {len(wrong) - 8} more" if len(wrong) > 8 else ""
            raise StoreMismatch(
                f"{self.path} holds another run ({shown}{more}): "
                "continue it with its own values, or choose another file for a new run"
            )
        # What is not there was not written down by an older eglearn.
        changed = [item for item in differences(self.environment, environment) if item[0] in self.environment]
        for about_objective, what in (
            (False, "the last digits may differ"),
            (True, "its values are taken for those of the new one; if they are not, choose another file"),
        ):
            said = [item for item in changed if item[0].startswith("objective") == about_objective]
            for name, old, new in said[:1]:
                others = "".join(f", {name} was {old} and is {new}" for name, old, new in said[1:])
                self.notes.append(f"{name} was {old} when {self.path} was begun and is {new} now{others}: {what}")

    def record(self, index: int, x: Array, outcome: Outcome) -> int:
        """Write one finished evaluation; once this has returned, killing the process cannot lose it.

        A second record of the same index replaces the first. Returns the order of arrival.
        """
        raw = point_bytes(x)
        improved = outcome.y < self._best
        keep = self._keep_x == "all" or (self._keep_x == "improvements" and improved)
        columns = to_columns(ASKED, index, outcome, time.time(), zlib.crc32(raw))
        order = self._write((INSERT_EVALUATION, (*columns, raw if keep else None)))
        if improved:
            self._best = outcome.y
        return order

    def save(self, told: int, progress: Mapping[str, Any] | None, checkpoint: bytes | None) -> None:
        """Write how the run stands after so many answers, and its state; two checkpoints are kept."""
        told = int(told)
        statements: list[tuple[str, Sequence[Any]]] = []
        if progress is not None:
            statements.append(("INSERT OR REPLACE INTO progress VALUES (?, ?, ?)", to_text(told, progress)))
        if checkpoint is not None:
            row = (told, checkpoint_digest(told, checkpoint), checkpoint)
            statements.append(("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)", row))
            # Later ones can only be damaged ones that were passed over when the run was continued.
            older = "SELECT told FROM checkpoints WHERE told <= ? ORDER BY told DESC LIMIT 2"
            statements.append((f"DELETE FROM checkpoints WHERE told NOT IN ({older})", (told,)))
        self._write(*statements)

    def pause(self) -> None:
        """Write that the run waits."""
        self._write((INSERT_META, to_text("paused", {"since": time.time()})))

    def go_on(self) -> None:
        """Write that it has gone on: for readers, a new part of the run."""
        parts = {"begun": [*self.begun()[-999:], time.time()]}
        self._write((INSERT_META, to_text("parts", parts)), ("DELETE FROM meta WHERE key = 'paused'", ()))

    def extend(self, budget: int, *, wished: bool = False) -> None:
        """The run goes on with a larger budget: a call has given it, or it was wished while the run was under way."""
        given = self.given if wished else budget
        self._write((INSERT_META, to_text("budgets", {"later": [*self.budgets[1:], budget], "given": given})))
        self.budgets.append(budget)
        self.identity["budget"], self.given = budget, given

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write the result of the run (JSON data; arrays become lists, long texts are cut)."""
        short = {name: storable(value) if isinstance(value, str) else value for name, value in result.items()}
        self._write((INSERT_META, to_text("result", short)))

    def set_aside(self, asked: int, told: int, wrong: Collection[int], beyond: int) -> None:
        """Make room for other points: the search asks for others from here on than it did before.

        Nothing is lost: ``aside`` finds these evaluations under the number of points asked for, in order of arrival.

        Parameters
        ----------
        asked, told
            How many points the search had asked for, and how many answers it had got, before it went another way.
        wrong
            The indices of other points than those that are asked for now.
        beyond
            All evaluations from this index on are set aside, too, and those that were set aside later.
        """
        query = f'SELECT id, {VALUE_COLUMNS} FROM evaluations WHERE aside != {ASKED} OR "index" >= ? ORDER BY id'
        statements: list[tuple[str, Sequence[Any]]] = [
            (f"DELETE FROM {table} WHERE told > ?", (told,)) for table in ("progress", "checkpoints")
        ]
        count = self._rows("SELECT count(*) FROM evaluations WHERE aside = ?", (asked,))[0][0]
        for key, *columns in self._rows(query, (min(wrong, default=beyond),)):
            aside, index, outcome = columns[0], columns[1], to_outcome(columns)
            chosen = aside > asked if aside != ASKED else index >= beyond or index in wrong
            if outcome is not None and chosen:
                changed = to_columns(asked, count, outcome, columns[7], columns[8])
                update = 'UPDATE evaluations SET aside = ?, "index" = ?, "check" = ? WHERE id = ?'
                statements.append((update, (asked, count, changed[-1], key)))
                count += 1
        self._write(*statements)

    def close(self) -> None:
        """Leave one plain file and let go of it; safe to call twice, and after a failed write."""
        if self._db is not None:
            # When this fails (a reader is busy, the disk is full) nothing is lost: the file and its log hold
            # everything together, and the next opening tidies up.
            with suppress(sqlite3.Error, StoreError):
                self._end_log(self._db)
            with suppress(sqlite3.Error):
                self._db.close()
            self._db = None
        self._lock.release()

    def _end_log(self, db: sqlite3.Connection) -> None:
        """Leave the file whole without its log, or the log beside it."""
        try:
            db.execute("DELETE FROM meta WHERE key = 'log'")
        except sqlite3.Error:
            with connect_reader(self.path) as reader:  # the last to close: a reader leaves the log where it is
                reader.execute("SELECT 1 FROM meta LIMIT 1").fetchone()
                db.close()
        else:
            set_journal_mode(db, "DELETE")

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        if self._db is None:
            return super()._rows(query, values)
        with reported(self.path):
            return self._db.execute(query, values).fetchall()

    def _write(self, *statements: tuple[str, Sequence[Any]]) -> int:
        """Run the statements as one transaction, and return the number of the last row that was inserted."""
        db, now = self._db, time.monotonic()
        if db is None:
            raise StoreError(f"{self.path} has been closed: open it again")
        with reported(self.path):
            if sync := now - self._synced > _SYNC_SECONDS:
                self._lock.hold()
                db.execute("PRAGMA synchronous = FULL")  # the commit waits for the disk
                self._synced = now
            last = 0
            if len(statements) == 1:  # a transaction by itself
                last = db.execute(*statements[0]).lastrowid or 0
            else:
                with db:
                    db.execute("BEGIN")
                    for statement in statements:
                        db.execute(*statement)
            if sync:
                db.execute("PRAGMA synchronous = NORMAL")
                if not self._flushed:
                    self._flush_log()
            return last
