"""The figures of README and guide that come from runs of the default: their example, and the same made harder."""

from __future__ import annotations

import numpy as np

from eglearn import minimize

N = 20


def bowl(depth: float, turn: np.ndarray | None):
    """The example, with ripples ``depth`` times as deep, and turned."""

    def fun(x: np.ndarray) -> float:
        z = x - 2 if turn is None else turn @ (x - 2)
        return float(np.sum(z**2 + depth * (1 - np.cos(2 * np.pi * z))))

    return fun


def main() -> None:
    """Print a line a case."""
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((N, N)))[0]
    for text, fun, budget, seeds in (
        ("the example", bowl(1, None), 6_000, range(20)),
        ("rotated", bowl(1, turn), 6_000, range(10)),
        ("rotated", bowl(1, turn), 60_000, range(10)),
        ("rotated, ripples three times as deep", bowl(3, turn), 6_000, range(10)),
        ("rotated, ripples three times as deep", bowl(3, turn), 60_000, range(10)),
    ):
        ends = [minimize(fun, [(-5, 5)] * N, budget=budget, seed=seed).fun for seed in seeds]
        print(f"{text}, {budget} evaluations: {' '.join(f'{y:.1e}' for y in sorted(ends))}", flush=True)


if __name__ == "__main__":
    main()
