"""What a report says about runs of all kinds."""

from __future__ import annotations

import dataclasses
import html
import json
import re
import sqlite3
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.browser import Browser
from tests.report.driver import CHARTS, HOSTILE, flaky, last_stop, opened

from eglearn import EGL, AutoEGL, ConvergentEGL, ConvergentSettings, EGLSettings, Result, minimize
from eglearn.evaluation.base import Outcome
from eglearn.report import write_report
from eglearn.report.markup import measured
from eglearn.store import Store, StoreError

OF_THE_PAPER = {"model", "mapped"}  # not in a page of AutoEGL
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a store needs POSIX file locks")


def test_a_run_with_failures(browser: Browser, flaky_run: tuple[Path, Result]) -> None:
    store, result = flaky_run
    dom, page = opened(browser, store)

    assert "1,500 of 1,500" in dom
    assert f'<p class="big">{result.fun:.8g}</p>' in dom
    assert f'<dd class="big">{result.n_failed}</dd>' in dom
    assert "budget used" in dom
    assert "noise" not in page.inside
    _, label, candidate, best = last_stop(store, "convergence")
    assert (label, candidate[0], best[0]) == ("1500", f"{result.progress['candidate']:.5g}", f"{result.fun:.5g}")
    assert "Region and exploration" in page.inside["region"]
    assert "restart" not in page.inside["region"]
    assert "current search" not in page.inside["convergence"]
    assert last_stop(store, "region")[2][0] == f"{result.progress['region']:.5g}"
    assert last_stop(store, "model")[3][0] == f"{result.progress['loss']:.5g}"
    assert last_stop(store, "failures")[2][0] == str(result.n_failed)
    for name in CHARTS:
        assert sum(len(d) > 20 for d in re.findall(r' d="([^"]*)"', page.html[name])) >= 2, name
        assert re.search(r"\d", page.inside[name])
    # the counts of the histograms are those of the values
    for name in ("raw", "mapped"):
        rows = json.loads(re.findall(r'\{"x".*\}', page.inside[name])[0])["rows"]
        assert sum(float(row[2][0]) for row in rows) == 1500 - result.n_failed
    assert "evaluation" in page.inside["timing"]
    assert "learning" in page.inside["timing"]
    # settings that differ are marked, the best point can be copied exactly
    marked = re.findall(r'<tr class="changed"><th><code>(\w+)</code></th><td><code>([^<]*)', dom)
    assert marked == [("epsilon", "0.5"), ("replay", "16")]
    assert json.loads(page.inside["recommended-x"]) == result.x.tolist()
    # what the objective said is text
    assert HOSTILE in page.inside["failures"]
    assert html.escape(HOSTILE) in store.with_suffix(".html").read_text(encoding="utf-8")
    assert "<title>run &lt;i&gt;.egl" in dom
    assert not any(name == "img" or "onerror" in attributes for name, attributes in page.elements)


def test_points_are_shown(browser: Browser, tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    far = np.array([0.0, 0.0, 4.0, *[0.0] * 12, -4.0, *[0.0] * 4])  # two of twenty variables have to move
    bounds = [(-5, 5)] * 18 + [(2, 2)] * 2
    result = minimize(lambda x: float(np.sum((x - far)[:18] ** 2)), bounds, budget=1500, store=store)
    _, page = opened(browser, store)
    names = re.findall(r"x\[(\d+)\]", page.inside["slices"])
    assert {"2", "15"} <= set(names)
    assert len(set(names)) == 8
    assert not {"18", "19"} & set(re.findall(r"x\[(\d+)\]", page.inside["parallel"]))  # fixed ones
    assert "the 12 of 18 variables that moved farthest" in page.inside["parallel"]
    stops = json.loads(re.findall(r'\{"x".*\}', page.inside["parallel"])[0])["rows"]
    assert {name: text.split(" ")[0] for _, name, (text, _) in stops}["x[2]"] == f"{result.x[2]:.6g}"
    # without points, no such charts
    minimize(flaky, [(-5, 5)] * 3, budget=50, store=tmp_path / "none.egl", keep_x="none")
    _, page = opened(browser, tmp_path / "none.egl")
    assert not {"parallel", "slices"} & set(page.inside)
    # one variable has no neighbour to be joined with; one without bounds reaches as far as its points
    minimize(lambda x: float(x[0] ** 2), [(None, None)], x0=[3], scale=1, budget=50, store=tmp_path / "one.egl")
    _, page = opened(browser, tmp_path / "one.egl")
    assert "parallel" not in page.inside
    assert "nan" not in page.html["slices"]


def test_a_page_shows_what_its_algorithm_does(browser: Browser, tmp_path: Path) -> None:
    class Own(EGL):
        """Of a user's class nothing is known."""

    pages, tables = {}, {}
    for algorithm in (AutoEGL, EGL, ConvergentEGL, Own):
        store = tmp_path / f"{algorithm.__name__}.egl"
        minimize(lambda x: float(np.sum(x**2)), [(-5, 4)] * 3, budget=60, store=store, algorithm=algorithm)
        dom, pages[algorithm] = opened(browser, store)
        tables[algorithm] = re.findall(r"<th><code>(\w+)</code></th>", dom)
    every = [field.name for field in dataclasses.fields(EGLSettings)]
    for algorithm in (EGL, Own):
        assert set(CHARTS) - set(pages[algorithm].inside) == {"failures"}  # none failed
        assert sorted(tables[algorithm]) == sorted(every)
    page = pages[AutoEGL]
    assert not OF_THE_PAPER & set(page.inside)
    assert tables[AutoEGL] == ["m"]
    page, table = pages[ConvergentEGL], tables[ConvergentEGL]
    assert set(CHARTS) - set(page.inside) == {"mapped", "failures"}
    assert sorted(table) == sorted(field.name for field in dataclasses.fields(ConvergentSettings))
    for page in (pages[AutoEGL], pages[ConvergentEGL]):
        text = "".join(words for name, words in page.inside.items() if name != "settings")
        assert "output map" not in text
        assert "mapped" not in text


def test_without_an_output_map_mapped_values_are_the_raw_ones(browser: Browser, tmp_path: Path) -> None:
    store, settings = tmp_path / "run.egl", EGLSettings(output_map="none")
    minimize(lambda x: float(np.sum(x**2)), [(-5, 4)] * 3, budget=60, store=store, algorithm="egl", settings=settings)
    _, page = opened(browser, store)
    raw, mapped = (json.loads(re.findall(r'\{"x".*\}', page.inside[name])[0])["rows"] for name in ("raw", "mapped"))
    assert mapped == raw


def test_restarts_are_marked(browser: Browser, tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    result = minimize(lambda x: float(np.sum((x - 0.3) ** 2)), [(-1, 1)] * 2, budget=2000, store=store)
    restarts = int(result.progress["restarts"])
    assert restarts > 2
    _, page = opened(browser, store)
    assert f"restart ({restarts} in all)" in page.inside["region"]
    dots = re.findall(r'd="([^"]*)"[^>]*class="line dots"', page.html["region"])
    assert dots[0].count("M") == restarts
    assert "around its candidate" not in page.inside["region"]
    assert "candidate (best point of the current search)" in page.inside["convergence"]
    # none: neither marked nor in a legend
    minimize(lambda x: float(np.sum((x - 0.3) ** 2)), [(-1, 1)] * 2, budget=30, store=tmp_path / "short.egl")
    _, page = opened(browser, tmp_path / "short.egl")
    assert "restart" not in page.inside["region"]


def test_noise(browser: Browser, tmp_path: Path) -> None:
    store, rng = tmp_path / "noisy.egl", np.random.default_rng(0)
    result = minimize(lambda x: float(np.sum(x**2) + rng.normal()), [(-1, 1)] * 8, budget=4000, store=store)
    assert result.progress["noisy"] == 1
    _, page = opened(browser, store)
    value = result.progress["candidate"]
    told, error = page.inside["recommended"], result.progress["candidate_error"]
    assert 0.01 < error < 1
    assert f"Recommended point{measured(value, error)}estimated value, with its standard error" in told
    assert f"The lowest value, {result.fun:.6g} at evaluation" in told
    assert json.loads(page.inside["recommended-x"]) == result.x_favorite.tolist()
    assert json.loads(page.inside["lowest-x"]) == result.x.tolist()
    assert "since noise was found, estimate at x_favorite" in page.inside["convergence"]
    # before its end, the point is not in the file
    with sqlite3.connect(store) as db:
        db.execute("DELETE FROM meta WHERE key = 'result'")
    db.close()
    _, page = opened(browser, store)
    assert f"Recommended so far{measured(value, error)}" in page.inside["recommended"]
    assert "The point is in the file when the run has ended." in page.inside["recommended"]
    assert "recommended-x" not in page.inside


def test_without_an_evaluation(browser: Browser, tmp_path: Path) -> None:
    minimize(flaky, [(-5, 5)] * 3, budget=0, store=tmp_path / "none.egl")
    dom, page = opened(browser, tmp_path / "none.egl")
    assert "0 of 0" in dom
    assert not {*CHARTS} & set(page.inside)
    assert "Nothing is evaluated yet." in page.inside["recommended"]
    with Store(tmp_path / "begun.egl", {"seed": 0}):
        pass
    dom, page = opened(browser, tmp_path / "begun.egl")
    assert "not finished" in dom


@pytest.mark.parametrize("algorithm", [AutoEGL, EGL])
def test_one_of_everything(browser: Browser, tmp_path: Path, algorithm: type[AutoEGL | EGL]) -> None:
    store = tmp_path / "one.egl"
    settings = algorithm.settings_class()(m=5)
    minimize(lambda x: 7.0, [(-5, 4)], budget=1, store=store, algorithm=algorithm, settings=settings)
    dom, page = opened(browser, store)
    for words in (" · 1 dimension · ", "in 1 batch<", " (1 coordinate)</summary>", "<th>1 coordinate</th>"):
        assert words in dom
    assert "the only value" in page.inside["raw"]
    used = 1 if algorithm is AutoEGL else len(dataclasses.fields(EGLSettings))
    assert f"Changed from the default: 1 of {used}, listed first." in dom
    assert not re.search(r"\b1 (dimensions|coordinates|values|batches)", dom)


def test_all_failed(browser: Browser, tmp_path: Path) -> None:
    def fails(x: np.ndarray) -> float:
        raise ValueError(f"{HOSTILE} {x[0]}")

    result = minimize(fails, [(-5, 5)] * 3, budget=500, store=tmp_path / "run.egl")
    dom, page = opened(browser, tmp_path / "run.egl")
    assert "all failed" in dom
    assert "No evaluation succeeded." in page.inside["recommended"]
    assert f'<dd class="big">{result.n_failed}</dd>' in dom
    assert "other messages" in page.inside["failures"]
    assert set(page.inside) & {*CHARTS} == {"region", "failures", "timing"}


def test_one_batch_that_is_still_going_on(browser: Browser, tmp_path: Path) -> None:
    with Store(tmp_path / "run.egl", {"budget": 100, "seed": 0}, {"numpy": "1<2"}) as store:
        for row in range(10):
            store.record(row, np.array([row, -1.5]), Outcome(3.0 + row))
        store.save(row + 1, {"best": 3.0, "candidate": 4.0, "epsilon": 0.1, "seconds_evaluating": 2.0}, None)
        store.record(row + 1, np.array([7.25, 1e-300]), Outcome(2.5))
        dom, page = opened(browser, tmp_path / "run.egl")  # a reader beside the writer
    assert "11 of 100" in dom
    assert '<dd class="big">running</dd>' in dom
    assert json.loads(page.inside["recommended-x"]) == [7.25, 1e-300]
    assert "line dot" in page.html["region"]
    assert "1<2" in page.inside["problem"] + page.inside["versions"]


def test_convergent_egl(browser: Browser, tmp_path: Path) -> None:
    minimize(
        lambda x: float(np.sum(x**2)), [(-5, 5)] * 3, budget=600, store=tmp_path / "c.egl", algorithm=ConvergentEGL
    )
    _, page = opened(browser, tmp_path / "c.egl")
    assert "alpha (step size)" in page.inside["region"]
    assert "region (half side" not in page.inside["region"]


def test_a_missing_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no\.egl"):
        write_report(tmp_path / "no.egl", tmp_path / "no.html")
    assert not (tmp_path / "no.html").exists()


def test_pauses_are_no_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr(time, "time", lambda: clock)
    with Store(tmp_path / "run.egl", {}) as store:
        for k in range(30):
            clock += 3.0 if k != 20 else 50_000.0
            store.record(k, np.zeros(2), Outcome(1.0, seconds=1.0))
            evaluated = 0.0 if k == 10 else 1.0  # one value was told again when the run was continued
            store.save(k + 1, {"seconds_evaluating": evaluated, "seconds_learning": 0.5}, None)
    write_report(tmp_path / "run.egl", tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "Pauses of 13 h 53 min in total are left out." in text
    assert "evaluation 30 s (34 %)" in text
    assert "learning 15 s" in text
    assert "rest 42 s" in text
