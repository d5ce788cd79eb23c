"""The code in README.md and docs/ runs, the calls in their tables too, and their links lead somewhere."""

import importlib
import logging
import re
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "docs/guide.md", "docs/workers.md", "docs/which-algorithm.md"]
COMING_FROM = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
TOOLS = re.split(r"^## ", COMING_FROM, flags=re.MULTILINE)[1:]
ALL = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *ROOT.glob("[CL]*.md"), ROOT / "lab" / "README.md"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty folder, no pictures left open, and the log as it was."""
    monkeypatch.chdir(tmp_path)
    level = logging.getLogger("eglearn").level
    yield
    logging.getLogger("eglearn").setLevel(level)
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PAGES)
def test_the_code_on_a_page_runs(page):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_the_readme_is_one_screen_and_prints_what_it_says(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 70
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], {})
    out = capsys.readouterr().out
    value, error = re.match(r"value (\S+), largest error in x (\S+)\n", out).groups()
    assert float(value) < 1e-15
    assert float(error) < 1e-7
    assert "The budget of 6000 evaluations is used." in " ".join(text.split())
    assert out.endswith("The budget of 6000 evaluations is used.\n")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda text: text.split("\n")[0])
def test_both_sides_of_every_row_run(tool):
    name = tool.split("\n")[0].lower()
    pytest.importorskip(name)
    rows = [re.findall(r"(?<!\\)\| `(.*?)` (?=\|)", line) for line in tool.splitlines() if line.startswith("| `")]
    assert len(rows) > 5
    assert all(len(row) == 2 for row in rows)
    names = {}
    importlib.import_module("eglearn.serialize")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the other tools
        exec(re.search(r"```python\n(.*?)```", tool, re.DOTALL)[1], names)
        left, right = dict(names), dict(names)
        for theirs, ours in rows:
            exec(theirs.replace("\\|", "|"), left)
            exec(ours, right)
    if "res" in right:
        assert right["res"].fun == np.min(right["res"].history.y) < 1


@pytest.mark.parametrize("page", ALL, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text)
    for link in links:
        if link.startswith(("http", "data:")):
            continue
        path, _, place = link.partition("#")
        target = page if not path else page.parent / path
        assert target.exists(), link
        if place and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert place in anchors, link
