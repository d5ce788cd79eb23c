"""One browser for the tests of a file, and a run with failures."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser import Browser
from tests.report.driver import flaky

from eglearn import EGLSettings, Result, minimize


@pytest.fixture(scope="module")
def opened_browser() -> Iterator[Browser]:
    found = shutil.which("chromium")
    if found is None and os.environ.get("CI"):
        pytest.fail("chromium is missing: the report must be opened in a real browser here")
    if found is None:
        pytest.skip("chromium is not installed")
    with Browser(found) as browser:
        yield browser


@pytest.fixture
def browser(opened_browser: Browser) -> Browser:
    """As if it had just been started."""
    opened_browser.look()
    opened_browser.complaints.clear()
    return opened_browser


@pytest.fixture(scope="module")
def flaky_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    store = tmp_path_factory.mktemp("flaky") / "run <i>.egl"
    settings = EGLSettings(epsilon=0.5, replay=16)
    result = minimize(flaky, [(-5, 5)] * 6, budget=1500, store=store, algorithm="egl", settings=settings, seed=1)
    assert result.n_failed > 0
    return store, result
