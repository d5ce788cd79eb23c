"""External programs as objectives, in Perl and in the shell."""

import math
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from eglearn.evaluation import Command, make_evaluator

READ = 'while (<STDIN>) { my ($id) = /"id": (\\d+)/; my ($x) = /"x": \\[(.*)\\]/; my @x = split /, /, $x; '


def perl(body, before=""):
    """A Perl program that runs ``body`` for each point, with the number in $id and the coordinates in @x."""
    return Command(["perl", "-e", f"$| = 1; {before} {READ} {body} }}"])


def points(count):
    return np.arange(float(count))[:, None]


@pytest.mark.parametrize("workers", [1, 3])
def test_numbers_reach_a_perl_program_exactly_and_come_back_exactly(workers, run):
    x = np.random.default_rng(0).normal(size=(40, 3)) * 10.0 ** np.array([-300, 0, 300])
    x[0] = [5e-324, 1.7976931348623157e308, -0.0]
    # Written back digit by digit as they came: any digit lost on the way would show.
    evaluator = make_evaluator(perl('print "{\\"id\\": $id, \\"y\\": $x[$id % 3]}\\n"'), workers=workers)
    outcomes = run(evaluator, x)
    assert [outcome.y for outcome in outcomes] == [x[row, row % 3] for row in range(40)]
    assert {(outcome.attempts, outcome.error) for outcome in outcomes} == {(1, None)}
    assert {outcome.worker for outcome in outcomes} <= {f"program {seat}" for seat in range(workers)}


def test_a_shell_program_with_bare_numbers_is_kept_alive_between_batches(run):
    script = 'n=0; while read -r line; do n=$((n + 1)); echo "$n"; done'
    evaluator = make_evaluator(Command(["sh", "-c", script]))
    assert [outcome.y for outcome in run(evaluator, points(3), close=False)] == [1.0, 2.0, 3.0]
    assert [outcome.y for outcome in run(evaluator, points(2))] == [4.0, 5.0]


def test_a_command_line_is_split_into_words_without_a_shell(run, tmp_path):
    program = tmp_path / "my program.sh"
    program.write_text('#!/bin/sh\nwhile read -r line; do echo "$2"; done\n')
    program.chmod(0o755)
    outcomes = run(make_evaluator(Command(f"'{program}' --mesh 1.5 '$HOME'")), points(1))
    assert outcomes[0].y == 1.5


@pytest.mark.parametrize("workers", [1, 3])
def test_a_program_that_dies_at_random(workers, run):
    body = 'if (rand() < 0.3) { kill "KILL", $$ } if (rand() < 0.3) { exit 3 } print $x[0] ** 2, "\\n"'
    outcomes = run(make_evaluator(perl(body), workers=workers, retries=60), points(40))
    assert [outcome.y for outcome in outcomes] == [row**2 for row in range(40)]
    assert max(outcome.attempts for outcome in outcomes) > 1


def test_a_program_that_dies_each_time_at_one_point(run, tmp_path):
    log = tmp_path / "log"
    body = f"""open(my $log, ">>", "{log}"); print $log "$id\\n"; close $log;
        if ($id == 4) {{ print STDERR "mesh broken\\nat cell 7\\n"; exit 5 }} print "$x[0]\\n";"""
    outcomes = run(make_evaluator(perl(body), workers=2, retries=2), points(10))
    poison = outcomes.pop(4)
    assert poison.error == "the program ended with exit code 5; its last message was 'at cell 7'"
    assert poison.attempts == 3
    assert math.isnan(poison.y)
    assert {(outcome.error, outcome.attempts) for outcome in outcomes} == {(None, 1)}
    assert sorted(map(int, log.read_text().split())) == [0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 9]


def test_a_program_that_hangs_is_killed_with_all_that_it_started(run, tools, tmp_path):
    # The helper has the standard output of the program and ignores polite signals.
    helper = f"""if ($id == 1) {{ if (my $child = fork) {{ open(my $f, ">>", "{tmp_path}/pids"); print $f "$child\\n";
        close $f; print STDERR "waiting\\n"; }} $SIG{{TERM}} = $SIG{{HUP}} = "IGNORE"; sleep 1 while 1; }}"""
    evaluator = make_evaluator(perl(helper + 'print "$x[0]\\n"'), workers=2, timeout=1.0, retries=1)
    started = time.monotonic()
    outcomes = run(evaluator, points(6))
    assert time.monotonic() - started < 20.0
    assert outcomes[1].error == "no answer within the timeout of 1 s; its last message was 'waiting'"
    assert outcomes[1].attempts == 2
    assert [outcomes[row].y for row in (0, 2, 3, 4, 5)] == [0, 2, 3, 4, 5]
    helpers = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(helpers) == 2
    assert tools.eventually(lambda: not any(tools.alive(pid) for pid in helpers))


def test_a_program_that_does_not_read_its_input_is_stopped_in_time_also_for_a_long_point(run):
    (outcome,) = run(make_evaluator(Command("sleep 1000"), timeout=0.3), np.ones((1, 100_000)))
    assert outcome.error == "no answer within the timeout of 0.3 s"


@pytest.mark.parametrize("workers", [1, 3])
def test_a_program_that_ends_after_each_answer_is_started_again_without_charge(workers, run):
    body = 'print "$x[0]\\n"; exit 0'
    outcomes = run(make_evaluator(perl(body), workers=workers), points(12))
    assert [(outcome.y, outcome.attempts) for outcome in outcomes] == [(row, 1) for row in range(12)]


def test_a_program_that_ends_without_an_answer_is_not_started_for_ever(run):
    outcomes = run(make_evaluator(Command("true"), workers=2, retries=1), points(4))
    assert {outcome.error for outcome in outcomes} == {"the program ended with exit code 0 and no answer"}
    assert [outcome.attempts for outcome in outcomes] == [2] * 4


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ('{"error": "no\\n  convergence"}', "no convergence"),
        ('{"id": 0, "error": "no convergence", "y": 1}', "no convergence"),
        ('{"y": "1.5"}', "the objective returned '1.5' (str), not a number"),
        ('{"y": null}', "the objective returned None (NoneType), not a number"),
        ('{"value": 1.5}', 'the program\'s answer has neither "y" nor "error"'),
        ("nan", "the objective returned nan"),
        ("-inf", "the objective returned -inf"),
        ("1e999", "the objective returned inf"),
        ("Simulator 3.1", "answered 'Simulator 3.1', not a JSON line: messages belong on its standard error"),
        ("", "answered '', not a JSON line"),
        ('{"id": 17, "y": 1}', "the program answered number 17 when asked for number 0"),
        ("\xff\xfe", "not a JSON line"),
    ],
)
def test_answers_that_are_no_values(answer, error, run, tmp_path):
    line = tmp_path / "answer"
    line.write_text(answer.replace("\n", "\\n") + "\n", encoding="latin-1")
    script = f"while read -r line; do cat {line}; done"
    outcomes = run(make_evaluator(Command(["sh", "-c", script])), points(1))
    assert error in outcomes[0].error
    assert math.isnan(outcomes[0].y)


@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_a_program_out_of_step_is_started_anew_rather_than_believed(pause, run):
    # It says one line too much; the line after that must not be taken for the value of the next point.
    body = f"""if ($id == 1) {{ print "hello\\n"; select(undef, undef, undef, {pause}); }} print "$x[0]\\n";
        select(undef, undef, undef, 0.1);"""
    outcomes = run(make_evaluator(perl(body)), points(5))
    assert [outcome.y for outcome in outcomes if outcome.error is None] == [0, 2, 3, 4]
    assert "answered 'hello'" in outcomes[1].error


def test_endless_output_without_a_line_end_is_no_answer(run):
    (outcome,) = run(make_evaluator(Command(["perl", "-e", "$| = 1; print 'x' x 9999 while 1"])), points(1))
    assert "not a JSON line" in outcome.error


def test_much_output_on_standard_error_blocks_nothing(run):
    body = 'print STDERR "progress " x 100_000, "\\n"; print "$x[0]\\n"'
    outcomes = run(make_evaluator(perl(body), workers=2), points(6))
    assert [outcome.y for outcome in outcomes] == list(range(6))


def test_a_program_that_vanishes_fails_points_with_the_reason(run, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nread -r line; echo 1; exit 0\n")
    program.chmod(0o755)
    evaluator = make_evaluator(Command([str(program)]))
    assert run(evaluator, points(1), close=False)[0].y == 1.0
    program.unlink()
    outcomes = run(evaluator, points(2))
    assert all("could not be started" in outcome.error and outcome.lost for outcome in outcomes)


def test_ids_are_the_indices_of_points_and_stay_the_same_for_retries():
    body = 'if (!$seen{$id}++ && $id % 2) { print "{\\"error\\": \\"once\\"}\\n" } else { print "$id\\n" }'
    evaluator = make_evaluator(perl(body), retries=1)
    for index in (0, 1, 7, 12):
        evaluator.submit(index, np.zeros(1))
    outcomes = {}
    while arrived := evaluator.wait():
        outcomes |= arrived
    evaluator.close()
    assert {index: (outcome.y, outcome.attempts) for index, outcome in outcomes.items()} == {
        0: (0.0, 1), 1: (1.0, 2), 7: (7.0, 2), 12: (12.0, 1),
    }  # fmt: skip


def test_the_threads_of_an_executor_own_one_program_each_until_close(run, tools):
    body = 'if ($x[0] == 3) { sleep 1 while 1 } print "$$\\n"'
    before = tools.children()
    with ThreadPoolExecutor(2) as threads:
        evaluator = make_evaluator(perl(body), workers=threads, timeout=1.0)
        outcomes = run(evaluator, points(8), close=False)
        assert outcomes.pop(3).error == "no answer within the timeout of 1 s"
        assert len(tools.children() - before) <= 2
        assert len({outcome.y for outcome in outcomes}) <= 3
        evaluator.close()
        assert tools.children() == before
        assert threads.submit(os.getpid).result() == os.getpid()  # the executor is left alone


@pytest.mark.parametrize("command", ["", [], "'unfinished", "no-such-program-anywhere --fast"])
def test_commands_that_cannot_work_are_refused_at_once(command):
    with pytest.raises(ValueError, match=r"command is empty|cannot be split|'no-such-program-anywhere'"):
        make_evaluator(Command(command))


@pytest.mark.parametrize("workers", ["1", "ThreadPoolExecutor(2)"])
def test_a_program_that_stays_after_its_input_has_ended_is_stopped_when_this_process_ends(workers, tools, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"""
import builtins, numpy as np
from concurrent.futures import ThreadPoolExecutor
from eglearn.evaluation import Command, make_evaluator
stays = "while read -r line; do echo $$; done; sleep 1000"
builtins.kept = make_evaluator(Command(["sh", "-c", stays]), workers={workers})  # not freed before the end
kept.submit(0, np.zeros(1))
print(kept.wait()[0][1].y)
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=30, check=True)
    assert done.stderr == ""
    assert not tools.alive(int(float(done.stdout)))


def test_waiting_for_a_program_that_closed_its_standard_error_costs_no_time(run):
    evaluator = make_evaluator(Command(["sh", "-c", "exec 2>&-; read -r line; sleep 0.5; echo 1"]))
    before = time.process_time()
    (outcome,) = run(evaluator, points(1))
    assert outcome.y == 1.0
    assert time.process_time() - before < 0.2


def test_a_program_that_does_not_flush_is_told_of_once(run, monkeypatch, caplog):
    monkeypatch.setattr("eglearn.evaluation.pool.SILENCE", 0.2)
    outcomes = run(make_evaluator(Command(["perl", "-e", 'print "1\\n" while <STDIN>']), timeout=1.5), points(2))
    assert {outcome.error for outcome in outcomes} == {"no answer within the timeout of 1.5 s"}
    (message,) = caplog.messages
    assert message.startswith("the program has not answered for 0.2 s")
    assert "flush its output after each line" in message


def test_a_program_that_has_answered_may_be_slow(run, monkeypatch, caplog):
    monkeypatch.setattr("eglearn.evaluation.pool.SILENCE", 0.3)
    outcomes = run(make_evaluator(perl('sleep 1 if $id; print "$x[0]\n"', before="$start = 1;")), points(2))
    assert [outcome.y for outcome in outcomes] == [0.0, 1.0]
    assert caplog.messages == []
