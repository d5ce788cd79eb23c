"""The example that ``make run`` starts."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "examples" / "rippled_bowl.py"


def test_progress_is_for_terminals_only():
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, check=True)
    assert done.stdout.splitlines()[:2] == [b"", b"The budget of 25000 evaluations is used."]
    assert len(done.stdout.splitlines()) == 3
