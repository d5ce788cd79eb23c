"""The page about the paper."""

import numpy as np
import pytest
from lab.tests.bench.made_up import parquet, rows

from eglearn_lab.bench import authors
from eglearn_lab.bench.page import Table
from eglearn_lab.bench.paper import with_the_budget, write_paper
from eglearn_lab.bench.paper_answers import in_brief, shapes
from eglearn_lab.bench.paper_figures import BUDGET, comparable
from eglearn_lab.bench.result_table import Results

FULL = {"functions": range(1, 25), "instances": (1,), "n": 40, "budget": BUDGET}
BASELINES = ("nelder-mead", "slsqp", "powell", "cg", "bfgs", "cma")


def made_up():
    ours = {"egl-fc": lambda f, i: 0.1 if f > 5 else 60.0, "igl-fc": 50.0}
    runs = rows(ours | dict.fromkeys(BASELINES, 30.0), **FULL)
    return runs + rows({f"authors-{b}": 60.0 for b in BASELINES}, **FULL)


def test_the_page_shows_figures_verdicts_and_commands(tmp_path):
    folder = tmp_path / "experiments"
    folder.mkdir()
    (folder / "continuity.md").write_text(
        "# continuity\n\nA question.\n\n1. The paper: it is so.\n\n   Measured: 3.\n\n   **It holds.**\n\n"
        "2. The paper: so, too.\n\n   Measured: 4.\n\n   **Not settled.**\n"
    )
    (folder / "latent.md").write_text(
        "# x\n\n- EGL wins (sec. 5.2); here `egl-fc`. The cost of\n  it is 0.1. That is so. **Holds.**\n"
    )
    page = write_paper(parquet(tmp_path / "runs.parquet", made_up()), tmp_path / "paper.md")
    text = page.read_text()
    for name in ("figure-3", "figure-4a", "where", "protocols-40"):
        assert f"](paper/{name}.png)" in text
        assert (tmp_path / "paper" / f"{name}.png").stat().st_size > 5000
    assert "](experiments/continuity.png)" in text
    assert "| It is so. | **held here** |" in text
    assert "| Explicit learning beats indirect learning (IGL). | **held here (egl-fc)** |" in text
    assert "| So, too. | not settled |" in text
    assert "| EGL wins (sec. 5.2); here egl-fc. | **held here** | The cost of it is 0.1. That is so. |" in text
    assert "Of 3 on theory, small pictures and latent spaces, 2 held here, 1 not settled." in text
    answer = text.split("**Is it better to learn gradients than values?** ")[1].splitlines()[0]
    assert answer == (
        "By all of three measures, in 40-D. EGL with a network (`egl-fc`) solves more problems than IGL with the same "
        "network (`igl-fc`), "
        "79.2 % against 0.0 %; it leaves 6.3 % of the gap between start and optimum, against 25.0 %; it ends lower on "
        "19 of 24 problems and higher on 5."
    )
    assert "eglearn bench run --out results/coco/figure-3" in text
    assert "|  | 40-D |\n|---|--:|\n| egl-fc | **79** |\n| igl-fc | 0 |\n| one CMA-ES run (`cma`) | 0 |" in text
    assert "| multimodal | **5.0e-4** | 0.15 | 5 : 0 |" in text
    told = "egl-fc is clearly better on moderate, ill-conditioned, multimodal and weak structure functions; CMA-ES is "
    assert f"{told}clearly better on separable functions." in text
    assert "| separable | 0.3 | **0.15** | 0 : 5 |" in text


def test_the_first_answer_speaks_of_other_dimensions_too():
    runs = made_up() + rows({"egl-fc": 0.1, "cma": 30.0, "bipop-cma": 0.1}, **FULL | {"n": 5})
    question, answer = in_brief(Results.from_rows(runs))[0]
    assert question == "Is it better than CMA-ES?"
    assert answer.startswith(
        "By all of three measures, in 40-D. EGL with a network (`egl-fc`) solves more problems than one CMA-ES run, "
    )
    assert answer.endswith(
        " Of 5-D, `egl-fc` solves more than one CMA-ES run in all, more than CMA-ES with restarts in none."
    )


def test_functions_on_which_the_shape_matters_are_shown():
    gaps = {"egl-planned": 5.0, "egl-planned-long": lambda f, i: 0.01 if f == 6 else 4.0, "cma": 1.0}
    (section,) = shapes(Results.from_rows(rows(gaps, **FULL)))
    (table,) = (block for block in section.blocks if isinstance(block, Table))
    assert table.header == ("function", "egl-planned", "egl-planned-long", "cma")
    ((name, *cells),) = table.rows
    assert name.text.startswith("f6")
    assert [(cell.text, cell.best) for cell in cells] == [("5", False), ("0.01", True), ("1", False)]
    assert shapes(Results.from_rows(made_up())) == []


def test_settled_claims_stand_first(tmp_path):
    text = write_paper(parquet(tmp_path / "runs.parquet", made_up()), tmp_path / "paper.md").read_text()
    glance = text.split("### The claims about the benchmarks")[1].split("\n- ")[0]
    verdicts = [line.split("|")[2].strip() for line in glance.splitlines() if line.startswith("|")][2:]
    settled = [verdict.startswith("**") for verdict in verdicts]
    assert settled == sorted(settled, reverse=True)
    assert any(settled)
    assert not all(settled)


def test_the_page_says_how_good_the_learned_gradient_is(tmp_path):
    folder = tmp_path / "experiments"
    folder.mkdir()
    (folder / "gradient-along-a-run.csv").write_text(
        "function,evaluations,egl-fc,affine\n1,50,0.1,0.9\n1,100,0.3,0.8\n1,120,0.1,0.7\n1,150,0.2,0.7\n"
    )
    text = write_paper(parquet(tmp_path / "runs.parquet", made_up()), tmp_path / "paper.md").read_text()
    assert "| f1 sphere, first third | 0.10 | **0.90** |\n| f1 sphere, later | 0.20 | **0.70** |" in text


def test_only_runs_with_the_papers_budget_stand_for_egl():
    runs = Results.from_rows(rows({"egl-fc": 1.0, "cma": 1.0}, budget=15_000))
    assert set(with_the_budget(runs).algorithms) == {"cma"}


def test_who_lacks_a_function_is_not_compared():
    runs = Results.from_rows(rows({"egl-fc": 1.0, "cma": 1.0}, **FULL) + rows({"igl-fc": 1.0}, n=40, budget=BUDGET))
    assert set(comparable(runs, 40).algorithms) == {"egl-fc", "cma"}


@pytest.mark.parametrize(("f_opt", "expected"), [(10.0, False), (-10.0, True), (1e4, True)])
def test_the_authors_test_is_relative_to_the_best_value(f_opt, expected):
    runs = Results.from_rows(rows({"a": 0.0, "b": 0.5}, functions=(1,), instances=(1,), f_opt=f_opt))
    assert dict(zip(runs["algorithm"].tolist(), authors.success(runs).tolist(), strict=True)) == {
        "a": True,
        "b": expected,
    }
    far = Results.from_rows(rows({"a": 0.0, "b": 1.5}, functions=(1,), instances=(1,), f_opt=-10.0))
    assert np.sum(authors.success(far)) == 1
