from __future__ import annotations

import datetime
import json
import math
import os
import re
import shutil
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from eglearn.bench import claims
from eglearn.bench.claims import CONTRARY, HELD, NO_DATA, OPEN, UNTESTABLE, VERDICTS, Evidence, decide, judge
from eglearn.bench.metrics import TARGETS, Results

pa = pytest.importorskip("pyarrow")
pytest.importorskip("matplotlib")

import pyarrow.parquet as pq  # noqa: E402

from eglearn.bench.report import (  # noqa: E402
    caps,
    commands,
    gaps_in,
    headline,
    load,
    reading,
    suites_of,
    write_markdown,
    write_report,
)

START = datetime.datetime(2026, 1, 2, 3, 4)


def row(algorithm, function=1, instance=1, gap=0.0, *, n=5, suite="bbob", budget=1000, **other):
    """A run that starts at gap 200 and falls to ``gap`` at its end, halfway (in logs) before."""
    end = max(gap, 1e-9) if math.isfinite(gap) else 200.0
    hits = [budget if end <= t < 200 else -1 for t in TARGETS]
    run = {
        "suite": suite, "function": function, "dimension": n, "instance": instance, "algorithm": algorithm, "seed": 0,
        "budget": budget, "evaluations": budget, "projected": 0, "f_opt": 10.0, "y0": 210.0, "best_gap": gap,
        "recommended_gap": gap, "status": "budget", "error": "", "cpu_optimiser": 2.0, "cpu_function": 1.0,
        "trace_evaluations": [1, budget // 2, budget], "trace_gap": [200.0, math.sqrt(200 * end), end],
        "target_evaluations": hits, "versions": json.dumps({"eglearn": "0.1.0"}), "started": START,
    }  # fmt: skip
    return run | other


def rows(gaps, functions=range(1, 7), instances=(1, 2), **other):
    """Runs of several algorithms: ``gaps[name]`` is a gap, or a function of (function, instance)."""
    return [
        row(a, f, i, g(f, i) if callable(g) else g, **other)
        for a, g in gaps.items()
        for f in functions
        for i in instances
    ]


def parquet(path: Path, runs) -> Path:
    pq.write_table(pa.Table.from_pylist(runs), path)
    return path


def told(runs) -> str:
    """All sentences of a report on one suite."""
    results = Results.from_rows(runs)
    (suite,) = suites_of(results)
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
        if tag == "img":
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
    names = ["bbob-distance.png", "bbob-functions.png", "bbob-success.png", "bbob-targets.png"]
    assert sorted(p.name for p in known.parent.glob("*.png")) == names
    assert len(page.images) == 4
    for image in page.images:
        assert image["src"].startswith("data:image/png;base64,")
        assert "winner" in image["alt"]
    assert "script" not in page.names
    assert not re.search(r"https?://|url\(|@import", page.html)
    assert len(page.html) < 3_000_000


def test_the_page_opens_in_a_browser_and_shows_all_figures(known: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        assert not os.environ.get("CI"), "chromium is missing: the report must be opened in a real browser here"
        pytest.skip("chromium is not installed")
    for width in (400, 1200):
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0", "--dump-dom"]
        options += [f"--window-size={width},900", f"--user-data-dir={known.parent / 'profile'}"]
        done = subprocess.run([chromium, *options, known.as_uri()], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0
        assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
        assert done.stdout.count("<img ") == 4
        assert "winner solves 50.0 points more than second" in done.stdout


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


def test_one_algorithm_one_function_several_seeds(tmp_path: Path) -> None:
    runs = [row("only", gap=g, seed=s) for s, g in enumerate((0.5, 50.0, 50.0, math.nan))]
    page = Page(write_report(parquet(tmp_path / "r.parquet", runs), tmp_path / "out"))
    assert "only only was run; it solves 25.0 %." in page.text
    assert "1/4" in page.text  # runs solved
    assert len(page.images) == 4


def test_noisy_runs_are_judged_by_what_is_recommended() -> None:
    lucky = [r | {"recommended_gap": 50.0} for r in rows({"lucky": 0.0}, (101, 102), suite="bbob-noisy")]
    steady = rows({"steady": 0.5}, (101, 102), suite="bbob-noisy")
    text = told(lucky + steady)
    assert "steady solves 100.0 points more than lucky" in text
    assert "best known" not in text
    lines = "\n".join(reading(Results.from_rows(lucky)))
    assert "judged by the value without noise of the point that each algorithm recommends" in lines


def test_sources_add_up_and_the_larger_budget_counts(tmp_path: Path) -> None:
    one = parquet(tmp_path / "one.parquet", rows({"a": 50.0}, budget=100) + rows({"b": 50.0}))
    two = parquet(tmp_path / "two.parquet", rows({"a": 0.5}) + rows({"b": 7.0}, budget=100))
    results = load([one, two])
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


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "matplotlib" else name)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'eglearn\[bench\]'"):
        write_report(tmp_path, tmp_path / "out")


def test_markdown_has_every_claim_with_a_verdict_and_the_commands(tmp_path: Path) -> None:
    runs = parquet(tmp_path / "runs.parquet", rows({"egl": 0.5, "cma": 50.0}, range(1, 5), (1, 2, 3)))
    ablation = parquet(tmp_path / "ab.parquet", rows({"networks-fc": 9.0, "networks-fc-om": 1.0}, n=40))
    page = write_markdown([runs, ablation], tmp_path / "docs" / "coco.md")
    text = page.read_text(encoding="utf-8")
    table = text.split("## The paper's claims")[1].split("## How to read this")[0]
    judged = judge(load([runs, ablation]))
    assert len(judged) >= 20
    for claim, verdict in judged:
        assert f"| {claim.text} | {claim.place} | **{verdict.word}** | {verdict.figures} |" in table
    assert "| EGL is state of the art on COCO. [egl] | abstract | **held here** | all dimensions egl 100.0 %" in table
    assert re.search(r"output map helps during the whole run\. \| fig\. 4b \| \*\*not settled", table)  # not at 10 %
    # a variant is no algorithm of the comparison
    assert "networks" not in text.split("## The paper's claims")[0]
    assert "egl solves 100.0 points more than cma" in text
    for name in re.findall(r"!\[[^]]*\]\(([^)]*)\)", text):
        assert (page.parent / name).exists()
    assert "--dims 5 --functions 1-4 --instances 1-3 --seeds 0 --budget 1000 --algorithms cma,egl --out" in text
    assert str(tmp_path) not in text


def test_commands_tell_the_grid(tmp_path: Path) -> None:
    runs = rows({"a": 1.0, "b": 1.0}, instances=(1, 2, 3)) + rows({"c": 1.0}, instances=(1,), budget=50)
    lines = commands(parquet(tmp_path / "r.parquet", runs))
    assert [line.split(" --budget ")[1].split(" --out")[0] for line in lines] == [
        "50 --algorithms c",
        "1000 --algorithms a,b",
    ]
    assert "--instances 1-3 " in lines[1]


# Claims


def verdict(gaps, text, **other) -> claims.Verdict:
    """The verdict on the claim that holds ``text``."""
    (found,) = [v for c, v in judge(Results.from_rows(rows(gaps, **other))) if text in c.text]
    return found


@pytest.mark.parametrize(
    ("spread", "problems", "word"),
    [((0.1, 0.3), 6, HELD), ((-0.3, -0.1), 6, CONTRARY), ((-0.1, 0.3), 6, OPEN), ((0.1, 0.3), 5, OPEN)],
)
def test_the_rule(spread, problems, word) -> None:
    assert decide([Evidence(sum(spread) / 2, *spread, problems, "x")]).word == word
    assert decide([]).word == NO_DATA
    held = Evidence(0.2, 0.1, 0.3, 9, "x")
    assert decide([held, Evidence(sum(spread) / 2, *spread, problems, "y")]).word == word
    assert decide([held], lacking="igl was not run").word == OPEN


def test_each_verdict_from_data() -> None:
    every = dict.fromkeys(claims.BASELINES, 50.0)
    assert verdict(every | {"egl": 0.5}, "more problems than each baseline").word == HELD
    behind = verdict(every | {"egl": 50.0, "cma": 0.5}, "more problems than each baseline")
    assert behind.word == CONTRARY
    assert "5-D egl 0.0 %, cma 100.0 %: -100.0" in behind.figures
    mixed = every | {"egl": lambda f, i: 0.5 if f <= 3 else 50.0, "cma": lambda f, i: 0.5 if f > 3 else 50.0}
    assert verdict(mixed, "more problems than each baseline").word == OPEN
    partly = verdict({"egl": 0.5, "cma": 50.0}, "more problems than each baseline")
    assert partly.word == OPEN  # the other baselines were not run
    assert "nelder-mead" in partly.figures
    assert verdict({"random": 1.0}, "more problems than each baseline").word == NO_DATA
    assert verdict({"egl": 1.0}, "easier to learn").word == UNTESTABLE
    for _, found in judge(Results.from_rows(rows({"random": 1.0}))):
        assert found.word in (NO_DATA, UNTESTABLE)
        assert found.figures


def test_claims_on_networks_replay_and_radius() -> None:
    networks = {"networks-fc": 90.0, "networks-fc-tr": 80.0, "networks-fc-om": 20.0, "networks-fc-tr-om": 10.0}
    assert verdict(networks | {"networks-spline": 20.0}, "together beat", n=40).word == HELD
    assert verdict(networks | {"networks-spline": 20.0}, "spline network", n=40).word == CONTRARY
    replay = {
        "replay-1-p0": 50.0,
        "replay-4-p0": 45.0,
        "replay-16-p0": 80.0,
        "replay-1-p0.01": 60.0,
        "replay-32-p0": 0.0,
    }
    four = verdict(replay, "4 batches gains", n=40)
    assert four.word == HELD
    assert "+10.0 %" in four.figures
    assert verdict(replay, "16 batches hurts", n=40).word == HELD
    assert verdict(replay, "0.01 eps gains", n=40).word == CONTRARY
    radius = {"epsilon-0.1": 20.0, "epsilon-0.001": 5.0, "epsilon-0.5": 5.0}
    assert verdict(radius, "On f19", n=40, functions=(19, 21), instances=range(1, 8)).word == HELD
    assert verdict(radius, "On f21", n=40, functions=(19, 21), instances=(1,)).word == OPEN  # one problem
    assert verdict(radius, "On f22", n=40, functions=(19, 21)).word == NO_DATA


def test_the_trust_region_may_help_too_early() -> None:
    base = rows({"networks-fc-tr-om": 1.0, "networks-fc-om": 50.0, "networks-fc": 0.5}, n=40)
    for run in base:
        run |= {"trace_evaluations": [1, 1000], "trace_gap": [200.0, run["best_gap"]]}
    late = [v for c, v in judge(Results.from_rows(base)) if "only near the minimum" in c.text]
    assert late[0].word == HELD
    for run in base:
        run["trace_evaluations"] = [1, 50]
    early = [v for c, v in judge(Results.from_rows(base)) if "only near the minimum" in c.text]
    assert early[0].word == CONTRARY
    assert "early too" in early[0].figures


def test_overtaking_cma() -> None:
    runs = rows({"egl": 1.0, "cma": 20.0, "slsqp": 0.5}, n=40, budget=100_000)
    for run in runs:
        when = {"egl": 10_000, "cma": 1000, "slsqp": 90_000}[run["algorithm"]]
        run |= {"trace_evaluations": [1, when], "trace_gap": [200.0, run["best_gap"]]}
    found = {c.text: v for c, v in judge(Results.from_rows(runs))}
    assert found["It overtakes CMA-ES after about 10,000 evaluations. [egl]"].word == HELD
    assert found["In 40-D EGL ends closer to the best value than CMA-ES. [egl]"].word == HELD
    # slsqp still improved in the second half, egl did not
    assert found["EGL improves all the way, while baselines settle in local minima. [egl]"].word == CONTRARY
    for run in runs:
        run["trace_evaluations"] = [1, 40_000] if run["algorithm"] == "egl" else run["trace_evaluations"]
    found = {c.text: v for c, v in judge(Results.from_rows(runs))}
    assert found["It overtakes CMA-ES after about 10,000 evaluations. [egl]"].word == CONTRARY


def test_baselines_with_more_evaluations_are_cut() -> None:
    """The baselines solve everything, but after the evaluations that egl-fc had."""
    runs = rows({"egl-fc": 0.5}, n=40, budget=1000) + rows(dict.fromkeys(claims.BASELINES, 0.1), n=40, budget=10_000)
    for run in runs:
        if run["algorithm"] != "egl-fc":
            run |= {"trace_evaluations": [10, 5000], "trace_gap": [150.0, 0.1]}
    found = {c.text: v for c, v in judge(Results.from_rows(runs))}
    assert found["EGL solves more problems than each baseline in every dimension. [egl-fc]"].word == HELD
    assert found["EGL is state of the art on COCO. [egl-fc]"].word == HELD


def test_rivals_with_more_evaluations_are_cut_in_784_dimensions() -> None:
    rivals = {"igl-m64": 0.1, "cg": 0.1, "cma": 0.1}
    runs = rows({"egl-fc-m64": 10.0}, n=784, suite="coco-784") + rows(rivals, n=784, suite="coco-784", budget=10_000)
    for run in runs:
        if run["algorithm"] != "egl-fc-m64":
            run |= {"trace_evaluations": [10, 5000], "trace_gap": [150.0, 0.1]}
    found = {c.text: v for c, v in judge(Results.from_rows(runs))}
    assert found["In 784-D EGL with m = 64 beats CMA-ES, CG and IGL."].word == HELD


def test_a_lead_that_grows_with_the_dimension() -> None:
    half = lambda f, i: 0.5 if f <= 3 else 50.0  # noqa: E731
    small = rows({"egl": half, "cma": half, "powell": 50.0}, n=2)
    large = rows({"egl": 0.5, "cma": 50.0, "powell": 50.0}, n=40)
    (found,) = [v for c, v in judge(Results.from_rows(small + large)) if "grows with the dimension" in c.text]
    assert found.word == HELD
    assert "2-D +0.0, 40-D +100.0" in found.figures


def test_a_whole_benchmark_is_judged_in_time() -> None:
    rng = np.random.default_rng(0)
    names = ("egl", *claims.BASELINES, "bipop-cma")
    runs = rows({a: lambda f, i: 10 ** rng.uniform(-9, 2) for a in names}, range(1, 25), range(1, 6))
    begun = time.process_time()
    judged = judge(Results.from_rows(runs))
    assert {v.word for _, v in judged} <= set(VERDICTS)
    assert time.process_time() - begun < 20
