"""How a report is drawn: in a browser, at any size, and with any numbers."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.browser import Browser
from tests.report.driver import CHARTS, checked, last_stop, opened, shown

from eglearn import EGL, AutoEGL, Result, minimize
from eglearn.evaluation.base import Outcome
from eglearn.report import write_report
from eglearn.report.axes import Axis
from eglearn.report.charts import thin
from eglearn.report.markup import data, duration, tag
from eglearn.store import Store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a store needs POSIX file locks")


def test_the_read_out_follows_the_pointer(browser: Browser, tmp_path: Path, flaky_run: tuple[Path, Result]) -> None:
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
    dom, console = shown(browser, out)
    assert 'class="tip"' not in dom
    assert "Content Security Policy" in console[0]
    out.write_text(re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</body>", move + "</body>"), encoding="utf-8")
    browser.look(width=500, height=900)
    dom, console = shown(browser, out)
    assert console == []
    tips = re.findall(r'<div class="tip"[^>]*>(.*?)</div></div>', dom)
    assert len(tips) == len(CHARTS) - 1 + 6  # a slice for each of six variables
    assert "evaluations: 1500" in tips[0]
    assert f"best so far: {result.fun:.5g}" in tips[0]


@pytest.mark.parametrize("width", [1200, 500])
def test_it_is_drawn(browser: Browser, tmp_path: Path, flaky_run: tuple[Path, Result], width: int) -> None:
    out, picture = tmp_path / "run.html", tmp_path / "run.png"
    write_report(flaky_run[0], out)
    browser.look(width=width, height=1200)
    _, console = shown(browser, out)
    browser.screenshot(picture)
    assert console == []
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000  # an empty page takes a few thousand


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_nothing_scrolls_sideways(
    browser: Browser, tmp_path: Path, flaky_run: tuple[Path, Result], dark: bool
) -> None:
    out = tmp_path / "run.html"
    write_report(flaky_run[0], out)
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


def test_150_000_evaluations_stay_small_and_quick(browser: Browser, tmp_path: Path) -> None:
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
    dom, console = shown(browser, path.with_suffix(".html"))
    page = checked(dom)
    assert console == []
    assert "150,000 of 150,000" in dom
    assert '<p class="big">1e-09</p>' in dom
    assert last_stop(path, "failures")[2][0] == "150"
    # the lowest and the highest value are still there, on the lower and the upper edge of the axis
    heights = [float(h) for h in re.findall(r"[L ] ?[\d.]+ ([\d.]+)", page.html["convergence"])]
    assert min(heights) < 45
    assert max(heights) > 950


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


def test_values_at_both_ends_of_the_numbers(browser: Browser, tmp_path: Path) -> None:
    with Store(tmp_path / "v.egl", {"budget": 900, "seed": 0}) as store:
        for i, y in enumerate([1.7e308, -1.7e308, 0.0, -0.0, 5e-324, -1e300, 1e300, math.inf, -math.inf] * 100):
            store.record(i, np.zeros(2), Outcome(y))
        store.save(9, {"candidate": -1e308, "epsilon": 5e-324, "region": 1.7e308, "loss": math.inf}, None)
    dom, _ = opened(browser, tmp_path / "v.egl")
    assert '<p class="big">-1.7e+308</p>' in dom


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
