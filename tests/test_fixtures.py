"""States and runs that earlier versions wrote.

Every later version must read them, too: they stand for what users have. A new format adds files beside these, and the
code that reads the older ones. ``tests/fixtures/make.py`` wrote them.
"""

import shutil

import numpy as np
import pytest

from eglearn import Status, minimize
from eglearn.algorithms import ALGORITHMS
from eglearn.serialize import loads
from eglearn.store import History
from tests.fixtures.make import ARGUMENTS, BATCHES, BOUNDS, HERE, sphere

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
    """The rest of its open batch first, then new points, finite and inside; nothing that was known is lost."""
    opt = ALGORITHMS[name].from_state(loads(path.read_bytes())[name])
    assert (opt.nit, opt.n, opt.budget) == (BATCHES, len(BOUNDS), 2000)
    assert opt.n_failed == 1  # in the open batch
    known, used = opt.best_y, opt.nfev
    assert known == sphere(opt.best_x) < FOUND[name]
    low, high = np.transpose(BOUNDS)
    for batch in range(5):
        x = opt.ask()
        assert np.isfinite(x).all()
        assert ((low <= x) & (x <= high)).all()
        opt.tell(x, [sphere(point) for point in x])
        used += len(x)
        assert (opt.nfev, opt.nit) == (used, BATCHES + batch + 1)
    assert opt.best_y <= known


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_run_goes_on_without_evaluating_anything_again(path, tmp_path):
    copy = tmp_path / "run.egl"
    shutil.copyfile(path, copy)
    before = list(History(copy).evaluations())
    count = len(before)
    assert count == 199
    assert all(e.outcome.y == sphere(e.x) for e in before)
    new = []

    def watched(x):
        new.append(x.tobytes())
        return sphere(x)

    result = minimize(watched, **ARGUMENTS, store=copy, fingerprint="any")
    assert (result.status, result.nfev, len(new)) == (Status.BUDGET, 300, 300 - count)
    assert result.fun <= min(e.outcome.y for e in before)
    after = list(History(copy).evaluations())
    assert [e.x.tobytes() for e in after[:count]] == [e.x.tobytes() for e in before]
    assert [e.x.tobytes() for e in after[count:]] == new
    assert min(e.batch for e in after[count:]) == max(e.batch for e in before) + 1
