from __future__ import annotations

import dataclasses
import html
import json
import math
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.browser import Browser

from eglearn import EGL, AutoEGL, ConvergentEGL, ConvergentSettings, EGLSettings, Result, minimize
from eglearn.evaluation.base import Outcome
from eglearn.report import write_report
from eglearn.report.axes import Axis
from eglearn.report.charts import thin
from eglearn.report.markup import data, duration, measured, tag
from eglearn.store import Store, StoreError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a store needs POSIX file locks")

HOSTILE = (
    "mesh </script><script>document.title='owned'</script><img src=x onerror=document.title='owned'> \" ' & broken"
)
CHARTS = ("convergence", "parallel", "slices", "region", "model", "raw", "mapped", "failures", "timing")
OF_THE_PAPER = {"model", "mapped"}  # not in a page of AutoEGL
QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
    *("--enable-logging=stderr", "--v=0"),
]


class Page(HTMLParser):
    """The elements of a page: attributes of each, and the text inside those with an id."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self.html: dict[str, str] = {}
        self._open: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attrs)))
        if name not in ("meta", "link", "br", "img"):
            self._open.append((name, dict(attrs).get("id")))
        for _, key in self._open:
            if key is not None:
                self.html[key] = self.html.get(key, "") + (self.get_starttag_text() or "")

    def handle_endtag(self, name: str) -> None:
        while self._open and self._open.pop()[0] != name:
            pass

    def handle_data(self, text: str) -> None:
        for _, key in self._open:
            if key is not None:
                self.inside[key] = self.inside.get(key, "") + text


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium")
    if found is None and os.environ.get("CI"):
        pytest.fail("chromium is missing: the report must be opened in a real browser here")
    if found is None:
        pytest.skip("chromium is not installed")
    return found


def browse(chromium: str, page: Path, *options: str) -> tuple[str, list[str]]:
    """The page's elements after its script has run, and what the console said."""
    profile = page.with_suffix(".profile")
    command = [chromium, *QUIET, f"--user-data-dir={profile}", *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def checked(text: str) -> Page:
    """A page, checked for what every report must hold."""
    page = Page(text)
    assert {"header", "recommended", "problem"} <= {attributes.get("id") for _, attributes in page.elements}
    for name in (*CHARTS, "versions", "settings"):  # a card has something in it, or it is not there
        assert name not in page.html or re.search("<path|<td", page.html[name]), name
    assert not re.search(r"@import|url\(", text)
    for name, attributes in page.elements:
        for key in ("src", "href", "srcset", "action", "xlink:href", "data"):
            assert (attributes.get(key) or "data:").startswith("data:")
        assert not re.search(r"\b(nan|inf)", attributes.get("style") or "")
        if name == "path":
            assert re.fullmatch(r"[MLHVZh0-9. -]*", attributes["d"] or "")
    return page


def opened(chromium: str, store: Path) -> tuple[str, Page]:
    """A run's report, checked as written and as the browser shows it."""
    out = store.with_suffix(".html")
    write_report(store, out)
    checked(out.read_text(encoding="utf-8"))
    dom, console = browse(chromium, out, "--dump-dom")
    assert console == []
    return dom, checked(dom)


def last_stop(store: Path, chart: str) -> list[Any]:
    """What a chart's read-out says at its right end."""
    text = store.with_suffix(".html").read_text(encoding="utf-8")
    return json.loads(re.findall(rf'id="{chart}".*?<script type="application/json">(.*?)</script>', text)[0])["rows"][
        -1
    ]


def flaky(x: np.ndarray) -> float:
    if x[0] > 2.5:
        raise ValueError(HOSTILE)
    return math.nan if x[1] > 3 else float(100 * np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum((1 - x) ** 2))


@pytest.fixture(scope="module")
def flaky_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    store = tmp_path_factory.mktemp("flaky") / "run <i>.egl"
    settings = EGLSettings(epsilon=0.5, replay=16)
    result = minimize(flaky, [(-5, 5)] * 6, budget=1500, store=store, algorithm="egl", settings=settings, seed=1)
    assert result.n_failed > 0
    return store, result


def test_a_run_with_failures(chromium: str, flaky_run: tuple[Path, Result]) -> None:
    store, result = flaky_run
    dom, page = opened(chromium, store)

    assert "1,500 of 1,500" in dom
    assert f'<p class="big">{result.fun:.8g}</p>' in dom
    assert f'<dd class="big">{result.n_failed}</dd>' in dom
    assert "budget used" in dom
    assert "noise" not in page.inside
    _, label, candidate, best = last_stop(store, "convergence")
    assert (label, candidate[0], best[0]) == ("1500", f"{result.progress['candidate']:.5g}", f"{result.fun:.5g}")
    assert "Region and exploration" in page.inside["region"]
    assert "restart" not in page.inside["region"]
    assert "current pass" not in page.inside["convergence"]
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


def test_the_read_out_follows_the_pointer(chromium: str, tmp_path: Path, flaky_run: tuple[Path, Result]) -> None:
    (store, result), out = flaky_run, tmp_path / "run.html"
    write_report(store, out)
    text = out.read_text(encoding="utf-8")
    move = """<script>for (const plot of document.querySelectorAll(".plot")) {
        const box = plot.getBoundingClientRect();
        plot.dispatchEvent(new PointerEvent("pointermove", {clientX: box.right, clientY: box.top + 5}));
        if (document.documentElement.scrollWidth > innerWidth) console.error("wider than the screen");
    }</script>"""
    # the page itself lets no script but its own run
    out.write_text(text.replace("</body>", move + "</body>"), encoding="utf-8")
    dom, console = browse(chromium, out, "--dump-dom")
    assert 'class="tip"' not in dom
    assert "Content Security Policy" in console[0]
    out.write_text(re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</body>", move + "</body>"), encoding="utf-8")
    dom, console = browse(chromium, out, "--dump-dom", "--window-size=500,900")
    assert console == []
    tips = re.findall(r'<div class="tip"[^>]*>(.*?)</div></div>', dom)
    assert len(tips) == len(CHARTS) - 1 + 6  # a slice for each of six variables
    assert "evaluations: 1500" in tips[0]
    assert f"best so far: {result.fun:.5g}" in tips[0]


@pytest.mark.parametrize("width", [1200, 500])
def test_it_is_drawn(chromium: str, tmp_path: Path, flaky_run: tuple[Path, Result], width: int) -> None:
    out, picture = tmp_path / "run.html", tmp_path / "run.png"
    write_report(flaky_run[0], out)
    _, console = browse(chromium, out, f"--window-size={width},1200", f"--screenshot={picture}")
    assert console == []
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000  # an empty page takes a few thousand


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_nothing_scrolls_sideways(
    chromium: str, tmp_path: Path, flaky_run: tuple[Path, Result], dark: bool
) -> None:
    out = tmp_path / "run.html"
    write_report(flaky_run[0], out)
    with Browser(chromium) as browser:
        for width in (400, 1200):
            browser.look(width=width, dark=dark)
            browser.open(out.as_uri())
            assert browser.sideways() == []
            assert browser.run("document.documentElement.scrollWidth") == width
            ground, ink = browser.run("(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))")
            assert (brightness(ground) < brightness(ink)) == dark
            # curves have a colour of their own, and stand out
            strokes = browser.run("[...document.querySelectorAll('.line')].map(e => getComputedStyle(e).stroke)")
            paper = browser.run("getComputedStyle(document.querySelector('.card')).backgroundColor")
            assert all(abs(brightness(stroke) - brightness(paper)) > 60 for stroke in strokes)
        assert browser.complaints == []


def brightness(colour: str) -> float:
    red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
    return 0.3 * red + 0.59 * green + 0.11 * blue


def test_points_are_shown(chromium: str, tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    far = np.array([0.0, 0.0, 4.0, *[0.0] * 12, -4.0, *[0.0] * 4])  # two of twenty variables have to move
    bounds = [(-5, 5)] * 18 + [(2, 2)] * 2
    result = minimize(lambda x: float(np.sum((x - far)[:18] ** 2)), bounds, budget=1500, store=store)
    _, page = opened(chromium, store)
    names = re.findall(r"x\[(\d+)\]", page.inside["slices"])
    assert {"2", "15"} <= set(names)
    assert len(set(names)) == 8
    assert not {"18", "19"} & set(re.findall(r"x\[(\d+)\]", page.inside["parallel"]))  # fixed ones
    assert "the 12 of 18 variables that moved farthest" in page.inside["parallel"]
    stops = json.loads(re.findall(r'\{"x".*\}', page.inside["parallel"])[0])["rows"]
    assert {name: text.split(" ")[0] for _, name, (text, _) in stops}["x[2]"] == f"{result.x[2]:.6g}"
    # without points, no such charts
    minimize(flaky, [(-5, 5)] * 3, budget=50, store=tmp_path / "none.egl", keep_x="none")
    _, page = opened(chromium, tmp_path / "none.egl")
    assert not {"parallel", "slices"} & set(page.inside)
    # one variable has no neighbour to be joined with; one without bounds reaches as far as its points
    minimize(lambda x: float(x[0] ** 2), [(None, None)], x0=[3], scale=1, budget=50, store=tmp_path / "one.egl")
    _, page = opened(chromium, tmp_path / "one.egl")
    assert "parallel" not in page.inside
    assert "nan" not in page.html["slices"]


def test_a_page_shows_what_its_algorithm_does(chromium: str, tmp_path: Path) -> None:
    class Own(EGL):
        """Of a user's class nothing is known."""

    pages, tables = {}, {}
    for algorithm in (AutoEGL, EGL, ConvergentEGL, Own):
        store = tmp_path / f"{algorithm.__name__}.egl"
        minimize(lambda x: float(np.sum(x**2)), [(-5, 4)] * 3, budget=60, store=store, algorithm=algorithm)
        dom, pages[algorithm] = opened(chromium, store)
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


def test_without_an_output_map_mapped_values_are_the_raw_ones(chromium: str, tmp_path: Path) -> None:
    store, settings = tmp_path / "run.egl", EGLSettings(output_map="none")
    minimize(lambda x: float(np.sum(x**2)), [(-5, 4)] * 3, budget=60, store=store, algorithm="egl", settings=settings)
    _, page = opened(chromium, store)
    raw, mapped = (json.loads(re.findall(r'\{"x".*\}', page.inside[name])[0])["rows"] for name in ("raw", "mapped"))
    assert mapped == raw


def test_restarts_are_marked(chromium: str, tmp_path: Path) -> None:
    store = tmp_path / "run.egl"
    result = minimize(lambda x: float(np.sum((x - 0.3) ** 2)), [(-1, 1)] * 2, budget=2000, store=store)
    restarts = int(result.progress["restarts"])
    assert restarts > 2
    _, page = opened(chromium, store)
    assert f"restart ({restarts} in all)" in page.inside["region"]
    dots = re.findall(r'd="([^"]*)"[^>]*class="line dots"', page.html["region"])
    assert dots[0].count("M") == restarts
    assert "around its candidate" not in page.inside["region"]
    assert "candidate (best point of the current pass)" in page.inside["convergence"]
    # none: neither marked nor in a legend
    minimize(lambda x: float(np.sum((x - 0.3) ** 2)), [(-1, 1)] * 2, budget=30, store=tmp_path / "short.egl")
    _, page = opened(chromium, tmp_path / "short.egl")
    assert "restart" not in page.inside["region"]


def test_noise(chromium: str, tmp_path: Path) -> None:
    store, rng = tmp_path / "noisy.egl", np.random.default_rng(0)
    result = minimize(lambda x: float(np.sum(x**2) + rng.normal()), [(-1, 1)] * 8, budget=4000, store=store)
    assert result.progress["noisy"] == 1
    _, page = opened(chromium, store)
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
    _, page = opened(chromium, store)
    assert f"Recommended so far{measured(value, error)}" in page.inside["recommended"]
    assert "The point is in the file when the run has ended." in page.inside["recommended"]
    assert "recommended-x" not in page.inside


def test_without_an_evaluation(chromium: str, tmp_path: Path) -> None:
    minimize(flaky, [(-5, 5)] * 3, budget=0, store=tmp_path / "none.egl")
    dom, page = opened(chromium, tmp_path / "none.egl")
    assert "0 of 0" in dom
    assert not {*CHARTS} & set(page.inside)
    assert "Nothing is evaluated yet." in page.inside["recommended"]
    with Store(tmp_path / "begun.egl", {"seed": 0}):
        pass
    dom, page = opened(chromium, tmp_path / "begun.egl")
    assert "not finished" in dom


@pytest.mark.parametrize("algorithm", [AutoEGL, EGL])
def test_one_of_everything(chromium: str, tmp_path: Path, algorithm: type[AutoEGL | EGL]) -> None:
    store = tmp_path / "one.egl"
    settings = algorithm.settings_class()(m=5)
    minimize(lambda x: 7.0, [(-5, 4)], budget=1, store=store, algorithm=algorithm, settings=settings)
    dom, page = opened(chromium, store)
    for words in (" · 1 dimension · ", "in 1 batch<", " (1 coordinate)</summary>", "<th>1 coordinate</th>"):
        assert words in dom
    assert "the only value" in page.inside["raw"]
    used = 1 if algorithm is AutoEGL else len(dataclasses.fields(EGLSettings))
    assert f"Changed from the default: 1 of {used}, listed first." in dom
    assert not re.search(r"\b1 (dimensions|coordinates|values|batches)", dom)


def test_all_failed(chromium: str, tmp_path: Path) -> None:
    def fails(x: np.ndarray) -> float:
        raise ValueError(f"{HOSTILE} {x[0]}")

    result = minimize(fails, [(-5, 5)] * 3, budget=500, store=tmp_path / "run.egl")
    dom, page = opened(chromium, tmp_path / "run.egl")
    assert "all failed" in dom
    assert "No evaluation succeeded." in page.inside["recommended"]
    assert f'<dd class="big">{result.n_failed}</dd>' in dom
    assert "other messages" in page.inside["failures"]
    assert set(page.inside) & {*CHARTS} == {"region", "failures", "timing"}


def test_one_batch_that_is_still_going_on(chromium: str, tmp_path: Path) -> None:
    with Store(tmp_path / "run.egl", {"budget": 100, "seed": 0}, {"numpy": "1<2"}) as store:
        for row in range(10):
            store.record(row, np.array([row, -1.5]), Outcome(3.0 + row))
        store.save(row + 1, {"best": 3.0, "candidate": 4.0, "epsilon": 0.1, "seconds_evaluating": 2.0}, None)
        store.record(row + 1, np.array([7.25, 1e-300]), Outcome(2.5))
        dom, page = opened(chromium, tmp_path / "run.egl")  # a reader beside the writer
    assert "11 of 100" in dom
    assert '<dd class="big">running</dd>' in dom
    assert json.loads(page.inside["recommended-x"]) == [7.25, 1e-300]
    assert "line dot" in page.html["region"]
    assert "1<2" in page.inside["problem"] + page.inside["versions"]


def test_convergent_egl(chromium: str, tmp_path: Path) -> None:
    minimize(
        lambda x: float(np.sum(x**2)), [(-5, 5)] * 3, budget=600, store=tmp_path / "c.egl", algorithm=ConvergentEGL
    )
    _, page = opened(chromium, tmp_path / "c.egl")
    assert "alpha (step size)" in page.inside["region"]
    assert "region (half side" not in page.inside["region"]


@pytest.mark.parametrize("algorithm", [AutoEGL, EGL])
@pytest.mark.parametrize(
    ("scale", "offset", "words"),
    [
        (1e300, 0.0, "on a log scale"),
        (-1e306, 0.0, "value"),
        (1.0, -450.0, "minus the best value found"),
        (0.0, -7.0, "linear scale"),
        (1e-300, 1e-305, "on a log scale"),
    ],
)
def test_large_small_and_negative_values(
    tmp_path: Path, scale: float, offset: float, words: str, algorithm: type[AutoEGL | EGL]
) -> None:
    store, out = tmp_path / "v.egl", tmp_path / "v.html"
    result = minimize(
        lambda x: scale * float(np.sum(x**2)) + offset, [(-4, 5)] * 3, budget=700, store=store, algorithm=algorithm
    )
    write_report(store, out)
    text = out.read_text(encoding="utf-8")
    page = checked(text)
    assert f'<p class="big">{result.fun:.8g}</p>' in text
    assert words in page.inside["convergence"]
    for name in ("convergence", "region", "raw", *(["mapped"] if algorithm is EGL else [])):
        assert "NaN" not in page.inside[name]
        assert len(re.findall(r'class="[xy]"', page.html[name])) >= 2, name


def test_values_at_both_ends_of_the_numbers(chromium: str, tmp_path: Path) -> None:
    with Store(tmp_path / "v.egl", {"budget": 900, "seed": 0}) as store:
        for i, y in enumerate([1.7e308, -1.7e308, 0.0, -0.0, 5e-324, -1e300, 1e300, math.inf, -math.inf] * 100):
            store.record(i, np.zeros(2), Outcome(y))
        store.save(9, {"candidate": -1e308, "epsilon": 5e-324, "region": 1.7e308, "loss": math.inf}, None)
    dom, _ = opened(chromium, tmp_path / "v.egl")
    assert '<p class="big">-1.7e+308</p>' in dom


def test_150_000_evaluations_stay_small_and_quick(chromium: str, tmp_path: Path) -> None:
    path, batch, n = tmp_path / "long.egl", 100, 10
    identity = {"budget": 150_000, "seed": 0, "box": {"low": [-5.0] * n, "high": [5.0] * n}}
    rng = np.random.default_rng(0)
    level = np.exp(-np.arange(150_000) / 15_000)
    y = 100 * level * rng.lognormal(size=150_000)
    y[[70_003, 123_456]] = 1e9, 1e-9
    x = rng.standard_normal(n)
    with Store(path, identity) as store:
        assert store._db is not None
        store._db.execute("PRAGMA synchronous = OFF")
        store._synced = math.inf
        store._db.execute("BEGIN")
        for i, value in enumerate(y.tolist()):
            store.record(i, x, Outcome(value) if i % 1000 else Outcome(math.nan, f"error {i % 7}"))
        store._db.execute("COMMIT")
        for k in range(150_000 // batch):
            progress = {"candidate": level[k], "epsilon": 0.1, "region": level[k], "loss": 1.0}
            store.save(batch * (k + 1), progress, None)
    write_report(path, path.with_suffix(".html"))
    assert path.with_suffix(".html").stat().st_size < 500_000
    dom, console = browse(chromium, path.with_suffix(".html"), "--dump-dom")
    page = checked(dom)
    assert console == []
    assert "150,000 of 150,000" in dom
    assert '<p class="big">1e-09</p>' in dom
    assert last_stop(path, "failures")[2][0] == "150"
    # the lowest and the highest value are still there, on the lower and the upper edge of the axis
    heights = [float(h) for h in re.findall(r"[L ] ?[\d.]+ ([\d.]+)", page.html["convergence"])]
    assert min(heights) < 45
    assert max(heights) > 950


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


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "values",
    [[], [0.0], [5.0], [-1e308, 1e308], [1e-320, 1e-300], [1e307, 1.7e308], [1.0, 1.0000001], [-3.0, -2.0], [1, 15]],
)
def test_axes_have_ticks_within_in_one_style(values: list[float], log: bool) -> None:
    axis = Axis(np.array(values, dtype=float), log=log)
    ticks = axis.ticks()
    places = [place for place, _ in ticks]
    assert 1 <= len(ticks) <= 12
    assert all(0 <= place <= 1 for place in places)
    assert places == sorted(places)
    words = [text for _, text in ticks]
    assert len(set(words)) == len(words)
    assert not any("e" in text for text in words)
    plain = [text for text in words if not re.search("10[⁻⁰¹²³⁴-⁹]", text)]
    # all of them plain, or all in powers of ten, where 10⁰ needs none
    assert plain == words or all(text == "0" or 1 <= abs(float(text)) < 10 for text in plain)


def test_thinning_keeps_the_extremes_of_every_stretch() -> None:
    y = np.random.default_rng(0).standard_cauchy(123_457)
    kept = thin(y)
    assert len(kept) <= 2000
    assert {0, len(y) - 1, int(np.argmin(y)), int(np.argmax(y))} <= set(kept.tolist())
    assert thin(np.zeros(0)).size == 0


def test_markup_escapes_and_shows_times() -> None:
    assert tag("p", "<&>", title='"') == '<p title="&quot;">&lt;&amp;&gt;</p>'
    assert data(["</script>"]) == '<script type="application/json">["\\u003c/script>"]</script>'
    shown = [duration(s) for s in (0.0, 59.96, 3599.6, math.nan)]
    assert shown == ["0 ms", "1 min 0 s", "1 h 0 min", "–"]
