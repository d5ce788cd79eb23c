"""States and runs that earlier versions wrote.

Every later version must read them, too: they stand for what users have. A new format adds files beside these, and the
code that reads the older ones. ``tests/fixtures/make.py`` wrote them.
"""

import json
import shutil

import numpy as np
import pytest
from tests.fixtures.make import ARGUMENTS, BATCHES, BOUNDS, HERE, sphere

from eglearn import minimize
from eglearn.algorithms import ALGORITHMS
from eglearn.cli import main
from eglearn.report import write_report
from eglearn.serialize import loads
from eglearn.store import History, StoreError

STATES = sorted(HERE.glob("state-*.bin"))
RUNS = sorted(HERE.glob("run-*.egl"))
FOUND = {"auto": 1e-12, "egl": 1e-3}
"""What the two states had found at most."""


def test_there_is_a_file_of_each_format():
    assert [path.name for path in STATES] == ["state-5.bin"]
    assert [path.name for path in RUNS] == ["run-5.egl"]


@pytest.mark.parametrize("name", ["auto", "egl"])
@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_a_state_is_read_and_goes_on(path, name):
    """From the best point on, where the format is older; points are finite and inside, and nothing known is lost."""
    opt = ALGORITHMS[name].from_state(loads(path.read_bytes())[name])
    assert (opt.nit, opt.n, opt.budget) == (BATCHES, len(BOUNDS), 2000)
    assert opt.n_failed == 1  # in the open batch
    known, used = opt.best_y, opt.nfev
    assert known == sphere(opt.best_x) < FOUND[name]
    low, high = np.transpose(BOUNDS)
    for _ in range(5):
        x = opt.ask()
        assert np.isfinite(x).all()
        assert ((low <= x) & (x <= high)).all()
        opt.tell(x, [sphere(point) for point in x])
        used += len(x)
        assert opt.nfev == used
    assert opt.best_y <= known


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_run_can_be_read(path, tmp_path, capsys):
    evaluations = list(History(path).evaluations())
    assert len(evaluations) > 150
    assert [e.index for e in evaluations] == list(range(len(evaluations)))
    assert all(e.outcome.y == sphere(e.x) for e in evaluations)
    rows = History(path).progress()
    assert [row["nfev"] for row in rows] == sorted({row["nfev"] for row in rows})
    assert rows[-1]["best"] == min(e.outcome.y for e in evaluations[: rows[-1]["nfev"]])
    assert main(["show", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["evaluations"], shown["status"]) == (len(evaluations), "CALLBACK")
    write_report(path, tmp_path / "run.html")
    assert f"{len(evaluations)} of 300" in (tmp_path / "run.html").read_text()
    assert main(["export", str(path), "--to", str(tmp_path / "run.csv")]) == 0
    table = (tmp_path / "run.csv").read_text().splitlines()
    assert (table[0].split(",")[:2], len(table)) == (["index", "y"], len(evaluations) + 1)


def test_a_run_from_before_points_had_numbers_is_not_continued(tmp_path):
    copy = tmp_path / "run.egl"
    shutil.copyfile(HERE / "run-5.egl", copy)
    with pytest.raises(StoreError, match=r"can be read, but not continued, since it has format 1: .* commit f660b58"):
        minimize(sphere, **ARGUMENTS, store=copy, fingerprint="any")
    assert copy.read_bytes() == (HERE / "run-5.egl").read_bytes()
