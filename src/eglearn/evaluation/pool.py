"""Evaluation in a fixed number of child processes, each with at most one point in hand.

Why this is not a pool of the standard library, of multiprocessing or of loky: there, one killed worker
breaks the whole pool, every point in flight is lost with it, and nobody can say which point did it. Here a
worker holds one point at a time and has its own pipes, so that a death or a hang is charged to exactly that
point, all others go on undisturbed, and only the one process is replaced. Those pools also keep helper
threads and a tracker process alive; here there is one loop in the caller's thread and nothing else.
"""

from __future__ import annotations

import logging
import math
import select
import time
from collections import deque
from typing import Any

from .._typing import Array
from .answer import Answer, nonsense, parse, quoted
from .base import Arrivals, ObjectiveError, Outcome
from .guard import GUARD
from .interrupts import waits
from .program import Program, Recipe

HEARTBEAT = 0.5  # seconds; a death is noticed after this even if a grandchild keeps the pipe open
CLOSING = 2.0  # seconds that idle programs get to end by themselves
START_LIMIT = 60.0  # seconds to load the objective, on top of the timeout, where there is one
SILENCE = 10.0  # seconds without a first answer after which the user is told; many programs do not flush
SETTLING = 0.25  # seconds without a second line after which the first answer of a program without ids is believed
START_TRIES = 3  # starts that may fail one after the other before the points are given up
START_PAUSE = 10.0  # seconds until the next start after these, if other programs work

_LOG = logging.getLogger("eglearn")


class Seat:
    """A place for one program, with the index of the point that it has in hand."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.program: Program | None = None
        self.ready = False
        self.index: int | None = None
        self.begun = False  # whether it has said that it began with the point
        self.since = 0.0  # when the program was started, was given the point, or began
        self.lines: list[bytes] = []  # what it has written for the point
        self.heard = 0.0  # when it wrote the first of them
        self.answered = 0
        self.last: tuple[int, bytes] | None = None  # the last answer, if it was a value: its number and line

    def seat(self, program: Program, ready: bool) -> None:
        """Take in a new program."""
        self.program, self.ready, self.index, self.answered = program, ready, None, 0
        self.since, self.lines, self.last = time.monotonic(), [], None

    def clear(self, grace: float = 0.0) -> None:
        """Stop the program, if there is one."""
        if self.program is not None:
            self.program.stop(grace)
        self.program, self.ready, self.index = None, False, None


class Point:
    """A point in flight, and how often it was tried."""

    def __init__(self, x: Array) -> None:
        self.x, self.attempts = x, 0


class Pool:
    """Runs up to ``count`` programs of one kind; they start when they are first needed."""

    def __init__(self, recipe: Recipe, count: int, timeout: float | None = None, retries: int = 0) -> None:
        self.recipe, self.timeout, self.retries = recipe, timeout, retries
        self._seats = [Seat(f"{recipe.noun} {number}") for number in range(count)]
        self._points: dict[int, Point] = {}
        self._waiting: deque[int] = deque()
        self._arrived: Arrivals = []
        self._failed_starts = 0
        self._start_at = 0.0  # when the next program may be started, if starts have failed
        self._may_be_mute = not recipe.announces  # until the first answer, or until the user was told
        self._ids = recipe.announces  # whether an answer has named its point: from then on all must
        self._told_of_chatter = False

    @property
    def width(self) -> int:
        """As many as there are programs."""
        return len(self._seats)

    def submit(self, index: int, x: Array) -> None:
        """Give a point to a program that is free, or let it wait for one."""
        self._points[index] = Point(x)
        self._waiting.append(index)
        self._hand_out()

    def wait(self, block: bool = True) -> Arrivals:
        """Hear the programs, give out points, and wait for the first outcome."""
        while True:
            for seat in self._seats:
                if seat.program is not None:
                    self._collect(seat, seat.program)
            self._hand_out()
            self._start_more()
            if self._arrived or not block or not self._points:
                arrived, self._arrived = self._arrived, []
                return arrived
            self._wait()

    def cancel(self) -> None:
        """Forget all points, and stop the programs that are at work on one."""
        self._points.clear()
        self._waiting.clear()
        self._arrived = []
        for seat in self._seats:
            if seat.index is not None:
                seat.clear()

    def close(self) -> None:
        """Stop the programs; a later point would start them again."""
        for seat in self._seats:
            if seat.program is not None and seat.ready:
                seat.program.hang_up()  # all at once, so that they end side by side
        until = time.monotonic() + CLOSING
        for seat in self._seats:
            seat.clear(max(0.0, until - time.monotonic()) if seat.ready and seat.index is None else 0.0)
        GUARD.rest()

    def __del__(self) -> None:  # for a pool that was never closed
        for seat in self._seats:
            seat.clear()
        GUARD.rest()

    def _hand_out(self) -> None:
        """Give waiting points to programs that are free."""
        for seat in self._seats:
            if not self._waiting:
                return
            if seat.program is not None and seat.ready and seat.index is None:
                self._collect(seat, seat.program)  # first, so that no stray line is taken for the answer
                if seat.ready:
                    self._give(seat, self._waiting.popleft())

    def _start_more(self) -> None:
        """Start programs for the points that wait."""
        starting = sum(seat.program is not None and not seat.ready for seat in self._seats)
        for seat in self._seats:
            if seat.program is None and starting < len(self._waiting) and self._may_start():
                try:
                    seat.seat(self.recipe.start(), ready=not self.recipe.announces)
                except OSError as error:
                    self._start_failed(f"could not be started ({error})")
                    return  # wait a moment before the next try
                if seat.ready:
                    self._failed_starts = 0
                    self._give(seat, self._waiting.popleft())
                else:
                    starting += 1

    def _give(self, seat: Seat, index: int) -> None:
        assert seat.program is not None
        point = self._points[index]
        point.attempts += 1
        if seat.last is not None and seat.last[0] == index:
            seat.last = None  # asked again, it may be answered again
        seat.index, seat.begun, seat.since, seat.lines = index, False, time.monotonic(), []
        seat.program.send(self.recipe.question(index, point.x))

    def _finish(self, index: int, answer: Answer, seconds: float, worker: str) -> None:
        """The outcome of a point, unless it failed and may be tried again; who has lost it has tried that already."""
        point = self._points[index]
        if answer.error is not None and not answer.lost and point.attempts <= self.retries:
            self._waiting.append(index)
            return
        took = seconds if answer.seconds is None else answer.seconds
        outcome = Outcome(answer.y, answer.error, point.attempts, took, worker, answer.lost, answer.mistake)
        del self._points[index]
        self._arrived.append((index, outcome))

    @waits
    def _wait(self) -> None:
        """Sleep until a program says something, a time is over or a heartbeat has passed."""
        poller = select.poll()
        until = time.monotonic() + HEARTBEAT
        for seat in self._seats:
            if seat.program is not None:
                readable, writable = seat.program.watched()
                for descriptor in readable:
                    poller.register(descriptor, select.POLLIN)
                for descriptor in writable:
                    poller.register(descriptor, select.POLLOUT)
                until = min(until, self._deadline(seat))
        poller.poll(max(0, math.ceil(1000 * (until - time.monotonic()))))

    def _deadline(self, seat: Seat) -> float:
        if seat.lines:
            return seat.heard + SETTLING
        if self.timeout is None or (seat.ready and seat.index is None):
            return math.inf
        return seat.since + self.timeout + (0.0 if seat.ready else START_LIMIT)

    def _collect(self, seat: Seat, program: Program) -> None:
        """Hear what a program has to say, and judge it if it is silent for too long."""
        lines, ended = program.listen()
        now = time.monotonic()
        if lines and not seat.ready:
            seat.ready = True
            lines = lines[1:]
        if lines and seat.index is not None and self.recipe.announces and not seat.begun:
            seat.begun, seat.since = True, now
            lines = lines[1:]
            if not seat.answered:
                self._failed_starts = 0  # a new program works
        if lines and seat.index is None:
            self._unasked(seat, lines[0])
        elif seat.index is not None and (lines or seat.lines):
            seat.heard = seat.heard if seat.lines else now
            seat.lines += lines
            self._answered(seat, seat.index, ended)
        elif ended:
            self._ended(seat, program)
        elif now > self._deadline(seat):
            self._too_slow(seat, program)
        elif self._may_be_mute and now > seat.since + SILENCE:
            self._may_be_mute = False
            hint = "if it is not just slow, make it flush its output after each line"
            _LOG.warning("the program has not answered for %g s: %s", SILENCE, hint)

    def _answered(self, seat: Seat, index: int, ended: bool) -> None:
        """Judge what a program has written for a point, once it is clear that there is no more to come."""
        line = seat.lines[0]
        answer = parse(line, index, self.recipe.announces)
        self._compare(seat.last, answer.id)
        if answer.understood and len(seat.lines) > 1:
            said = f"{quoted(line)} and {quoted(seat.lines[1])}"
            answer = nonsense(f"the program wrote more than one line for a point, {said}")
        elif answer.understood and answer.id is None:
            if self._ids:
                answer = nonsense(f"the program answered {quoted(line)} without the id that it has named before")
            elif not seat.answered and not ended and time.monotonic() < seat.heard + SETTLING:
                return  # it may be a message, and the answer follows
        self._may_be_mute = False
        self._ids = self._ids or (answer.understood and answer.id is not None)
        seat.last = (index, line) if answer.error is None else None
        seconds = seat.heard - seat.since
        seat.index, seat.lines, seat.answered = None, [], seat.answered + 1
        if ended or not answer.understood:
            seat.clear()
        self._finish(index, answer, seconds, seat.name)

    def _unasked(self, seat: Seat, line: bytes) -> None:
        """A program speaks without being asked: its next answer could be meant for another point."""
        self._compare(seat.last, parse(line, None).id)
        if not self._told_of_chatter:
            self._told_of_chatter = True
            hint = "messages belong on its standard error"
            _LOG.warning("the program wrote %s when nothing was asked, and is started anew: %s", quoted(line), hint)
        seat.clear()

    @staticmethod
    def _compare(last: tuple[int, bytes] | None, named: Any) -> None:
        """Raise if a program answers a point again whose value was handed over already."""
        if last is not None and last[0] == named:
            raise ObjectiveError(
                f"the program wrote {quoted(last[1])}, which was taken for the value of point {named}, and later "
                "answered it again: let it write one line for each point, and begin anew"
            )

    def _ended(self, seat: Seat, program: Program) -> None:
        index, ready, seconds = seat.index, seat.ready, time.monotonic() - seat.since
        seat.clear(grace=0.5)  # a moment, so that the exit code is its own and not that of our kill
        innocent = index is not None and self._innocent(seat, program)
        if index is not None and innocent:
            self._points[index].attempts -= 1
            self._waiting.appendleft(index)
        if not ready or (innocent and self.recipe.announces):
            self._start_failed(f"{program.epitaph()} before it began")
        elif index is not None and not innocent:
            self._finish(index, _failed(f"the {self.recipe.noun} {program.epitaph()}"), seconds, seat.name)

    def _innocent(self, seat: Seat, program: Program) -> bool:
        """Whether a program that ended with a point in hand had not begun with it.

        One that announces says so. Of an external program we know it only if it has left in good order or
        without reading, as one may do that answers once and ends; but each must answer before it may leave.
        """
        if self.recipe.announces:
            return not seat.begun
        return seat.answered > 0 and (program.left or program.refused)

    def _too_slow(self, seat: Seat, program: Program) -> None:
        index, seconds = seat.index, time.monotonic() - seat.since
        seat.clear()
        if index is None:
            self._start_failed(f"was not ready after {seconds:.3g} s")
        else:
            error = f"no answer within the timeout of {self.timeout:g} s{program.last_message()}"
            self._finish(index, _failed(error), seconds, seat.name)

    def _any_program(self) -> bool:
        return any(seat.program is not None for seat in self._seats)

    def _may_start(self) -> bool:
        """Not for a while if starts fail and there still are programs, which will do."""
        return time.monotonic() >= self._start_at or not self._any_program()

    def _start_failed(self, how: str) -> None:
        """Give up what waits when start after start has failed and no program runs that could take it."""
        self._failed_starts += 1
        if self._failed_starts < START_TRIES:
            return
        if self._any_program():
            self._start_at = time.monotonic() + START_PAUSE
            return
        self._failed_starts = 0
        while self._waiting:
            error = f"the {self.recipe.noun} {how}, {START_TRIES} times in a row"
            self._finish(self._waiting.popleft(), _failed(error, lost=True), 0.0, "")


def _failed(error: str, lost: bool = False) -> Answer:
    return Answer(math.nan, error, lost=lost)
