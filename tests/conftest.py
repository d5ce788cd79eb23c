"""For all tests."""

import signal
from collections.abc import Callable

import pytest

# Ctrl-C must work even where the tests were started with it ignored, as by a shell in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)

_SURVIVED = pytest.StashKey[dict[str, int]]()


@pytest.fixture
def survived(request: pytest.FixtureRequest) -> Callable[[str, int], None]:
    """Counts faults that were survived, for the last line of ``make soak``."""
    counts = request.config.stash.setdefault(_SURVIVED, {})

    def count(kind: str, number: int) -> None:
        counts[kind] = counts.get(kind, 0) + number

    return count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    counts = config.stash.get(_SURVIVED, {})
    if counts:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
        terminalreporter.write_line(f"survived {sum(counts.values()):,} faults: {kinds}")
