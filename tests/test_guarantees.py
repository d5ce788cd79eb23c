"""The tests that docs/guarantees.md names exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")


def test_every_promise_is_held_by_a_test_that_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 25
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (path, name)
    rows = [line.count("|") == 3 and "::" in line for line in tables_of_promises()]
    assert len(rows) > 20
    assert all(rows)  # no promise without a test


def tables_of_promises():
    """The lines of the tables whose first column is called "promise"."""
    within = False
    for line in PAGE.splitlines():
        if line.startswith("| promise |"):
            within = True
        elif not line.startswith("|"):
            within = False
        elif within and not line.startswith("|---"):
            yield line
