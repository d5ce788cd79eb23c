"""progress=True: a bar in a terminal, in a notebook, or lines; and what the log says."""

import io
import logging
import os
import pty
import re
import subprocess
import sys
from contextlib import closing

import nbclient
import nbformat
import numpy as np
import pytest

from eglearn import minimize
from eglearn.evaluation import Outcome
from eglearn.narration import doing
from eglearn.progress import Lines, ProgressBar
from eglearn.search.registry import SEARCHES

BOX = [(-5, 5)] * 4
PROGRAM = """
import sys, time
sys.modules[{missing!r}] = None
from eglearn import minimize
def f(x):
    time.sleep(0.01)
    if x[0] > 3: raise ValueError("no mesh")
    return float(sum((x - 1) ** 2))
r = minimize(f, [(-5, 5)] * 4, [2.9, 0, 0, 0], budget=200, progress=True)
print("printed", r.nfev)
"""


def f(x):
    return float(np.sum((x - 1) ** 2))


def in_terminal(program):
    """What a program writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(ours)
    assert process.wait() == 0
    return text.decode()


def test_a_terminal_shows_a_bar_that_changes_in_place():
    text = in_terminal(PROGRAM.format(missing="nothing"))
    shown = [int(n) for n in re.findall(r"(\d+) of 200 evaluations", text)]
    assert shown == sorted(shown)
    assert len(set(shown)) > 4
    assert shown[-1] == 200
    assert "━" in text
    assert "\x1b[2K" in text  # a line is wiped and written again
    assert "a descent in a trust region" in text
    assert "failed" in text
    assert (
        text.rstrip().splitlines()[-2].strip().startswith("The budget of 200 evaluations is used.") or "is used" in text
    )
    assert text.rstrip().endswith("printed 200")


def test_a_terminal_without_rich_shows_a_line_that_changes_in_place():
    text = in_terminal(PROGRAM.format(missing="rich"))
    assert text.count("\r") > 4
    assert text.count("\n") == 2
    assert "200 of 200 evaluations" in text


def test_elsewhere_lines_go_to_standard_error(capfd):
    minimize(f, BOX, budget=100, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert 1 <= len(err.splitlines()) <= 3
    assert err.splitlines()[-1].startswith("100 of 100 evaluations, lowest value ")
    assert err.rstrip().endswith("The budget of 100 evaluations is used.")
    minimize(f, BOX, budget=100)
    assert capfd.readouterr() == ("", "")


def test_a_bar_moves_with_every_evaluation_and_survives_a_closed_stream():
    stream = io.StringIO()
    face = Lines(stream, in_place=False)
    face.seconds = 0.0
    with closing(ProgressBar(3, face)) as bar:
        for outcome in (Outcome(2.0), Outcome(np.nan, "no mesh"), Outcome(1.0)):
            bar.evaluated(0, np.zeros(1), outcome)
    lines = stream.getvalue().splitlines()
    assert [line.split(" of")[0] for line in lines] == ["1", "2", "3", "3"]
    assert "1 failed" in lines[1]
    assert "lowest value 1," in lines[2]
    stream.close()
    with closing(ProgressBar(3, face)) as bar:
        bar.evaluated(0, np.zeros(1), Outcome(1.0))


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_without_a_console_nothing_is_shown(closed, tmp_path):
    program = PROGRAM.format(missing="none") + "open('told', 'w').write(str(r.nfev))"
    subprocess.run(["sh", "-c", f'"$0" -c "$1" {closed}', sys.executable, program], cwd=tmp_path, check=True)
    assert (tmp_path / "told").read_text() == "200"


def test_a_run_that_raises_leaves_no_bar_behind(capfd):
    with pytest.raises(NameError):
        minimize(lambda x: undefined, BOX, budget=100, progress=True)  # noqa: F821
    minimize(f, BOX, budget=20)
    assert capfd.readouterr().out == ""


@pytest.mark.timeout(300)
def test_a_real_notebook_shows_html_that_changes_in_place(tmp_path):
    code = (
        "import time, eglearn\n"
        "def f(x):\n    time.sleep(0.01)\n    return float(sum((x - 1) ** 2))\n"
        "result = eglearn.minimize(f, [(-5, 5)] * 4, budget=120, progress=True)\n"
        "result.nfev"
    )
    plot = "%matplotlib inline\nresult.history.plot();\nresult.history.to_pandas().head()"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code), nbformat.v4.new_code_cell(plot)])
    updates = []

    class Client(nbclient.NotebookClient):
        def process_message(self, msg, cell, cell_index):
            if msg["msg_type"] in ("display_data", "update_display_data"):
                updates.append((msg["msg_type"], msg["content"]["transient"].get("display_id")))
            return super().process_message(msg, cell, cell_index)

    Client(notebook, timeout=200, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    ours = [kind for kind, identity in updates if identity is not None]
    assert ours[0] == "display_data"
    assert ours.count("update_display_data") > 3
    assert len({identity for _, identity in updates if identity is not None}) == 1
    shown = [output for output in notebook.cells[0].outputs if output.output_type == "display_data"]
    assert len(shown) == 1  # one bar, in its last state
    assert "<b>120 of 120 evaluations</b>" in shown[0].data["text/html"]
    assert "The budget of 120 evaluations is used." in shown[0].data["text/plain"]
    assert not [output for output in notebook.cells[0].outputs if output.output_type == "stream"]
    pictures = [output for output in notebook.cells[1].outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 1
    assert any("<table" in output.get("data", {}).get("text/html", "") for output in notebook.cells[1].outputs)


# --- the log ------------------------------------------------------------------------------------------------------


def test_the_log_tells_in_words_what_the_search_does(caplog):
    caplog.set_level(logging.INFO, "eglearn")
    minimize(lambda x: f(x) + float(np.sum(1 - np.cos(6 * x))), BOX, budget=1500)
    text = caplog.messages
    assert text[0] == "starts: auto in 4 coordinates, 1500 evaluations"
    assert text[1].startswith("a descent in a trust region; after ")
    assert any(line.startswith("a search along all coordinates at once; after ") for line in text)
    assert any(re.match(r"restart 1: an? .*; after \d+ evaluations, lowest value", line) for line in text)
    assert text[-1].startswith("ends after 1500 evaluations, lowest value")
    assert len(text) < 30


@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_every_search_is_told_in_words(name):
    search = SEARCHES[name](np.random.default_rng(0), np.zeros(3), None, value=np.nan, budget=100, width=1)
    assert " " in doing(search), "it is told by the name of its class"


def test_the_log_tells_of_noise_known_points_and_going_on(caplog, tmp_path):
    caplog.set_level(logging.INFO, "eglearn")
    rng = np.random.default_rng(0)
    minimize(lambda x: f(x) + rng.standard_normal(), BOX, budget=1000)
    assert any(line.startswith("noise found: ") for line in caplog.messages)
    caplog.clear()
    for budget in (50, 90):
        minimize(f, BOX, budget=budget, known=([[0] * 4], [4.0]), store=tmp_path / "run.egl")
    assert "starts: auto in 4 coordinates, 50 evaluations; 1 point known before" in caplog.messages
    assert any(line.startswith("goes on after 50 evaluations: ") for line in caplog.messages)


def test_the_log_tells_when_the_papers_algorithm_zooms_in(caplog):
    caplog.set_level(logging.INFO, "eglearn")
    minimize(f, BOX, budget=3000, algorithm="egl")
    sizes = [float(line.split()[3]) for line in caplog.messages if line.startswith("zooms in to ")]
    assert len(sizes) > 2
    assert sizes == sorted(sizes, reverse=True)


def test_the_log_gives_numbers_at_debug_and_nothing_at_warning(caplog):
    caplog.set_level(logging.DEBUG, "eglearn")
    result = minimize(f, BOX, budget=60)
    numbers = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    assert len(numbers) == result.nit
    assert re.search(r"candidate [\d.e-]+, epsilon [\d.e-]+", numbers[-1])
    caplog.clear()
    caplog.set_level(logging.WARNING, "eglearn")
    minimize(f, BOX, budget=60)
    assert caplog.messages == []


def test_a_search_that_says_what_it_does_is_quoted(caplog):
    from eglearn import EGL

    class Talking(EGL):
        def progress(self):
            return super().progress() | {"doing": "a search in the third valley" if self.nit > 2 else "a look around"}

    caplog.set_level(logging.INFO, "eglearn")
    result = minimize(f, BOX, budget=400, algorithm=Talking)
    assert result.progress["doing"] == "a search in the third valley"
    told = [line.split(";")[0] for line in caplog.messages]
    assert told.count("a look around") == told.count("a search in the third valley") == 1
