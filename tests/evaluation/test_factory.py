"""Which evaluator is made for what, and the sentences for what cannot be."""

import re
import subprocess
import sys
import threading

import numpy as np
import pytest

from eglearn.evaluation import Command, load_objective, make_evaluator
from eglearn.evaluation.pool import Pool
from eglearn.evaluation.serial import Serial


def objective(x):
    return float(x.sum())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": 0}, "workers=0 must be 1 or more, or -1 for all cores"),
        ({"workers": -2}, "workers=-2 must be 1 or more, or -1 for all cores"),
        ({"workers": True}, "workers=True must be 1 or more, or -1 for all cores"),
        ({"workers": 1.5}, "workers=1.5 is not understood: pass a number, a concurrent.futures.Executor"),
        ({"workers": "four"}, "workers='four' is not understood"),
        ({"workers": None}, "workers=None is not understood"),
        ({"timeout": 0}, "timeout=0 must be a positive number of seconds, or None for no limit"),
        ({"timeout": float("nan")}, "timeout=nan must be a positive"),
        ({"timeout": "soon"}, "timeout='soon' must be a positive"),
        ({"retries": -1}, "retries = -1: it must be a whole number of further attempts, 0 or more"),
        ({"retries": 0.5}, "retries = 0.5: it must be a whole number"),
        ({"fun": 3}, "the objective 3 is not callable: pass a function, 'module:function' or Command"),
        ({"fun": "numpy"}, "the objective 'numpy' does not have the form 'module:function'"),
        ({"fun": "no_such:f"}, "module of the objective 'no_such:f' cannot be imported: No module named"),
        ({"fun": "numpy:nope"}, "the objective 'numpy:nope' does not exist: module 'numpy' has no attribute"),
        ({"fun": "math:pi"}, "the objective 'math:pi' is of type float: name a function"),
        ({"vectorized": True, "workers": 2}, "workers=2 do not share a vectorized call: use workers=1"),
        ({"vectorized": True, "timeout": 2}, "timeout=2 is for single points: leave it out"),
        ({"vectorized": True, "fun": Command("cat")}, "a Command takes one point at a time"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(arguments, message):
    arguments = {"fun": objective, **arguments}
    with pytest.raises((ValueError, TypeError)) as caught:
        make_evaluator(arguments.pop("fun"), **arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_objective_that_cannot_be_sent_is_refused_at_once():
    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"cannot be sent to another process \(cannot pickle '_thread.lock'"):
        make_evaluator(lambda x: lock, workers=2)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'eglearn[parallel]'")):
        make_evaluator(objective, workers=2)
    make_evaluator(objective)
    make_evaluator(Command("cat"), workers=2)


def test_child_processes_are_refused_where_they_do_not_work(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("os.name", "nt")
        with pytest.raises(NotImplementedError, match="need Linux or macOS: here pass an executor"):
            make_evaluator(objective, workers=2)


def test_processes_are_used_only_where_they_are_needed():
    assert isinstance(make_evaluator(objective), Serial)
    assert isinstance(make_evaluator(objective, workers=np.int64(1)), Serial)
    assert isinstance(make_evaluator(objective, timeout=3), Pool)
    assert isinstance(make_evaluator(objective, workers=-1, timeout=3), Pool)


def test_a_name_is_loaded_from_its_module(run):
    assert load_objective("os.path:join")("a", "b") == "a/b"
    assert load_objective("numpy:linalg.norm") is np.linalg.norm
    x = np.array([[3.0, 4.0], [6.0, 8.0]])
    for workers in (1, 2):
        outcomes = run(make_evaluator("numpy:linalg.norm", workers=workers), x)
        assert [outcome.y for outcome in outcomes] == [5.0, 10.0]


def test_importing_the_package_does_not_import_what_only_some_need():
    code = (
        "import sys, eglearn.evaluation; "
        "print([name for name in ('distributed', 'loky', 'cloudpickle', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
