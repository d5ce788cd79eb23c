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
from collections.abc import Iterator

from .._typing import Array
from .answer import parse
from .base import Outcome
from .program import Program, Recipe

HEARTBEAT = 0.5  # seconds; a death is noticed after this even if a grandchild keeps the pipe open
CLOSING = 2.0  # seconds that idle programs get to end by themselves
START_LIMIT = 60.0  # seconds to load the objective, on top of the timeout, where there is one
SILENCE = 10.0  # seconds without a first answer after which the user is told; many programs do not flush
START_TRIES = 3  # starts that may fail one after the other before the points are given up

_LOG = logging.getLogger("eglearn")

Outcomes = Iterator[tuple[int, Outcome]]


class Seat:
    """A place for one program, with the row of the point that it has in hand."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.program: Program | None = None
        self.ready = False
        self.row: int | None = None
        self.begun = False  # whether it has said that it began with the point
        self.since = 0.0  # when the program was started, was given the point, or began
        self.answered = 0

    def seat(self, program: Program, ready: bool) -> None:
        """Take in a new program."""
        self.program, self.ready, self.row, self.answered = program, ready, None, 0
        self.since = time.monotonic()

    def clear(self, grace: float = 0.0) -> None:
        """Stop the program, if there is one."""
        if self.program is not None:
            self.program.stop(grace)
        self.program, self.ready, self.row = None, False, None


class Batch:
    """The points of one call: which wait, and how often each was tried."""

    def __init__(self, x: Array, first: int, retries: int) -> None:
        self.x, self.first, self.retries = x, first, retries
        self.waiting = deque(range(len(x)))
        self.attempts = [0] * len(x)
        self.open = len(x)

    def close(
        self, row: int, y: float, error: str | None, seconds: float, worker: str, final: bool = False
    ) -> Outcomes:
        """The outcome of a row, unless it failed and may be tried again."""
        if error is not None and not final and self.attempts[row] <= self.retries:
            self.waiting.append(row)
            return
        self.open -= 1
        yield row, Outcome(y, error, self.attempts[row], seconds, worker)


class Pool:
    """Runs up to ``count`` programs of one kind; they start when they are first needed."""

    def __init__(self, recipe: Recipe, count: int, timeout: float | None = None, retries: int = 0) -> None:
        self.recipe, self.timeout, self.retries = recipe, timeout, retries
        self._seats = [Seat(f"{recipe.noun} {number}") for number in range(count)]
        self._numbered = 0  # points seen so far: each gets a number that no other point of this pool has
        self._failed_starts = 0
        self._may_be_mute = not recipe.announces  # until the first answer, or until the user was told

    def evaluate(self, x: Array) -> Outcomes:
        """Yield outcomes in the order in which they finish."""
        batch = Batch(x, self._numbered, self.retries)
        self._numbered += len(x)
        self._failed_starts = 0
        try:
            while True:
                for seat in self._seats:
                    if seat.program is not None:
                        yield from self._collect(seat, seat.program, batch)
                yield from self._hand_out(batch)
                if not batch.open:
                    return
                self._wait()
        finally:  # the caller may have left early: nobody waits for these points any more
            for seat in self._seats:
                if seat.row is not None:
                    seat.clear()

    def close(self) -> None:
        """Stop the programs; a later call to ``evaluate`` would start them again."""
        for seat in self._seats:
            if seat.program is not None and seat.ready:
                seat.program.hang_up()  # all at once, so that they end side by side
        until = time.monotonic() + CLOSING
        for seat in self._seats:
            seat.clear(max(0.0, until - time.monotonic()) if seat.ready and seat.row is None else 0.0)

    def _hand_out(self, batch: Batch) -> Outcomes:
        """Give waiting points to programs that are free, and start programs while points are left over."""
        for seat in self._seats:
            if batch.waiting and seat.ready and seat.row is None:
                self._give(seat, batch, batch.waiting.popleft())
        starting = sum(seat.program is not None and not seat.ready for seat in self._seats)
        for seat in self._seats:
            if seat.program is None and starting < len(batch.waiting) and not self._few_will_do():
                try:
                    seat.seat(self.recipe.start(), ready=not self.recipe.announces)
                except OSError as error:
                    yield from self._start_failed(f"could not be started ({error})", batch)
                    return  # wait a moment before the next try
                if seat.ready:
                    self._failed_starts = 0
                    self._give(seat, batch, batch.waiting.popleft())
                else:
                    starting += 1

    def _give(self, seat: Seat, batch: Batch, row: int) -> None:
        assert seat.program is not None
        batch.attempts[row] += 1
        seat.row, seat.begun, seat.since = row, False, time.monotonic()
        seat.program.send(self.recipe.question(batch.first + row, batch.x[row]))

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
        if self.timeout is None or (seat.ready and seat.row is None):
            return math.inf
        return seat.since + self.timeout + (0.0 if seat.ready else START_LIMIT)

    def _collect(self, seat: Seat, program: Program, batch: Batch) -> Outcomes:
        """Hear what a program has to say, and judge it if it is silent for too long."""
        lines, ended = program.listen()
        now = time.monotonic()
        if lines and not seat.ready:
            seat.ready = True
            lines = lines[1:]
        if lines and seat.row is not None and self.recipe.announces and not seat.begun:
            seat.begun, seat.since = True, now
            lines = lines[1:]
            if not seat.answered:
                self._failed_starts = 0  # a new program works
        if lines and seat.row is None:
            seat.clear()  # it speaks without being asked: its next answer could be meant for another point
        elif lines and seat.row is not None:
            row, seconds = seat.row, now - seat.since
            answer = parse(lines[0], batch.first + row)
            self._may_be_mute = False
            seat.row, seat.answered = None, seat.answered + 1
            if ended or len(lines) > 1 or not answer.understood:
                seat.clear()
            yield from batch.close(row, answer.y, answer.error, answer.seconds or seconds, seat.name)
        elif ended:
            yield from self._ended(seat, program, batch)
        elif now > self._deadline(seat):
            yield from self._too_slow(seat, program, batch)
        elif self._may_be_mute and now > seat.since + SILENCE:
            self._may_be_mute = False
            hint = "if it is not just slow, make it flush its output after each line"
            _LOG.warning("the program has not answered for %g s: %s", SILENCE, hint)

    def _ended(self, seat: Seat, program: Program, batch: Batch) -> Outcomes:
        row, ready, seconds = seat.row, seat.ready, time.monotonic() - seat.since
        seat.clear(grace=0.5)  # a moment, so that the exit code is its own and not that of our kill
        innocent = row is not None and self._innocent(seat, program)
        if row is not None and innocent:
            batch.attempts[row] -= 1
            batch.waiting.appendleft(row)
        if not ready or (innocent and self.recipe.announces):
            yield from self._start_failed(f"{program.epitaph()} before it began", batch)
        elif row is not None and not innocent:
            error = f"the {self.recipe.noun} {program.epitaph()}"
            yield from batch.close(row, math.nan, error, seconds, seat.name)

    def _innocent(self, seat: Seat, program: Program) -> bool:
        """Whether a program that ended with a point in hand had not begun with it.

        One that announces says so. Of an external program we know it only if it has left in good order or
        without reading, as one may do that answers once and ends; but each must answer before it may leave.
        """
        if self.recipe.announces:
            return not seat.begun
        return seat.answered > 0 and (program.left or program.refused)

    def _too_slow(self, seat: Seat, program: Program, batch: Batch) -> Outcomes:
        row, seconds = seat.row, time.monotonic() - seat.since
        seat.clear()
        if row is None:
            yield from self._start_failed(f"was not ready after {seconds:.3g} s", batch)
        else:
            error = f"no answer within the timeout of {self.timeout:g} s{program.last_message()}"
            yield from batch.close(row, math.nan, error, seconds, seat.name)

    def _few_will_do(self) -> bool:
        """Whether no more programs shall be started because starts fail, while there still are some."""
        return self._failed_starts >= START_TRIES and any(seat.program is not None for seat in self._seats)

    def _start_failed(self, how: str, batch: Batch) -> Outcomes:
        """Give up what waits when start after start has failed and no program runs that could take it."""
        self._failed_starts += 1
        if self._failed_starts < START_TRIES or self._few_will_do():
            return
        rows = list(batch.waiting)
        batch.waiting.clear()
        for row in rows:
            error = f"the {self.recipe.noun} {how}, {START_TRIES} times in a row"
            yield from batch.close(row, math.nan, error, 0.0, "", final=True)
