import re
from pathlib import Path

import numpy as np

import eglearn.evaluation
from eglearn import Status
from eglearn.evaluation import Command, make_evaluator

PAGE = Path(__file__).parents[2] / "docs" / "evaluation.md"


def test_the_page_on_guarantees_is_the_docstring():
    heading, _, text = PAGE.read_text(encoding="utf-8").partition("\n\n")
    assert heading.startswith("# Evaluation")
    text, _, _ = text.partition("\n## ")
    assert text.strip() == eglearn.evaluation.__doc__.strip()


def test_the_programs_on_the_page_work(run, tmp_path):
    kept, once = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "simulate.py").write_text(kept)
    command = Command(["python3", str(tmp_path / "simulate.py")])
    good, bad = run(make_evaluator(command), np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]]))
    assert good.y == 3.0
    assert bad.error is not None
    names = {}
    exec(once.replace("budget=100", "budget=12"), names)
    assert (names["result"].nfev, names["result"].n_failed) == (12, 0)


def test_the_page_names_every_status():
    text = PAGE.read_text(encoding="utf-8").partition("## How a run ends")[2]
    assert {status.name for status in Status if status is not Status.RUNNING} <= set(re.findall(r"[A-Z_]{4,}", text))
