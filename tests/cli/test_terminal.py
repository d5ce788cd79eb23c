"""What a run shows on a terminal."""

import os
import pty
import re
import subprocess

import pytest

from .conftest import SCRIPT

EGL = ("--algorithm", "egl")


def on_a_terminal(folder, *words, **env):
    """What the program writes to a terminal."""
    ours, theirs = pty.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "20"} | env
    process = subprocess.Popen([SCRIPT, *words], cwd=folder.path, env=env, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    assert process.wait(30) == 0
    return seen.decode()


@pytest.mark.parametrize(
    ("objective", "options", "doing"),
    [
        ("objectives:bowl", (), "a (descent|search|zoom)|an evolution strategy"),
        ("objectives:flaky", (*EGL, "--model", "constant"), "gradient learning"),
    ],
)
def test_on_a_terminal_there_is_a_live_display(folder, objective, options, doing):
    text = on_a_terminal(folder, "run", objective, *folder.problem, *options, "--no-store", SLOW="0.002")
    for word in ("━", "of 600 evaluations", "elapsed", "left", "lowest value", "/s"):
        assert word in text
    assert re.search(doing, text)  # when it draws, the search may be anywhere
    assert bool(re.search(r"[1-9]\d* failed", text)) == (objective == "objectives:flaky")
    assert "\x1b[" in text  # it changes in place


@pytest.mark.parametrize("columns", ["30", "54", "80", "200"])
def test_nothing_is_lost_in_a_narrow_terminal(folder, columns):
    words = ("run", "objectives:flaky", *folder.problem, "--no-store")
    text = on_a_terminal(folder, *words, SLOW="0.002", COLUMNS=columns)
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.partition("The budget of 600")[0])
    last = "".join(last.rpartition("━")[2].split())
    for part in ("600of600evaluations", "lowestvalue", "failed", "elapsed", "left", "/s"):
        assert part in last, (part, last)


def test_a_warning_appears_above_the_live_display(folder):
    text = on_a_terminal(folder, "run", "objectives:warning", *folder.problem[:-1], "60", "--no-store")
    warnings = text.split("eglearn: a coarse mesh")
    assert len(warnings) == 61
    # In a line of its own: the display is wiped before, and drawn again below.
    assert all(before.endswith("\x1b[2K") for before in warnings[1:-1])
    assert all(after.startswith("\r\n") for after in warnings[1:])
