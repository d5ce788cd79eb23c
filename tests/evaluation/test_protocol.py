"""What programs may print beside their answer: never is it taken for a value in silence."""

import json
import math
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.batches import evaluate

from eglearn import Status, minimize
from eglearn.evaluation import Command, ObjectiveError, make_evaluator
from eglearn.evaluation.answer import parse

LONGEST_LINE = 1 << 20

READ = 'while (<STDIN>) { my ($id) = /"id": (\\d+)/; my ($x) = /"x": \\[(.*)\\]/; my @x = split /, /, $x; '
ANSWER = 'printf "{\\"id\\": $id, \\"y\\": %.17g}\\n", 2.36 + $x[0] ** 2;'
PAUSE = "select(undef, undef, undef, 0.05);"


def perl(body):
    return Command(["perl", "-e", f"$| = 1; {READ} {body} }}"])


def points(count):
    return np.arange(float(count))[:, None]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f'print "0\\n"; {ANSWER}', "more than one line for a point, '0' and '{"),
        (f'print "0\\n"; {PAUSE} {ANSWER}', "more than one line for a point, '0' and '{"),
        (f'print "0\\n" if $id; {PAUSE} {ANSWER}', "'0' without the id that it has named before"),
        (f'if ($id) {{ print "{{\\"y\\": 0}}\\n"; {PAUSE} }} {ANSWER}', "without the id that it has named before"),
    ],
)
def test_a_stray_number_is_no_value(body, reason, run):
    outcomes = run(make_evaluator(perl(body)), points(3))
    values = [outcome.y for outcome in outcomes if outcome.error is None]
    assert values == ([2.36] if "if ($id)" in body or "if $id" in body else [])
    assert all(reason in outcome.error for outcome in outcomes if outcome.error is not None)


def test_talk_after_an_answer_that_names_its_point_is_never_a_value(run):
    for row, outcome in enumerate(run(make_evaluator(perl(f'{ANSWER} print "0\\n";')), points(6))):
        if outcome.error is None:
            assert outcome.y == 2.36 + row**2
        else:  # it came with the answer, or after the next question
            assert "more than one line" in outcome.error or "'0' without the id" in outcome.error


def test_a_stray_number_is_not_the_optimum():
    result = minimize(perl(f'print "0\\n" if $id % 7 == 3; {PAUSE} {ANSWER}'), [(-5, 5)], [1.0], budget=40)
    assert result.fun >= 2.36
    assert result.n_failed > 0


@pytest.mark.parametrize("pause", [0.02, 0.6])
def test_a_line_that_comes_later_than_its_value_is_not_the_value_of_the_next_point(pause, run):
    late = f'if ($id == 1) {{ select(undef, undef, undef, {pause}); print "0\\n" }}'
    body = f"{ANSWER} {late} select(undef, undef, undef, 0.1);"
    outcomes = run(make_evaluator(perl(body), retries=1), points(5))
    assert [outcome.y for outcome in outcomes] == [2.36 + row**2 for row in range(5)]


@pytest.mark.parametrize("first", ["0", '{\\"id\\": $id, \\"y\\": 0}'])
def test_a_number_that_was_believed_and_then_contradicted_ends_the_run(first):
    body = f'print "{first}\\n"; select(undef, undef, undef, 0.7); {ANSWER}'  # longer than anybody waits
    evaluator = make_evaluator(perl(body))
    try:
        with pytest.raises(ObjectiveError, match=r"taken for the value of point 0, and later answered it again"):
            list(evaluate(evaluator, points(4)))
    finally:
        evaluator.close()


def test_a_point_that_is_tried_again_may_be_answered_again(run):
    body = 'print $tried{$id}++ ? "{\\"id\\": $id, \\"y\\": 7}\\n" : "{\\"id\\": $id, \\"error\\": \\"busy\\"}\\n"'
    outcomes = run(make_evaluator(perl(body), retries=1), points(3))
    assert [(outcome.y, outcome.attempts) for outcome in outcomes] == [(7.0, 2)] * 3


def test_talk_between_two_points_is_told_of_once(run, caplog):
    body = f'{ANSWER} select(undef, undef, undef, 0.02); print "bye\\n";'
    evaluator = make_evaluator(perl(body))
    for _ in range(3):
        run(evaluator, points(1), close=False)
        time.sleep(0.1)
    evaluator.close()
    (message,) = caplog.messages
    assert message.startswith("the program wrote 'bye' when nothing was asked, and is started anew")


@pytest.mark.parametrize("zeros", [LONGEST_LINE - 1, LONGEST_LINE + 1, 3 * LONGEST_LINE])
@pytest.mark.parametrize("end", ["", "\\n"])
def test_a_line_over_the_limit_is_no_value(zeros, end, run):
    """float() would read it as 0."""
    program = f"$| = 1; <STDIN>; print '0' x {zeros}, \"{end}\"; sleep 1"
    (outcome,) = run(make_evaluator(Command(["perl", "-e", program]), timeout=20), points(1))
    if zeros > LONGEST_LINE:
        assert "a line of more than 1048576 bytes" in outcome.error
    elif end:
        assert outcome.y == 0.0
    else:
        assert math.isnan(outcome.y)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'{"y": ' * 20_000 + b"1" + b"}" * 20_000, "nested too deeply"),
        (b'{"y": 1, "seconds": 1e400}', 'its "seconds" is no number'),
        (b'{"y": 1, "seconds": 1' + b"0" * 400 + b"}", 'its "seconds" is no number'),
        (b'{"y": 1, "seconds": -1}', 'its "seconds" is no number'),
        (b'{"y": 1, "seconds": "long"}', 'its "seconds" is no number'),
        (b'{"y": 1' + b"0" * 400 + b"}", "beyond the largest float"),
        (b"1" * 5000, "returned inf"),
        (b"1_0", "not a JSON line"),
        (b"1\x00", "not a JSON line"),
        (b'{"error": "' + b"x" * 100_000 + b'"}', "x ... x"),
    ],
)
def test_answers_that_python_chokes_on_fail_their_point(answer, reason, run, tmp_path):
    file = tmp_path / "answer"
    file.write_bytes(answer + b"\n")
    (outcome,) = run(make_evaluator(Command(["cat", str(file)])), points(1))
    assert reason.replace("its ", "the program's ") in outcome.error
    assert math.isnan(outcome.y)
    assert len(outcome.error) <= 2000


def numbers():
    return st.floats() | st.integers() | st.integers(min_value=10**400, max_value=10**401)


json_values = st.recursive(
    st.none() | st.booleans() | numbers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["y", "id", "error", "seconds"]), inner)
    ),
    max_leaves=8,
)
lines = (
    st.binary(max_size=60)
    | json_values.map(lambda value: json.dumps(value).encode())
    | numbers().map(lambda number: str(number).encode())
    | st.text(alphabet="0123456789.eE+-_ naifNI\t", max_size=12).map(str.encode)
).map(lambda line: line.replace(b"\n", b" "))


@given(line=lines)
@settings(max_examples=500, deadline=None)
def test_any_line_is_a_finite_value_or_a_short_reason(line):
    answer = parse(line, 0)
    assert (answer.error is None) == math.isfinite(answer.y)
    assert answer.error is None or 0 < len(answer.error) <= 2000
    assert answer.seconds is None or 0 <= answer.seconds < math.inf
    if answer.error is None and answer.id is not None:
        assert answer.id == 0


@given(printed=st.lists(lines | st.just(b'{"id": 0, "y": 2}') | st.just(b"7"), max_size=3))
@example(printed=[b"0", b'{"id": 0, "y": 2}'])
@example(printed=[b'{"id": 0, "y": 2}', b"0"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_program_prints_a_value_is_the_only_line(printed, tmp_path_factory):
    file = tmp_path_factory.getbasetemp() / "printed"
    file.write_bytes(b"".join(line + b"\n" for line in printed))
    evaluator = make_evaluator(Command(["cat", str(file)]))
    ((row, outcome),) = evaluate(evaluator, points(1))
    evaluator.close()
    assert row == 0
    if len(printed) == 1:
        assert outcome.error == parse(printed[0], 0).error
    else:
        assert outcome.error is not None
    assert (outcome.error is None) == math.isfinite(outcome.y)


def test_a_program_that_never_answers_properly_ends_as_failed():
    result = minimize(perl(f'print "0\\n"; {ANSWER}'), [(-5, 5)] * 2, budget=400)
    assert result.status is Status.ALL_FAILED
    assert "more than one line" in result.message
