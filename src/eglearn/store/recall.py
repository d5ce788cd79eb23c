"""What a run that goes on finds in its file."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from .. import serialize
from .._typing import Array, State
from ..evaluation.base import Outcome
from .errors import StoreError
from .history import History
from .layout import ASKED, VALUE_COLUMNS, checkpoint_digest, point_bytes, to_outcome, to_point


class Recall(History):
    """The part of a ``Store`` from which a run goes on."""

    notes: list[str]
    """Sentences for the user: changed versions, damage, and what was done about it."""

    def latest_checkpoint(self) -> tuple[int, State] | None:
        """The newest good checkpoint: how many answers had been told, and the state then.

        None if there is none: the run then starts from the beginning with the stored values.
        """
        for (told,) in self._rows("SELECT told FROM checkpoints ORDER BY told DESC"):
            try:
                digest, state = self._rows("SELECT digest, state FROM checkpoints WHERE told = ?", (told,))[0]
                if digest != checkpoint_digest(told, state):
                    raise ValueError("its checksum is wrong")
                return told, serialize.loads(state)
            except (StoreError, ValueError, TypeError) as error:
                self.notes.append(
                    f"the checkpoint after {told} answers in {self.path} cannot be used ({error}): "
                    "the run goes on from an earlier one, or from the beginning with the stored values"
                )
        return None

    def answers(self, points: Mapping[int, Array]) -> dict[int, tuple[int, Outcome, Array | None]]:
        """What has been evaluated of the points that the run asks for now.

        Parameters
        ----------
        points
            The points (n,) by their index; damaged rows are left out and noted.

        Returns
        -------
        dict
            By index: the order of arrival, the outcome and the place: that of ``points`` if it is the same to the last
            bit, kept or not; else where it was evaluated, or None if that was not kept.
        """
        answers: dict[int, tuple[int, Outcome, Array | None]] = {}
        if not points:
            return answers
        for order, *columns, raw in self._found(
            f'aside = {ASKED} AND "index" BETWEEN ? AND ?', min(points), max(points)
        ):
            index, x_check, outcome = columns[1], columns[8], to_outcome(columns)
            if index not in points:
                continue
            if outcome is None:
                self.notes.append(f"the evaluation of point {index} in {self.path} is damaged and done again")
                continue
            same = zlib.crc32(point_bytes(points[index])) == x_check
            answers[index] = order, outcome, points[index] if same else to_point(raw, x_check)
        return answers

    def aside(self, first: int, last: int) -> list[tuple[Outcome, Array | None]]:
        """Outcomes and points that were set aside when so many points had been asked for, up to ``last``."""
        found = []
        for _, *columns, raw in self._found("aside BETWEEN ? AND ?", first, last):
            if (outcome := to_outcome(columns)) is not None:
                found.append((outcome, to_point(raw, columns[8])))
        return found

    def last_index(self) -> int:
        """There is no evaluation of a point beyond it, and nothing was set aside after more points; -1 for none."""
        found = self._rows(f'SELECT max(max("index" * (aside = {ASKED})), max(aside)), count(*) FROM evaluations')
        return int(found[0][0]) if found[0][1] else -1

    def unseen(self, asked: int) -> int:
        """How many evaluations there are that belong to the run after it has asked for so many points."""
        query = f'SELECT count(*) FROM evaluations WHERE (aside = {ASKED} AND "index" >= ?) OR aside >= ?'
        return int(self._rows(query, (asked, asked))[0][0])

    def _found(self, where: str, *values: int) -> list[Any]:
        query = f'SELECT id, {VALUE_COLUMNS}, x FROM evaluations WHERE {where} ORDER BY aside, "index"'
        return self._rows(query, tuple(map(int, values)))
