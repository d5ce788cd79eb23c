from pathlib import Path

import eglearn.evaluation


def test_the_page_on_guarantees_is_the_docstring():
    page = Path(__file__).parents[2] / "docs" / "evaluation.md"
    heading, _, text = page.read_text(encoding="utf-8").partition("\n\n")
    assert heading.startswith("# Evaluation")
    text, _, _ = text.partition("\n## ")
    assert text.strip() == eglearn.evaluation.__doc__.strip()
