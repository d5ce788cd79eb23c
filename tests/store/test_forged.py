"""Files that somebody made to do harm: only tables of ours are read, and no more than a file of that size can hold."""

from __future__ import annotations

import json
import resource
import sqlite3
import subprocess
import sys
import time
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from tests.store.driver import IDENTITY, M, outcome, point, same, write_run

from eglearn.evaluation.base import Outcome
from eglearn.store import History, Store, StoreError

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
COLUMNS = {
    "evaluations": 'i AS id, -1 AS aside, i AS "index", 1.5 AS y, NULL AS error, 1 AS attempts, 0.5 AS seconds, '
    "'w' AS worker, 0.5 AS at, 0 AS x_check, 0 AS \"check\", randomblob(1000000) AS x",
    "progress": 'i AS told, hex(randomblob(1000000)) AS data, 0 AS "check"',
    "meta": "'identity' AS key, hex(zeroblob(100000000)) AS data, 0 AS \"check\"",
}


def forge(path: Path, *statements: str) -> None:
    write_run(path, 2)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA writable_schema = ON")
    for statement in statements:
        db.execute(statement)
    db.close()


def refused(path: Path, text: str = "holds other tables than a run has") -> None:
    before = path.read_bytes()
    started = time.monotonic()
    for refuse in (lambda: History(path), lambda: Store(path, IDENTITY)):
        with pytest.raises(StoreError, match=text):
            refuse()
    assert time.monotonic() - started < 5
    assert path.read_bytes() == before


@pytest.mark.parametrize("table", COLUMNS)
def test_a_view_is_not_read(path: Path, table: str) -> None:
    view = f"CREATE VIEW {table} AS {ENDLESS} SELECT {COLUMNS[table]} FROM n"
    forge(path, f"DROP TABLE {table}", view)
    refused(path)
    # SQLite goes by the text of a table, whatever it is said to be.
    update = "UPDATE sqlite_master SET type = 'table' WHERE name = ?"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute(update, (table,))
    db.close()
    refused(path, "holds other tables than a run has|malformed database schema")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON evaluations BEGIN DELETE FROM evaluations; END",
        "CREATE INDEX i ON evaluations (abs(aside))",
        "CREATE TABLE more (a)",
        "CREATE VIEW more AS SELECT 1",
        "ALTER TABLE progress ADD COLUMN more AS (hex(zeroblob(100000000)))",
        "UPDATE sqlite_master SET sql = replace(sql, 'y,', 'y AS (abs(aside)),') WHERE name = 'evaluations'",
    ],
)
def test_other_things_in_the_file_are_refused(path: Path, statement: str) -> None:
    forge(path, statement)
    refused(path)


def test_comments_and_statistics_make_no_difference(path: Path) -> None:
    write_run(path, 2)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("ANALYZE")
    db.execute("PRAGMA writable_schema = ON")
    db.execute(
        "UPDATE sqlite_master SET sql = replace(sql, '-- order of', '-- 0rder o\x07') WHERE name = 'evaluations'"
    )
    db.close()
    assert len(list(History(path).evaluations())) == 2 * M
    write_run(path, 3, start=2)


def cell(key: int, child: int) -> bytes:
    return child.to_bytes(4, "big") + varint(key)


def varint(value: int) -> bytes:
    out = [value & 0x7F]
    while value := value >> 7:
        out.append(0x80 | (value & 0x7F))
    return bytes(reversed(out))


def interior(children: list[tuple[int, int]], last: int) -> bytes:
    """An inner page of a table."""
    page, end, places = bytearray(4096), 4096, []
    for key, child in children:
        data = cell(key, child)
        end -= len(data)
        page[end : end + len(data)] = data
        places.append(end)
    page[:12] = (
        b"\x05\0\0" + len(children).to_bytes(2, "big") + end.to_bytes(2, "big") + b"\0" + last.to_bytes(4, "big")
    )
    for i, place in enumerate(places):
        page[12 + 2 * i : 14 + 2 * i] = place.to_bytes(2, "big")
    return bytes(page)


@pytest.mark.parametrize("table", ["progress", "evaluations"])
def test_a_table_that_goes_round_in_circles(path: Path, table: str) -> None:
    """Inner pages whose children are all the same page: a small file with 300^8 rows, were they all read."""
    write_run(path, 2)
    with sqlite3.connect(path) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.close()
    data = bytearray(path.read_bytes())
    leaf = bytes(data[(root - 1) * 4096 : root * 4096])
    for level in range(8):
        child = pages + level + 2 if level < 7 else pages + 9
        page = interior([(1000 * i + 1000, child) for i in range(300)], child)
        if level == 0:
            data[(root - 1) * 4096 : root * 4096] = page
        else:
            data += page
    data += leaf + leaf
    data[28:32] = (len(data) // 4096).to_bytes(4, "big")
    path.write_bytes(data)
    started = time.monotonic()
    read = History(path).progress if table == "progress" else lambda: list(History(path).evaluations())
    with pytest.raises(StoreError, match=r"damaged|more than a file of its size"):
        read()
    assert time.monotonic() - started < 20


def test_a_text_that_goes_round_in_circles(path: Path) -> None:
    """A text of 130 MB in a file of 3 MB: its pages come again and again."""
    length, claimed = 3_000_000, 130_000_000
    write_run(path, 2)
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO progress VALUES (99, ?, 1)", ("x" * length,))
    db.close()
    data = bytearray(path.read_bytes())
    header = b"\x07\x00" + varint(13 + 2 * length) + b"\x09"  # its size, then the types: NULL, text, the number 1
    at = data.index(varint(len(header) + length) + varint(99) + header)
    forged = b"\x07\x00" + varint(13 + 2 * claimed) + b"\x09"
    assert len(forged) == len(header)
    cell = varint(len(forged) + claimed) + varint(99) + forged
    data[at : at + len(cell)] = cell
    pages = [p for p in range(0, len(data), 4096) if data[p + 4 : p + 4096].count(b"x") == 4092]
    for p in pages:  # each points to the next: the last now to the first
        if int.from_bytes(data[p : p + 4], "big") * 4096 - 4096 not in pages:
            data[p : p + 4] = (pages[0] // 4096 + 1).to_bytes(4, "big")
    path.write_bytes(data)
    tracemalloc.start()
    with pytest.raises(StoreError, match="more than a file of its size can"):
        History(path).progress()
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_forged_checksums(path: Path) -> None:
    """Right checksums of nonsense are no reason to fail otherwise than by a sentence."""
    deep = "[" * 100_000 + "]" * 100_000
    for text in ("[]", "3", "null", "not JSON", deep, "9" * 5000, '{"later": 3}', '{"begun": "x"}'):
        for key in ("identity", "environment", "budgets", "parts", "holder", "about", "result"):
            write_run(path, 1)
            with sqlite3.connect(path) as db:
                row = (key, text, zlib.crc32(f"{key} {text}".encode()))
                db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", row)
            db.close()
            said = f"its {key} is unreadable"
            try:
                history = History(path)
                history.begun(), history.holder(), history.result(), history.about
            except StoreError as error:
                said = str(error)
            assert f"its {key} is unreadable" in said
            path.unlink()


def test_rows_of_other_types_with_right_checksums(path: Path) -> None:
    from eglearn.store.layout import _check

    write_run(path, 1)
    raw = np.zeros(3).tobytes() + b"odd"
    columns = (-1, 2, 1.5, b"bytes", 1, 0.5, 7, 0.5, zlib.crc32(raw))
    update = 'UPDATE evaluations SET y=?, error=?, attempts=?, seconds=?, worker=?, at=?, x_check=?, "check"=?, x=?'
    with sqlite3.connect(path) as db:
        db.execute(f'{update} WHERE "index" = 2', (*columns[2:], _check(columns), raw))
    db.close()
    seen = {e.index: e.outcome for e in History(path).evaluations()}
    assert "damaged" in str(seen[2].error)
    assert all(same(seen[index], outcome(index)) for index in seen if index != 2)


SHOW = """
import sys
from eglearn.cli import main
sys.exit(main(["show", sys.argv[1]]))
"""


def test_show_of_a_forged_file_takes_little(path: Path) -> None:
    """The whole program, with 1 GB at most."""
    forge(
        path, "DROP TABLE evaluations", f"CREATE VIEW evaluations AS {ENDLESS} SELECT {COLUMNS['evaluations']} FROM n"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))

    command = [sys.executable, "-c", SHOW, path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, preexec_fn=limit)
    assert done.returncode == 4, done.stderr
    assert "holds other tables than a run has" in done.stderr


def test_long_texts_are_cut(path: Path) -> None:
    text = "mesh \udcff" + "x" * 20_000_000
    with Store(path, IDENTITY) as store:
        for index in range(3):
            store.record(index, point(index), Outcome(float("nan"), text, worker=text))
        store.finish({"message": text})
        for e in store.evaluations():
            assert e.outcome.error.startswith("mesh \\udcffxxx")
            assert e.outcome.error.endswith("xxx")
            assert len(e.outcome.error) < 4100
    assert path.stat().st_size < 100_000
    assert len(json.dumps(History(path).result())) < 4500
