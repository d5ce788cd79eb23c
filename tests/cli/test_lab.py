"""Commands that other packages add, and what is said where eglearn-lab is not installed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import eglearn

ROOT = Path(__file__).parents[2]
SENTENCE = "pip install eglearn-lab (in a checkout: pip install ./lab)"
# Another package's entry points: none, one that works, one that does not.
WITH = """
import importlib.metadata, sys
from importlib.metadata import EntryPoint, EntryPoints
found = EntryPoints([EntryPoint(name, value, "eglearn.commands") for name, value in {entries!r}])
importlib.metadata.entry_points = lambda **wanted: found.select(**wanted)
from cyclopts import App
class extra: pass
extra.greet = App(name="greet", help="Says hello.")
extra.greet.default(lambda: print("hello"))
sys.modules["extra"] = extra
from eglearn.cli import main
sys.exit(main({words!r}))
"""


def call(*words, entries=()):
    code = WITH.format(entries=list(entries), words=list(words))
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)


@pytest.mark.parametrize("words", [("bench", "list"), ("data", "--help"), ("experiment", "--list")])
def test_without_the_lab_a_sentence_says_how_to_install_it(words):
    done = call(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"eglearn: 'eglearn {words[0]}' comes with another package: {SENTENCE}\n"


@pytest.mark.parametrize("words", [(), ("--help",)])
def test_without_the_lab_the_help_is_whole_and_says_it_too(words):
    done = call(*words)
    assert done.returncode == 0
    for name in ("run", "resume", "show", "export", "report"):
        assert f"│ {name} " in done.stdout
    assert f"(bench, data, experiment): {SENTENCE}" in " ".join(done.stdout.split())


def test_another_command_is_found_and_listed():
    entries = [("greet", "extra:greet")]
    assert call("greet", entries=entries).stdout == "hello\n"
    assert "Says hello." in call("--help", entries=entries).stdout


def test_a_command_that_cannot_be_loaded_is_one_sentence_and_leaves_the_others_alone():
    entries = [("greet", "extra:nothing")]
    done = call("greet", entries=entries)
    assert done.returncode == 1
    assert done.stderr.startswith("eglearn: the command greet of another package cannot be loaded (AttributeError: ")
    assert done.stderr.count("\n") == 1
    assert "there is no file none.egl" in call("show", "none.egl", entries=entries).stderr


def test_with_the_lab_the_help_lists_its_commands(inside):
    pytest.importorskip("eglearn_lab")
    _, out, _ = inside("--help")
    for name in ("bench", "data", "experiment"):
        assert f"│ {name} " in out
    assert "pip install" not in out


def test_nothing_in_the_library_imports_the_lab():
    for path in Path(eglearn.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("eglearn_lab") for name in names), path


def test_both_have_one_version():
    lab = pytest.importorskip("eglearn_lab")
    assert lab.__version__ == eglearn.__version__
    text = (ROOT / "lab" / "pyproject.toml").read_text(encoding="utf-8")
    assert f'"eglearn[cli]=={eglearn.__version__}"' in text
