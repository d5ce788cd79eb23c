"""Programs that are started once for each point."""

import json
import os
import sys
import time

import numpy as np
import pytest

from eglearn import Status, minimize
from eglearn.evaluation import Command, make_evaluator


def once(script, *words):
    """A shell script that is started for each point, with the point in its arguments."""
    return Command(["sh", "-c", script, "sh", *(words or ("{x}",))], once=True)


def points(count):
    return np.arange(float(count))[:, None]


@pytest.mark.parametrize("workers", [1, 2])
def test_coordinates_are_arguments_and_arrive_exactly(workers, run):
    x = np.random.default_rng(0).normal(size=(6, 3)) * 10.0 ** np.array([-300, 0, 300])
    x[0] = [5e-324, 1.7976931348623157e308, -0.0]
    outcomes = run(make_evaluator(once('echo "starting"; echo "$2"'), workers=workers), x)
    assert [outcome.y for outcome in outcomes] == list(x[:, 1])
    assert {(outcome.error, outcome.attempts) for outcome in outcomes} == {(None, 1)}


def test_a_place_within_a_word_gets_commas_and_others_stay_as_they_are(run):
    program = "import sys; print(sum(map(float, sys.argv[1].removeprefix('--at=').split(','))) + len(sys.argv[2]))"
    command = Command([sys.executable, "-c", program, "--at={x}", '{"a": {}}'], once=True)
    assert run(make_evaluator(command), np.array([[0.5, -1.25]]))[0].y == -0.75 + 9


@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_has_one_coordinate_on_each_line_and_is_removed(workers, run, tmp_path):
    x = np.array([[0.1, -2.5], [1e300, 3.0], [5.0, 6.0]])
    log = tmp_path / "log"
    script = f'cat "$1" >> {log}; echo "$1" >> {log}.names; tail -n 1 "$1"'
    outcomes = run(make_evaluator(once(script, "{file}"), workers=workers), x)
    assert [outcome.y for outcome in outcomes] == [-2.5, 3.0, 6.0]
    assert sorted(log.read_text().split()) == sorted(repr(value) for value in x.ravel().tolist())
    assert not any(os.path.exists(name) for name in (tmp_path / "log.names").read_text().split())


@pytest.mark.parametrize(
    ("script", "value", "error"),
    [
        ("echo banner 3.1; echo; echo 1.5; echo; echo", 1.5, None),
        ("printf 1.5", 1.5, None),
        ("printf '1.5\\r\\n'", 1.5, None),
        ("printf '10%%\\r20%%\\r1.5'", 1.5, None),
        ("""echo '{"y": 1.5, "more": [1]}'""", 1.5, None),
        ("echo 1.5; exit 3", None, "the program ended with exit code 3"),
        ("echo 1.5; echo cell 7 >&2; exit 3", None, "exit code 3; its last message was 'cell 7'"),
        ("echo 1.5; kill -9 $$", None, "the program was killed by SIGKILL"),
        ("true", None, "the program wrote no answer to its standard output"),
        ("echo 1.5; echo done", None, "the program answered 'done', not a JSON line"),
        ("echo 1.5 2.5", None, "the program answered '1.5 2.5', not a JSON line"),
        ("""echo '{"error": "no mesh"}'""", None, "no mesh"),
        ("echo nan", None, "the objective returned nan"),
        ("echo '[1, 2]'", None, "the objective returned an array of shape (2,), not one number"),
        ("perl -e 'print \"0\" x 3_000_000'", None, "the program wrote no answer"),
        ("perl -e 'print \"x\\n\" x 3_000_000, 1.5'", 1.5, None),
        ("yes 2>&1 | head -c 3000000 >&2; echo 1.5", 1.5, None),
    ],
)
def test_the_last_line_is_the_answer(script, value, error, run):
    (outcome,) = run(make_evaluator(once(script)), points(1))
    if error is None:
        assert (outcome.y, outcome.error) == (value, None)
    else:
        assert error in outcome.error
        assert not outcome.lost


def test_a_program_that_hangs_is_killed_with_all_that_it_started(run, tools, tmp_path):
    script = f'if [ "$1" = 1.0 ]; then sleep 1000 & echo $! >> {tmp_path}/pids; sleep 1000; fi; echo "$1"'
    evaluator = make_evaluator(once(script, "{x}", "{file}"), workers=2, timeout=1.5, retries=1)
    outcomes = run(evaluator, points(4))
    assert outcomes.pop(1)[1:3] == ("no answer within the timeout of 1.5 s", 2)
    assert [outcome.y for outcome in outcomes] == [0.0, 2.0, 3.0]
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    assert tools.eventually(lambda: not any(tools.alive(pid) for pid in pids))


def test_it_runs_side_by_side_and_elsewhere(run):
    started = time.monotonic()
    outcomes = run(make_evaluator(once('sleep 0.5; echo "$1"'), workers=4), points(4))
    assert [outcome.y for outcome in outcomes] == [0.0, 1.0, 2.0, 3.0]
    assert time.monotonic() - started < 8.0
    outcomes = run(make_evaluator(once('echo "$1"'), workers=map), points(3))
    assert [outcome.y for outcome in outcomes] == [0.0, 1.0, 2.0]


def test_a_program_that_vanishes_is_no_failure_of_its_points(tmp_path):
    program = tmp_path / "simulate"
    program.write_text('#!/bin/sh\necho "$1"\n')
    program.chmod(0o755)
    command = Command(f"{program} {{x}}", once=True)

    def remove(intermediate_result):
        program.unlink(missing_ok=True)

    result = minimize(command, [(-5, 5)], budget=30, callback=remove)
    assert (result.status, result.nit, result.n_failed) == (Status.WORKERS, 1, 0)
    assert "the program could not be started" in result.message


def test_a_whole_run(tmp_path):
    program = tmp_path / "simulate.py"
    program.write_text(
        "import json, sys\nx = [float(v) for v in open(sys.argv[1])]\nprint('mesh of', len(x), 'cells')\n"
        "print(json.dumps({'y': sum((v - 1) ** 2 for v in x)}))\n"
    )
    command = Command([sys.executable, "-I", "-S", str(program), "{file}"], once=True)
    result = minimize(command, [(-5, 5)] * 2, budget=25, store=tmp_path / "run.egl")
    assert (result.nfev, result.n_failed) == (25, 0)
    assert result.fun == pytest.approx(np.sum((result.x - 1) ** 2))
    again = minimize(command, [(-5, 5)] * 2, budget=25, store=tmp_path / "run.egl")
    assert again.fun == result.fun


def test_a_template_without_once_is_refused_with_the_protocol():
    with pytest.raises(ValueError, match="say once=True") as caught:
        Command("./simulate {x}")
    assert json.dumps({"id": 0, "x": [0.5, -1.0]}) in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="once=True"):
        Command(["./simulate", "--in={file}"])


def test_once_without_a_place_for_the_point_is_refused():
    with pytest.raises(ValueError, match=r"has no place for the point: write \{x\} or \{file\}"):
        Command("./simulate", once=True)
    with pytest.raises(ValueError, match="'no-such-program-anywhere' was not found"):
        make_evaluator(Command("no-such-program-anywhere {x}", once=True))


def test_commands_can_be_compared():
    assert Command("a {x}", once=True) == Command(["a", "{x}"], once=True) != Command("a")
