from __future__ import annotations

import re

import numpy as np
import pytest
from lab.tests.bench.made_up import rows

pytest.importorskip("matplotlib")

from eglearn_lab.bench.ablations import ABLATIONS
from eglearn_lab.bench.metrics import Results
from eglearn_lab.bench.report_ablations import ablation_parts, variants_table
from eglearn_lab.bench.snapshots import load_snapshots
from eglearn_lab.plots import Canvas


@pytest.fixture
def nothing(tmp_path):
    return load_snapshots(tmp_path / "nothing")


def test_table_by_hand():
    """Gaps of 20, 10 and 0 from 200: y* is the optimum, distances are 0.1, 0.05 and 0."""
    runs = rows({"jump-off": 20.0, "jump-on": 10.0, "jump-only": 0.0}, instances=(1,), n=40)
    table = variants_table(ABLATIONS["jump"], Results.from_rows(runs))
    assert table.header == ("variant", "distance at 100", "distance at 1,000", "gain at the end", "solved, %")
    cells = [[cell.text for cell in line] for line in table.rows]
    assert [line[0] for line in cells] == ["jump-off", "jump-on", "jump-only"]
    assert [line[2] for line in cells] == ["0.1", "0.05", "5e-12"]  # traces end at 1e-9 at least
    assert [line[3] for line in cells] == ["reference", "+50 % (+50 to +50)", "+100 % (+100 to +100)"]
    assert [line[4] for line in cells] == ["0.0", "0.0", "100.0"]
    assert [line[2].best for line in table.rows] == [False, False, True]


def test_each_ablation_with_runs_has_a_section_and_a_picture(tmp_path, nothing):
    gaps = {
        name: 10.0 / (k + 1)
        for entry in ("replay-perturbation", "epsilon", "jump")
        for k, name in enumerate(ABLATIONS[entry].algorithms)
    }
    parts = ablation_parts(Results.from_rows(rows(gaps, instances=(1,), n=40)), nothing, Canvas(tmp_path))
    assert [part.name for part in parts] == ["replay-perturbation", "epsilon", "jump"]
    for part in parts:
        assert part.picture.path == tmp_path / f"ablation-{part.name}.png"
        assert part.picture.path.stat().st_size > 5000
        assert part.table.rows
    assert ablation_parts(Results.from_rows(rows({"auto": 1.0})), nothing, Canvas(tmp_path)) == []


def test_only_problems_of_all_variants_count(tmp_path, nothing):
    runs = rows({"jump-off": 20.0}, instances=(1,), n=40) + rows({"jump-on": 10.0}, range(1, 4), (1,), n=40)
    (part,) = ablation_parts(Results.from_rows(runs), nothing, Canvas(tmp_path))
    assert "mean of 3 problems" in part.picture.words


def test_other_dimensions_have_a_part_too(tmp_path, nothing):
    runs = rows({"jump-off": 20.0, "jump-on": 10.0}, n=2) + rows({"jump-off": 20.0, "jump-on": 10.0}, n=3)
    (part,) = ablation_parts(Results.from_rows(runs), nothing, Canvas(tmp_path))
    assert "3-D, instance 1, 2" in part.picture.note


def test_histograms_tell_the_skewness(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.exponential(size=400)
    snapshots = {"function": np.repeat([3, 15], 200), "t": np.tile(np.repeat([1000, 10_000], 100), 2), "y": y}
    snapshots["v"] = np.log(rng.uniform(size=400)) + rng.exponential(size=400)  # symmetric
    (part,) = ablation_parts(Results.from_rows(rows({"auto": 1.0})), snapshots, Canvas(tmp_path))
    raw, mapped = re.findall(r"skewness: raw (\d\.\d+), mapped (\d\.\d+)", part.picture.note)[0]
    assert float(raw) > 1 > 0.7 > float(mapped)
    assert (tmp_path / "ablation-output-map.png").stat().st_size > 3000


def test_a_panel_shows_the_variants_that_its_function_has(tmp_path, nothing):
    alone = {"epsilon-0.1": 20.0, "epsilon-0.5": 10.0}
    runs = rows(alone, (19, 21), (1, 2), n=40) + rows({"epsilon-0.001-fast": 5.0}, (19,), (1,), n=40)
    (part,) = ablation_parts(Results.from_rows(runs), nothing, Canvas(tmp_path))
    first, second = part.picture.words.split(": ", 1)[1].split("; ")
    assert "epsilon-0.001-fast 0.025" in first
    assert "epsilon-0.001-fast" not in second
    # Means over other functions would compare nothing.
    assert [line[0].text for line in part.table.rows] == ["epsilon-0.1", "epsilon-0.5"]
