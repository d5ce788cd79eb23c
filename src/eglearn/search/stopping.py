"""When an adaptation has nothing more to gain."""

from __future__ import annotations

import numpy as np

from .._typing import Array

_EPS = float(np.finfo(float).eps)


def reason_to_stop(history: list[float], y: Array, batches: int, per_batch: float, noisy: bool = False) -> str | None:
    """Flat, stagnant, or None: the rules of BIPOP-CMA-ES (Hansen 2009), in terms of rounding.

    Parameters
    ----------
    history : list of float
        The best values of the batches so far, under noise their medians. That of this batch is added here, and those
        that do not matter any more are removed.
    y : (k,)
        Finite values of this batch.
    batches : int
        How many there were.
    per_batch : float
        Dimension over points in a batch.
    noisy : bool
        Whether extreme values are luck.
    """
    if noisy:
        low, middle, high = (4 * np.quantile(y * 0.25, [0.25, 0.5, 0.75])).tolist()  # differences may overflow
        history.append(middle)
        y = np.array([low, high])
    else:
        history.append(float(np.min(y)))
    recent, window = 10 + int(30 * per_batch), int(120 + 0.2 * batches + 30 * per_batch)
    del history[:-window]
    if len(history) > recent:
        late = np.array(history[-recent:])
        if max(_quarter_spread(y), _quarter_spread(late)) <= _EPS * float(np.max(np.abs(np.append(y, late)))):
            return "flat"
    if len(history) >= window and batches % 10 == 0:
        fifth = window // 5
        early, late = np.sort(history[:fifth]), np.sort(history[-fifth:])
        if late[fifth // 2] >= early[fifth // 2]:
            return "stagnant"
    return None


def _quarter_spread(y: Array) -> float:
    """A quarter of max - min, which itself may overflow."""
    return float(np.max(y) * 0.25 - np.min(y) * 0.25)
