from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("cocoex")
pytest.importorskip("pyarrow")

from eglearn import EGL, IGL, EGLSettings, IGLSettings
from eglearn_lab.bench.fits import COLUMNS, Fits
from eglearn_lab.bench.problems import Problem
from eglearn_lab.bench.result_table import Results
from eglearn_lab.bench.rows import Job, load_results, schema
from eglearn_lab.bench.worker import CocoRuns

BOX = [(-1.0, 1.0)] * 3
TRAINED = {"model": "fc", "training_steps": 300, "output_map": "none", "shrink_rule": "row", "n_max": 50}


def columns(kind, settings, fun, batches=3):
    fits, opt = Fits(), kind(BOX, np.full(3, 0.1), budget=10_000, seed=0, settings=settings)
    for _ in range(batches):
        x = opt.ask()
        opt.tell(x, [fun(p) for p in x])
        fits.note(opt.search, opt.nfev)
        fits.note(opt.search, opt.nfev)  # the same fit is not counted twice
    assert sum(map(len, fits.decades.values())) == batches
    return fits.columns()


@pytest.mark.parametrize(("kind", "settings"), [(EGL, EGLSettings), (IGL, IGLSettings)])
def test_a_slope_is_explained_and_noise_is_not(kind, settings) -> None:
    plane = columns(kind, settings(**TRAINED), lambda p: float(p @ [1.0, 2.0, 3.0]))
    assert max(plane["fit_unexplained"]) < 0.1
    rng = np.random.default_rng(1)
    noise = columns(kind, settings(**TRAINED | {"training_steps": 20}), lambda p: rng.standard_normal())
    assert min(noise["fit_unexplained"]) > 0.3
    assert plane["fit_until"] == [100]
    assert list(plane) == list(COLUMNS)


def test_skewness_is_that_of_the_mapped_values() -> None:
    rng = np.random.default_rng(1)
    skewed = columns(EGL, EGLSettings(**TRAINED), lambda p: -rng.exponential(), batches=9)
    assert skewed["fit_skewness"][-1] < -0.8
    mapped = columns(EGL, EGLSettings(**TRAINED | {"output_map": "ranks"}), lambda p: -rng.exponential(), batches=9)
    assert abs(mapped["fit_skewness"][-1]) < 0.2


def test_only_networks_are_looked_at() -> None:
    opt, fits = EGL(BOX, budget=100, seed=0, settings=EGLSettings(model="constant")), Fits()
    opt.tell(x := opt.ask(), x.sum(axis=1))
    fits.note(opt.search, opt.nfev)
    assert fits.columns() == {name: [] for name in COLUMNS}


def test_a_run_keeps_them_and_older_results_have_none(tmp_path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = CocoRuns().execute(Job(Problem("bbob", 1, 2, 1), "egl-fc", 0, 200))
    assert row["fit_until"] == [100, 1000]
    older = {name: row[name] for name in row if name not in (*COLUMNS, "started")}
    bare = pa.schema([f for f in schema() if f.name in older])
    pq.write_table(pa.Table.from_pylist([older], schema=bare), tmp_path / "results.parquet")
    for path in (tmp_path, tmp_path / "results.parquet"):
        read = Results.from_arrow(load_results(path))
        assert [len(read[name][0]) for name in COLUMNS] == [0, 0, 0]
