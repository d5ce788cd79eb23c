"""What a run that goes on finds in its file."""

from __future__ import annotations

import zlib
from typing import Any

from .. import serialize
from .._typing import Array, State
from ..evaluation.base import Outcome
from .errors import StoreError
from .history import History
from .layout import VALUE_COLUMNS, checkpoint_digest, point_bytes, to_outcome, to_point


class Recall(History):
    """The part of a ``Store`` from which a run goes on."""

    notes: list[str]
    """Sentences for the user: changed versions, damage, and what was done about it."""

    def latest_checkpoint(self) -> tuple[int, State] | None:
        """The newest good checkpoint: the number of its batch, and the state after that batch.

        None if there is none: the run then starts from the beginning with the stored values.
        """
        for (batch,) in self._rows("SELECT batch FROM checkpoints ORDER BY batch DESC"):
            try:
                query = "SELECT digest, state FROM checkpoints WHERE batch = ?"
                digest, state = self._rows(query, (batch,))[0]
                if digest != checkpoint_digest(batch, state):
                    raise ValueError("its checksum is wrong")
                return batch, serialize.loads(state)
            except (StoreError, ValueError, TypeError) as error:
                self.notes.append(
                    f"the checkpoint of batch {batch} in {self.path} cannot be used ({error}): "
                    "the run goes on from an earlier one, or from the beginning with the stored values"
                )
        return None

    def values(self, batch: int) -> dict[int, Outcome]:
        """What has been evaluated in a batch, by row; damaged rows are left out and noted."""
        return {row: outcome for row, (outcome, _, _) in self._found(batch).items()}

    def answers(self, batch: int, x: Array) -> dict[int, tuple[Outcome, Array | None]]:
        """What has been evaluated in a batch, by row, and where.

        Parameters
        ----------
        batch
            The number of the batch.
        x
            The points (m, n) the run asks for now.

        Returns
        -------
        dict
            The outcome and the point: that of ``x`` if it is the same to the last bit, kept or not; else the one that
            was evaluated, or None if it was not kept. There may be rows beyond those of ``x``.
        """
        answers: dict[int, tuple[Outcome, Array | None]] = {}
        for row, (outcome, x_check, raw) in self._found(batch).items():
            same = 0 <= row < len(x) and zlib.crc32(point_bytes(x[row])) == x_check
            answers[row] = outcome, (x[row] if same else to_point(raw, x_check))
        return answers

    def count_from(self, batch: int) -> int:
        """How many evaluations ``Store.set_aside`` would find from that batch on."""
        query = "SELECT count(*) FROM evaluations WHERE batch >= ? OR batch < ?"
        return int(self._rows(query, (int(batch), -1 - int(batch)))[0][0])

    def _found(self, batch: int) -> dict[int, tuple[Outcome, int, Any]]:
        found = {}
        for *columns, raw in self._rows(f"SELECT {VALUE_COLUMNS}, x FROM evaluations WHERE batch = ?", (int(batch),)):
            row, x_check, outcome = columns[1], columns[8], to_outcome(columns)
            if outcome is None:
                self.notes.append(f"row {row} of batch {batch} in {self.path} is damaged and evaluated again")
            else:
                found[row] = outcome, x_check, raw
        return found
