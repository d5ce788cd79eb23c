from __future__ import annotations

import math
import os
import re
import shlex
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from lab.tests.bench.made_up import parquet, row, rows
from tests.browser import Browser

from eglearn_lab.bench.claims import judge
from eglearn_lab.bench.evidence import NO_DATA
from eglearn_lab.bench.metrics import Results

pa = pytest.importorskip("pyarrow")
pytest.importorskip("matplotlib")


import pyarrow.parquet as pq  # noqa: E402

from eglearn_lab.bench.page import file_name  # noqa: E402
from eglearn_lab.bench.problems import Problem  # noqa: E402
from eglearn_lab.bench.report import write_markdown, write_report  # noqa: E402
from eglearn_lab.bench.report_data import Loaded, commands, load, suites_of  # noqa: E402
from eglearn_lab.bench.report_words import caps, gaps_in, headline, reading  # noqa: E402
from eglearn_lab.bench.snapshots import take_snapshots  # noqa: E402
from eglearn_lab.bench.tables import Suite, by_dimension  # noqa: E402


def told(runs) -> str:
    """All sentences of a report on one suite."""
    results = Results.from_rows(runs)
    suite, *_ = suites_of(results)
    heads = [" ".join(line) for line in headline(suite)]
    return "\n".join([*heads, *caps(suite), *gaps_in(suite)])


class Page(HTMLParser):
    """Text and images of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.images, self.names = "", [], []
        self.html = page.read_text(encoding="utf-8")
        self.feed(self.html)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        if tag == "svg":
            self.images.append(dict(attrs))

    def handle_data(self, data):
        self.text += data


# A benchmark with a known winner: 12 problems in 5-D, 12 in 10-D.
GAPS = {"winner": 0.5, "second": lambda f, i: 0.5 if f <= 2 else 50.0, "loser": 50.0}
GRID = {"functions": range(1, 5), "instances": (1, 2, 3)}


@pytest.fixture(scope="module")
def known(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("known")
    runs = [*rows(GAPS, **GRID), *rows(GAPS, n=10, **GRID), row("beginner")]
    lost = {
        "status": "killed", "evaluations": 0, "y0": math.nan, "f_opt": math.nan, "trace_evaluations": [],
        "trace_gap": [], "target_evaluations": [-1] * 51, "cpu_optimiser": math.nan, "error": "its process <b>died</b>",
    }  # fmt: skip
    for run in runs:
        if run["algorithm"] == "loser" and run["dimension"] == 10 and run["instance"] == 2 and run["function"] == 4:
            run |= lost | {"best_gap": math.inf, "recommended_gap": math.inf}
    parquet(folder / "runs.parquet", runs)
    write_report(folder / "runs.parquet", folder / "out", title="A <known> winner")
    return folder / "out" / "index.html"


def test_the_headline_names_the_winner_with_its_figures(known: Path) -> None:
    page = Page(known)
    assert page.html.startswith("<!doctype html>")
    assert "<known>" not in page.html
    # 12 of 12 against 6 of 12
    assert "10-D: winner solves 50.0 points more than second; 95 % interval" in page.text
    assert "winner 100.0 % (100.0 to 100.0), second 50.0 %" in page.text
    assert "All dimensions (5, 10): winner solves 50.0 points more than second" in page.text
    (low, high) = re.search(r"10-D: winner .*? interval ([\d.]+) to ([\d.]+)\.", page.text).groups()
    assert 0 < float(low) < 50 < float(high) <= 100
    assert "73 runs on 24 problems, 1 failed; 23 pairs of problem and algorithm were not run." in page.text
    assert "loser: 1 runs failed" in page.text
    assert "its process <b>died</b>" in page.text
    assert "2026-01-02 03:04" in page.text


def test_figures_are_inside_the_page_and_beside_it(known: Path) -> None:
    page = Page(known)
    names = {f"bbob-{name}{form}.svg" for name in ("distance", "functions", "success", "targets")
             for form in ("", "-narrow")}  # fmt: skip
    assert {p.name for p in known.parent.glob("*.*g")} == names
    assert [image["class"] for image in page.images] == ["wide", "narrow"] * 4
    for image in page.images:
        assert image["role"] == "img"
        assert "winner" in image["aria-label"]
    assert "script" not in page.names
    assert "img" not in page.names
    fetched = re.sub(r'xmlns(:xlink)?="http://www.w3.org/[^"]*"|url\(#\w+\)', "", page.html)
    assert not re.search(r"https?://|url\(|@import", fetched)
    # clip paths and markers of different pictures must not be taken for each other
    names = re.findall(r'<(?:clipPath|path) id="(\w+)"', page.html)
    assert len(set(names)) == len(names) > 20
    assert len(page.html) < 3_000_000


def test_the_page_opens_in_a_browser_and_shows_all_figures(known: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        assert not os.environ.get("CI"), "chromium is missing: the report must be opened in a real browser here"
        pytest.skip("chromium is not installed")
    with Browser(chromium) as browser:
        for width, dark in ((400, False), (1200, False), (400, True), (1200, True)):
            browser.look(width=width, dark=dark)
            browser.open(known.as_uri())
            assert browser.sideways() == []
            shown = browser.run(
                "[...document.querySelectorAll('svg')].filter(s => s.clientWidth).map(s => s.classList[0])"
            )
            assert shown == ["narrow" if width == 400 else "wide"] * 4
            assert "winner solves 50.0 points more than second" in browser.run("document.body.textContent")
            ink = "getComputedStyle(document.querySelector('svg text')).fill"
            assert browser.run(ink) == browser.run("getComputedStyle(document.body).color")
        assert browser.complaints == []


def test_an_order_that_is_not_settled_is_not_claimed() -> None:
    gaps = {
        "a": lambda f, i: 0.5 if f <= 3 or (f == 4 and i == 1) else 50.0,  # 7 of 12
        "b": lambda f, i: 50.0 if 2 <= f <= 4 else 0.5,  # 6 of 12
    }
    results = Results.from_rows(rows(gaps))
    (said, more), *_ = headline(suites_of(results)[0])
    assert said.startswith("5-D: a solves 8.3 points more than b; 95 % interval -")
    assert said.endswith("not settled, it holds 0.")
    assert "a 58.3 %" in more
    equal = Results.from_rows(rows({"a": 0.5, "b": 0.5}))
    assert "solve equally many" in headline(suites_of(equal)[0])[0][0]
    assert "no problem is solved" in headline(suites_of(Results.from_rows(rows({"a": 50.0, "b": 90.0})))[0])[0][0]


def test_missing_runs_are_told_and_do_not_count() -> None:
    runs = rows({"a": 0.5, "b": lambda f, i: 50.0 if i == 1 else 0.5})
    # b lacks the problems of instance 2 of f1 to f4, which it would have solved; c has run a single problem
    runs = [r for r in runs if not (r["algorithm"] == "b" and r["instance"] == 2 and r["function"] <= 4)]
    runs += [row("c", 1, 1, 0.5)]
    text = told(runs)
    assert "a solves 75.0 points more than b" in text  # 8 shared problems, b solved 2
    assert "compared on the 8 of 12 problems that all compared have run" in text
    assert "c is not compared: it has run 1 of 12 problems" in text
    (suite,) = suites_of(Results.from_rows(runs))
    assert [row[0].text for row in by_dimension(suite, "strict").rows] == ["a", "b", "best known"]
    # one that is far ahead does not keep the others from being compared
    ahead = told(rows({"a": 0.5}, range(1, 25)) + rows({"b": 50.0, "c": 50.0}))
    assert "a solves 100.0 points more than b" in ahead
    assert "compared on the 12 of 48 problems" in ahead
    assert "only a can be compared" in told([*rows({"a": 0.5}), row("b")])
    apart = told(rows({"a": 0.5}) + rows({"a": 0.5, "b": 0.5}, n=10))
    assert "5-D: no runs of b." in apart
    assert "Not in the figures over all dimensions: b." in apart


def test_smaller_budgets_are_marked() -> None:
    text = told(rows({"a": 0.5}) + rows({"b": 50.0}, budget=100))
    assert "a solves 100.0 points more than b†" in text
    assert "† b was allowed fewer evaluations: 100 of 1,000 in 5-D (12 of 12 runs used them up)." in text


def test_algorithms_with_few_problems_and_evaluations_are_compared_apart() -> None:
    late = lambda f, i: 0.5 if f < 3 else 50.0  # noqa: E731
    whole = rows({"auto": 0.5, "cma": late}, instances=(1, 2, 3)) + rows({"cma": 0.5}, n=10)
    few = rows({"igl-fc": 0.5}, instances=(1,), budget=100)
    first, second = suites_of(Results.from_rows(whole + few))
    assert (first.title, second.title) == ("bbob", "bbob, 100 evaluations")
    assert first.results.algorithms == ("auto", "cma")
    assert first.dimensions == (5, 10)
    assert second.dimensions == (5,)
    assert second.fields[5].problems == 6
    assert second.fields[5].algorithms == ("auto", "cma", "igl-fc")
    # After 100 evaluations the others are at the start.
    assert [(r.name, r.success) for r in second.fields[5].ranking] == [("igl-fc", 1), ("auto", 0), ("cma", 0)]
    (line,) = caps(second)
    assert line == (
        "Cut here, from runs with more evaluations: auto, cma. With this budget from the beginning auto would run "
        "otherwise."
    )


def test_one_algorithm_one_function_several_seeds(tmp_path: Path) -> None:
    runs = [row("only", gap=g, seed=s) for s, g in enumerate((0.5, 50.0, 50.0, math.nan))]
    page = Page(write_report(parquet(tmp_path / "r.parquet", runs), tmp_path / "out"))
    assert "only only was run; it solves 25.0 %." in page.text
    assert "1/4" in page.text  # runs solved
    assert len(page.images) == 8  # each for wide and for narrow screens


def test_noisy_runs_are_judged_by_what_is_recommended() -> None:
    lucky = [r | {"recommended_gap": 50.0} for r in rows({"lucky": 0.0}, (101, 102), suite="bbob-noisy")]
    steady = rows({"steady": 0.5}, (101, 102), suite="bbob-noisy")
    text = told(lucky + steady)
    assert "steady solves 100.0 points more than lucky" in text
    assert "best known" not in text
    lines = "\n".join(reading(Loaded(Results.from_rows(lucky), {}, 0)))
    assert "judged by the value without noise of the point that each algorithm recommends" in lines


def test_sources_add_up_and_the_larger_budget_counts(tmp_path: Path) -> None:
    one = parquet(tmp_path / "one.parquet", rows({"a": 50.0}, budget=100) + rows({"b": 50.0}))
    two = parquet(tmp_path / "two.parquet", rows({"a": 0.5}) + rows({"b": 7.0}, budget=100))
    loaded = load([one, two])
    assert loaded.left_out == len(loaded.results)
    assert any(line.startswith(f"Left out: {loaded.left_out} runs") for line in reading(loaded))
    results = loaded.results
    assert len(results) == 24
    assert set(results.select(algorithm="a")["best_gap"].tolist()) == {0.5}
    assert set(results.select(algorithm="b")["best_gap"].tolist()) == {50.0}
    assert set(results["budget"].tolist()) == {1000}


def test_bad_sources_are_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no .*nowhere: give the folder"):
        write_report(tmp_path / "nowhere", tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"no finished runs in .*empty"):
        write_report(tmp_path / "empty", tmp_path / "out")
    with pytest.raises(ValueError, match="no finished runs in an empty list"):
        write_report([], tmp_path / "out")


def test_what_is_no_benchmark_is_refused_in_a_sentence(tmp_path: Path) -> None:
    text = tmp_path / "text.parquet"
    text.write_text("nothing")
    with pytest.raises(ValueError, match=r"text\.parquet cannot be read as the results of a benchmark"):
        load(text)
    (tmp_path / "latent").mkdir()
    pq.write_table(pa.table({"algorithm": ["auto"], "cost": [1.0]}), tmp_path / "latent" / "results.parquet")
    with pytest.raises(ValueError, match="holds other results than a benchmark's"):
        load(tmp_path / "latent")
    with pytest.raises(ValueError, match=r"page has no ending.*: call it .*page\.md"):
        write_markdown(parquet(tmp_path / "x.parquet", rows({"auto": 1.0})), tmp_path / "page")


def test_a_folder_of_snapshots_and_one_of_an_ablation(tmp_path: Path) -> None:
    take_snapshots(tmp_path, [Problem("bbob", 3, 2, 1)], 100, (50,))
    for page in (write_report(tmp_path, tmp_path / "a"), write_markdown(tmp_path, tmp_path / "b.md")):
        assert "Median skewness: raw" in page.read_text(encoding="utf-8")
    assert commands(tmp_path) == [f"eglearn bench run --ablation output-map --out {tmp_path.name}"]
    variants = parquet(tmp_path / "jump.parquet", rows({"jump-off": 1.0, "jump-only": 50.0}, n=40))
    text = write_report(variants, tmp_path / "c").read_text(encoding="utf-8")
    assert "Jump to the best explored point" in text
    assert "The learned gradient makes the progress" in text
    assert "held here" in text


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "matplotlib" else name)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'eglearn-lab\[bench\]'"):
        write_report(tmp_path, tmp_path / "out")


def test_markdown_has_every_claim_with_a_verdict_and_the_commands(tmp_path: Path) -> None:
    runs = parquet(tmp_path / "runs.parquet", rows({"egl-fc": 0.5, "cma": 50.0}, range(1, 5), (1, 2, 3)))
    ablation = parquet(tmp_path / "ab.parquet", rows({"networks-fc": 9.0, "networks-fc-om": 1.0}, n=40))
    page = write_markdown([runs, ablation], tmp_path / "docs" / "coco.md")
    text = page.read_text(encoding="utf-8")
    table = text.split("## The paper's claims")[1].split("## How to read this")[0]
    judged = judge(load([runs, ablation]).results)
    assert len(judged) >= 20
    for claim, verdict in judged:
        if verdict.word == NO_DATA:
            assert claim.text in table.split("Nothing here tells about these: ")[1]
            continue
        assert f"| {claim.text} | {claim.place} | **{verdict.word}** | {verdict.figures} |" in table
    assert (
        "| EGL is state of the art on COCO. [egl-fc] | abstract | **held here** | all dimensions egl-fc 100.0 %"
        in table
    )
    assert re.search(r"output map helps during the whole run\. \| fig\. 4b \| \*\*not settled", table)  # not at 10 %
    # a variant is no algorithm of the comparison
    assert "networks" not in text.split("## Ablations")[0]
    assert "egl-fc solves 100.0 points more than cma" in text
    for name in re.findall(r"!\[[^]]*\]\(([^)]*)\)", text):
        assert (page.parent / name).exists()
    assert "--dims 5 --functions 1-4 --instances 1-3 --seeds 0 --budget 1000 --algorithms cma,egl-fc --out" in text
    assert str(tmp_path) not in text


def test_commands_tell_the_grid(tmp_path: Path) -> None:
    runs = rows({"a": 1.0, "b": 1.0}, instances=(1, 2, 3)) + rows({"c": 1.0}, instances=(1,), budget=50)
    lines = commands(parquet(tmp_path / "r.parquet", runs))
    assert [line.split(" --budget ")[1].split(" --out")[0] for line in lines] == [
        "50 --algorithms c",
        "1000 --algorithms a,b",
    ]
    assert "--instances 1-3 " in lines[1]


def test_names_from_a_stranger_write_nothing_outside_and_are_only_text(tmp_path: Path) -> None:
    """Pictures are named after suites; pages and commands show suites and algorithms."""
    suite, algorithm = "../../../outside; rm x", "<img src=x onerror=alert(1)>"
    inside = tmp_path / "a" / "b" / "c" / "d"
    inside.mkdir(parents=True)
    source = parquet(tmp_path / "runs.parquet", rows({algorithm: 0.5, "cma": 50.0}, (1,), suite=suite))
    before = {*tmp_path.rglob("*")}
    page, text = write_report(source, inside / "page"), write_markdown(source, inside / "text.md")
    made = {*tmp_path.rglob("*")} - before
    assert sum(path.suffix == ".png" for path in made) == 4
    assert sum(path.suffix == ".svg" for path in made) == 8
    assert [path for path in made if not path.is_relative_to(inside)] == []
    for content in (page.read_text(encoding="utf-8"), text.read_text(encoding="utf-8").split("```sh")[0]):
        assert "&lt;img src=x onerror" in content
        assert "<img src=x" not in content
    for file in re.findall(r"!\[[^]]*\]\(([^)]*)\)", text.read_text(encoding="utf-8")):
        assert (text.parent / file).is_file()
    (line,) = commands(source)
    found = shlex.split(line)
    assert found[found.index("--suite") + 1] == suite
    assert found[found.index("--algorithms") + 1] == f"{algorithm},cma"


@pytest.mark.parametrize("name", ["/tmp/outside", "..", "a/b\\c", "../x", ".", "~", "a b", "C:x"])
def test_a_suites_name_cannot_leave_the_folder(name: str) -> None:
    for cut in (None, 50):
        key = Suite(name, Results.from_rows(rows({"x": 0.5}, (1,), suite=name)), cut).key
        assert re.fullmatch("[A-Za-z0-9_-]+", key)


@pytest.mark.parametrize("name", ["", "two\nlines", "a" * 101, "bell\a"])
@pytest.mark.parametrize("column", ["suite", "algorithm"])
def test_names_that_no_benchmark_writes_are_refused(tmp_path: Path, column: str, name: str) -> None:
    runs = [run | {column: name} for run in rows({"x": 0.5})]
    with pytest.raises(ValueError, match=r"runs\.parquet has a suite or an algorithm named .*: no benchmark writes"):
        write_report(parquet(tmp_path / "runs.parquet", runs), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_names_of_files_differ_if_the_texts_do() -> None:
    texts = ["bbob", "bbob-15000", "../x", "..-x", "--x", "a/b", "a\\b", "", "..", "a" * 70, "a" * 71, "B\u00fche"]
    names = [file_name(text) for text in texts]
    assert len(set(names)) == len(texts)
    assert names[:2] == texts[:2]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name) for name in names)


def test_both_pages_show_the_same(tmp_path: Path) -> None:
    """Every heading, every cell of a table and every picture of one is on the other."""
    runs = parquet(tmp_path / "runs.parquet", rows({"egl-fc": 0.5, "cma": 50.0}, n=40) + rows({"cma": 5.0}, n=5))
    text = write_markdown(runs, tmp_path / "text.md", title="One").read_text(encoding="utf-8")
    page = Page(write_report(runs, tmp_path / "page", title="One"))
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        assert heading in page.text
    shown = " ".join(page.text.split())
    cells = [
        cell.replace("**", "")
        for line in text.splitlines()
        if line.startswith("| ")
        for cell in line.strip("| ").split(" | ")
    ]
    assert len(cells) > 100
    assert [cell for cell in cells if cell.split(" ")[0] not in shown] == []
    assert len(page.images) // 2 == text.count("![") == 4
    for content in (text, page.text):
        assert "eglearn bench run --suite bbob" in content
