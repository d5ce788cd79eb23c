from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.store.driver import IDENTITY, M, alone, known, outcome, point, same, write_batches, write_run

from eglearn.store import History, Store, StoreError

ROOT = Path(__file__).parents[2]

# What children run first.
CHILD = """
from __future__ import annotations
import math, os, random, signal, sys, time
from pathlib import Path
from eglearn import serialize
from eglearn.store import History, Store, StoreError
from tests.store.driver import *
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
path = Path(sys.argv[1])
"""


def child(code: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", CHILD + code, path], stdout=subprocess.PIPE, text=True, cwd=ROOT)


def lines(process: subprocess.Popen[str]) -> Iterator[list[str]]:
    assert process.stdout is not None
    with process.stdout:
        yield from (line.split() for line in process.stdout if line.endswith("\n"))


def finish(process: subprocess.Popen[str]) -> list[list[str]]:
    said = list(lines(process))
    assert process.wait(30) == 0
    return said


def test_what_was_recorded_survives_a_kill(path: Path) -> None:
    # Each child goes on where the last one was killed, and says what it has written.
    code = """
rng = random.Random()
with Store(path, IDENTITY) as store:
    say("open", *store.notes)
    found = store.latest_checkpoint()
    first = 0 if found is None else found[0] // M
    for batch in range(first, 10**6):
        for index in set(range(M * batch, M * batch + M)) - set(known(store, batch)):
            store.record(index, point(index), outcome(index))
            say("value", index)
            time.sleep(rng.choice([0, 0, 0.003]))
        told = M * (batch + 1)
        keep = serialize.dumps(state(told)) if batch % 3 == 2 else None
        store.save(told, {"best": 0}, keep)
        if keep:
            say("checkpoint", told)
"""
    rng = random.Random(0)
    written: set[int] = set()
    checkpoint = -1
    for trial in range(15):
        process = child(code, path)
        assert process.stdout is not None
        if trial % 3 == 0:  # from the very beginning
            time.sleep(rng.uniform(0.05, 0.4))
        else:
            note = process.stdout.readline()
            assert note == "open\n" or ("was empty" in note and not written)  # killed while creating the file
            time.sleep(rng.uniform(0.0, 0.2))
        process.send_signal(signal.SIGKILL)
        for kind, *words in lines(process):
            if kind == "value":
                assert int(words[0]) not in written  # nothing is evaluated twice
                written.add(int(words[0]))
            elif kind == "checkpoint":
                checkpoint = int(words[0])
        assert process.wait(10) == -signal.SIGKILL
        if written:
            seen = {e.index: e for e in History(path).evaluations()}
            assert written <= set(seen)
            assert len(seen) <= len(written) + 15  # at most one a kill was written but not yet said
            assert all(same(e.outcome, outcome(key)) for key, e in seen.items())
            assert all(np.array_equal(e.x, point(key)) for key, e in seen.items())
    assert len(written) > 50
    with Store(path, IDENTITY) as store:
        assert store.latest_checkpoint()[0] >= checkpoint
        assert store.notes == []
    assert alone(path)


def test_a_kill_while_opening_or_closing(path: Path) -> None:
    code = """
for i in range(10**6):
    with Store(path, IDENTITY) as store:
        index = store.unseen(0)
        store.record(index, point(index), outcome(index))
        say(index)
"""
    rng = random.Random(1)
    count = 0
    for _ in range(6):
        process = child(code, path)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.1))
        process.send_signal(signal.SIGKILL)
        said = [int(words[0]) for words in lines(process)]
        process.wait(10)
        seen = [e.index for e in History(path).evaluations()]
        assert seen == list(range(len(seen)))
        assert len(seen) > max(said, default=count)
        count = len(seen)


HOLD = """
store = Store(path, IDENTITY)
write_batches(store, 3)
{more}
say("ready")
time.sleep(60)
"""


@pytest.mark.parametrize("fork", [False, True])
def test_a_second_process_is_refused_until_the_first_dies(path: Path, fork: bool) -> None:
    # A forked worker may outlive its killed parent and holds all its descriptors: it must not hold the lock.
    more = "worker = os.fork()\nif worker == 0:\n    time.sleep(60)\n    os._exit(0)\nsay(worker)" if fork else "say(0)"
    process = child(HOLD.format(more=more), path)
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.stdout.readline()
    try:
        with pytest.raises(StoreError, match=rf"in use by process {process.pid} on .*: wait"):
            Store(path, IDENTITY)
        assert len(list(History(path).evaluations())) == 3 * M
        process.kill()
        process.wait(10)
        with Store(path, IDENTITY) as store:
            assert store.latest_checkpoint()[0] == 3 * M
            assert len(known(store, 2)) == M
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()
        if worker:
            os.kill(worker, signal.SIGKILL)
    assert alone(path)


ROUNDS = int(os.environ.get("EGLEARN_ROUNDS", "40"))


def test_of_processes_that_begin_at_the_same_moment_exactly_one_runs(path: Path) -> None:
    # Forked children wait for a pipe to be closed, open the same new file, and hold it until all have tried.
    code = f"""
for trial in range({ROUNDS}):
    here = path.with_name(f"run{{trial}}.egl")
    go_read, go = os.pipe()
    end_read, end = os.pipe()
    said_read, said = os.pipe()
    children = []
    for k in range(3):
        if (child := os.fork()) == 0:
            os.close(go)
            os.close(end)
            os.read(go_read, 1)
            time.sleep(random.Random(trial * 3 + k).choice([0, 0, 0.0005, 0.002]))
            try:
                store = Store(here, IDENTITY)
            except StoreError as error:
                os.write(said, b"r" if "in use by" in str(error) else b"?" + str(error).encode())
                os._exit(0)
            os.write(said, b"o")
            os.read(end_read, 1)
            store.record(0, point(0), outcome(0))
            store.close()
            os._exit(0)
        children.append(child)
    os.close(go)
    answers = b""
    while len(answers) < 3:
        answers += os.read(said_read, 1000)
    os.close(end)
    for child in children:
        os.waitpid(child, 0)
    for descriptor in (go_read, end_read, said_read, said):
        os.close(descriptor)
    say(answers.decode(), len(list(History(here).evaluations())), *(p.name for p in path.parent.glob(here.name + "?*")))
"""
    answers = finish(child(code, path))
    assert len(answers) == ROUNDS
    for opened, count, *left in answers:
        assert sorted(opened) == ["o", "r", "r"], answers
        assert (count, left) == ("1", [])


def test_a_second_opening_in_one_process_is_refused(path: Path) -> None:
    with Store(path, IDENTITY) as store:
        with pytest.raises(StoreError, match=f"already open in this process .{os.getpid()}."):
            Store(path, IDENTITY)
        write_batches(store, 1)
    with Store(path, IDENTITY) as store:
        assert len(known(store, 0)) == M


TRY = """
try:
    Store(path, IDENTITY).close()
    say("opened")
except StoreError as error:
    say("refused", error)
"""


def test_the_lock_survives_reading_and_copying(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eglearn.store.writer._SYNC_SECONDS", -1.0)
    with Store(path, IDENTITY) as store:
        write_batches(store, 1)
        assert len(list(History(path).evaluations())) == M
        assert finish(child(TRY, path))[0][0] == "refused"
        shutil.copy(path, path.with_name("copy"))  # ends all POSIX locks of this process on the file
        write_batches(store, 2, start=1)
        assert finish(child(TRY, path))[0][0] == "refused"
    assert finish(child(TRY, path)) == [["opened"]]


def test_reading_while_another_process_writes(path: Path) -> None:
    code = """
with Store(path, IDENTITY) as store:
    say("ready")
    batch = 0
    while not path.with_name("stop").exists():
        write_batches(store, batch + 1, start=batch)
        batch += 1
say(batch)
"""
    process = child(code, path)
    said = lines(process)
    next(said)
    history = History(path)
    counts = [0]
    while len(set(counts)) < 6 or process.poll() is None:
        seen = list(history.evaluations())
        assert all(same(e.outcome, outcome(e.index)) for e in seen[counts[-1] :])
        assert [e.index for e in seen] == list(range(len(seen)))
        assert len(history.progress()) >= len(seen) // M - 1
        counts.append(len(seen))
        if len(set(counts)) >= 6:
            path.with_name("stop").touch()
    ((batches,),) = list(said)
    assert process.wait(10) == 0
    # The file alone holds everything. Beside it a reader that came just when the writer left may have made empty ones.
    (elsewhere := path.parent / "elsewhere").mkdir()
    alone_there = History(shutil.copy(path, elsewhere))
    assert len(list(alone_there.evaluations())) == len(list(history.evaluations())) == int(batches) * M


def test_a_full_disk_is_reported_and_nothing_written_is_lost(path: Path) -> None:
    # Python ignores SIGXFSZ, so a write beyond the limit fails like one on a full disk.
    code = """
import resource
with Store(path, IDENTITY) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    done = 0
    try:
        for index in range(8000):
            store.record(index, point(index), outcome(index))
            done += 1
    except StoreError as error:
        say("error", error)
    try:
        store.save(index, {}, serialize.dumps(state(0)))
    except StoreError as error:
        say("error", error)
    say("done", done)
"""
    *errors, (_, done) = finish(child(code, path))
    assert len(errors) == 2
    assert all(str(path) in words and "free space" in " ".join(words) for words in errors)
    assert int(done) > 10
    with Store(path, IDENTITY) as store:
        assert len(list(store.evaluations())) == int(done)
        assert store.last_index() == int(done) - 1
        store.record(int(done), point(int(done)), outcome(int(done)))
    assert alone(path)


@pytest.mark.parametrize("limit", [0, 3000, 20_000])
def test_a_disk_that_is_full_at_the_beginning(path: Path, limit: int) -> None:
    code = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n" + TRY
    ((kind, *text),) = finish(child(code, path))
    assert kind == "refused"
    assert str(path) in text
    assert list(path.parent.iterdir()) == []


def test_a_folder_that_cannot_be_written() -> None:
    # Folder permissions do not stop root, so the child becomes somebody else.
    become_nobody = "if os.getuid() == 0:\n    os.setgroups([])\n    os.setgid(65534)\n    os.setuid(65534)\n"
    read = "say(len(list(History(path).evaluations())))\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.egl"
        write_run(path, 1)
        os.chmod(path, 0o444)
        os.chmod(folder, 0o555)
        try:
            old = finish(child(become_nobody + read + TRY, path))
            new = finish(child(become_nobody + TRY, path.with_name("new.egl")))
        finally:
            os.chmod(folder, 0o755)
        assert alone(path)
    assert old[0] == [str(M)]
    assert old[1][0] == new[0][0] == "refused"
    assert "Permission denied" in " ".join(old[1])
    assert "Permission denied" in " ".join(new[0])
