"""``eglearn experiment``."""

import sys

import pytest

from eglearn_lab.experiments import base
from eglearn_lab.experiments.base import Experiment, Finding, Outcome, write_csv


@pytest.fixture
def fake(monkeypatch):
    def function(out, progress, size):
        assert size == 1
        progress(0.25, "half [of] it")
        picture = out / "fake.png"
        picture.write_bytes(b"picture")
        findings = (Finding("it is so.", "it is 3.", True), Finding("it is not.", "it is 4.", None))
        return Outcome(findings, (picture,), (write_csv(out / "fake.csv", {"x": [1]}),))

    monkeypatch.setitem(base.EXPERIMENTS, "fake", Experiment("fake", "A fake [one]", 0.5, function, ("json",)))


def one_sentence(err):
    assert err.startswith("eglearn: ")
    assert err.count("\n") == 1
    return err


def test_list(inside, fake, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    code, out, err = inside("experiment", "--list")
    assert (code, err) == (0, "")
    for words in ("fake", "A fake [one]", "30 seconds", "mean-gradient-1d", "spline-vs-fc"):
        assert words in out


def test_run_and_page(inside, fake, folder):
    code, out, err = inside("experiment", "fake", "--out", "pictures", "--docs", "docs/x")
    assert (code, err) == (0, "")
    assert out.startswith(" 25% half [of] it\n")
    assert "measured: it is 3.\n          (holds)" in out
    assert "(not settled)" in out
    for name in ("pictures/fake.png", "pictures/fake.csv", "docs/x/fake.md"):
        assert f"written: {name}\n" in out
        assert (folder.path / name).exists()
    assert (folder.path / "docs/x/fake.png").exists()


def test_default_folder(inside, fake, folder):
    assert inside("experiment", "fake")[0] == 0
    assert (folder.path / "experiments" / "fake.png").exists()
    assert not list(folder.path.rglob("*.md"))


def test_on_a_terminal(inside, fake, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    code, out, err = inside("experiment", "fake")
    assert (code, err) == (0, "")
    assert "measured: it is 3." in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "no experiment is named: choose one of"),
        (("nonsense",), "there is no experiment 'nonsense': choose one of"),
        (("fake", "--size", "2"), "--size"),
    ],
)
def test_wrong_usage(inside, fake, words, text):
    code, out, err = inside("experiment", *words)
    assert (code, out) == (2, "")
    assert text in one_sentence(err)


def test_missing_package(inside, fake, monkeypatch):
    monkeypatch.setitem(sys.modules, "json", None)
    code, _, err = inside("experiment", "fake")
    assert code == 1
    assert "the experiment 'fake' needs json: pip install 'eglearn-lab[all]'" in one_sentence(err)


def test_a_folder_that_cannot_be_made(inside, fake, folder):
    (folder.path / "taken").write_text("")
    code, _, err = inside("experiment", "fake", "--out", "taken")
    assert code == 1
    assert "taken cannot be used" in one_sentence(err)
