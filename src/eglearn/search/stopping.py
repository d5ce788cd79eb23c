"""When an evolution strategy has nothing more to gain."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from .base import Reason

# Differences below some units of the last place are rounding.
_ROUNDING = 4 * float(np.finfo(float).eps)


def reason_to_stop(
    history: list[float], y: Array, batches: int, per_batch: float, noisy: bool = False
) -> Reason | None:
    """Flat, stagnant, or None: the rules of BIPOP-CMA-ES (Hansen 2009), in terms of rounding.

    ``history`` are the best values of the batches so far, under noise their medians; that of this batch, with the
    finite values ``y``, is added here, and those that do not matter any more are removed. ``per_batch`` is the
    dimension over the points in a batch.
    """
    if noisy:
        low, middle, high = np.quantile(y, [0.25, 0.5, 0.75]).tolist()
        history.append(middle)
        y = np.array([low, high])
    else:
        history.append(float(np.min(y)))
    recent, window = 10 + int(30 * per_batch), int(120 + 0.2 * batches + 30 * per_batch)
    del history[:-window]
    if len(history) > recent:
        late = np.array(history[-recent:])
        if max(np.ptp(y), np.ptp(late)) <= _ROUNDING * float(np.max(np.abs(np.append(y, late)))):
            return Reason.FLAT
    if len(history) >= window and batches % 10 == 0:
        fifth = window // 5
        early, late = np.sort(history[:fifth]), np.sort(history[-fifth:])
        if late[fifth // 2] >= early[fifth // 2]:
            return Reason.STAGNANT
    return None
