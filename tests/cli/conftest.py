"""A folder with an objective in it, and ways to call the command line there."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from eglearn.cli import main
from eglearn.store import History, StoreError

OBJECTIVES = """
import logging, os, random, sys, time

def bowl(x):
    time.sleep(float(os.environ.get("SLOW", "0")))
    return sum((i + 1) * (v - 1) ** 2 for i, v in enumerate(x.tolist()))

def bowls(x):
    time.sleep(float(os.environ.get("SLOW", "0")))
    return ((x - 1) ** 2).sum(axis=1)

def flaky(x):
    if x[0] > 0.3:
        raise RuntimeError("no mesh")
    return bowl(x)

def broken(x):
    raise RuntimeError("no mesh")

luck = random.Random(0)

def noisy(x):
    return bowl(x) + luck.gauss()

def chatty(x):
    print("from Python")
    os.system("echo from a child")
    return bowl(x)

def warning(x):
    logging.warning("a coarse mesh")
    time.sleep(0.01)
    return bowl(x)

number = 3
"""
# Ctrl-C must work even where the tests themselves were started with it ignored.
INTERRUPTIBLE = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from eglearn.cli import main; sys.exit(main())"
)
SCRIPT = Path(sysconfig.get_path("scripts")) / "eglearn"
PROBLEM = ("--dim", "4", "--bounds", "-5", "5", "--budget", "600")


@contextlib.contextmanager
def captured(descriptor):
    """What is written to a stream, also by children: a list with the text in the end."""
    text, redirect = [], {1: contextlib.redirect_stdout, 2: contextlib.redirect_stderr}[descriptor]
    with tempfile.TemporaryFile() as file:
        before = os.dup(descriptor)
        os.dup2(file.fileno(), descriptor)
        try:
            with open(descriptor, "w", closefd=False) as stream, redirect(stream):
                yield text
        finally:
            os.dup2(before, descriptor)
            os.close(before)
        file.seek(0)
        text.append(file.read().decode())


class Folder:
    """Calls the command line in a folder: in this process, which is quicker, or as the installed program."""

    problem = PROBLEM

    def __init__(self, path):
        self.path = path
        (path / "objectives.py").write_text(OBJECTIVES)

    def call(self, *words, code=0, **env):
        """Run the command line in this process and see that it ends with the exit code."""
        with pytest.MonkeyPatch.context() as patch, captured(1) as out, captured(2) as err:
            patch.chdir(self.path)
            patch.setattr(sys, "path", list(sys.path))
            for name, value in env.items():
                patch.setenv(name, value)
            ended = main([str(word) for word in words])
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "")).startswith(str(self.path)):
                del sys.modules[name]
        return self._checked(SimpleNamespace(returncode=ended, stdout=out[0], stderr=err[0]), code)

    def program(self, *words, code=0, **env):
        """The same as a process of its own."""
        done = subprocess.run(
            [SCRIPT, *words], cwd=self.path, capture_output=True, text=True, env=os.environ | env, timeout=60
        )
        return self._checked(done, code)

    @staticmethod
    def _checked(done, code):
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done

    def json(self, *words, code=0, **env):
        return json.loads(self.call(*words, "--json", code=code, **env).stdout)

    def start(self, *words, **env):
        """Start the program so that it can be interrupted."""
        return subprocess.Popen(
            [sys.executable, "-P", "-c", INTERRUPTIBLE, *words],
            cwd=self.path,
            env=os.environ | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, count, name="run.egl"):
        """Wait until so many evaluations stand in the store."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                if sum(1 for _ in History(self.path / name).evaluations(with_x=False)) >= count:
                    return
            except StoreError:  # it is not there yet
                pass
            time.sleep(0.02)
        raise AssertionError("no evaluations arrive")

    def stop(self, process, how, code):
        """End a program by a signal."""
        process.send_signal(how)
        out, err = process.communicate(timeout=30)
        assert process.returncode == (code if how == signal.SIGINT else -how), (process.returncode, out, err)
        assert "Traceback" not in err
        return out


@pytest.fixture(autouse=True, scope="session")
def state_home(tmp_path_factory):
    """The key that signs runs is not that of who tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def inside(folder, monkeypatch, capsys):
    """Call the command line in this process, which is quicker; gives exit code, output and error."""
    monkeypatch.chdir(folder.path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    sys.modules.pop("objectives", None)

    def call(*words):
        code = main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    yield call
    sys.modules.pop("objectives", None)
