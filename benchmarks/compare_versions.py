"""The optimiser's CPU per evaluation, of this checkout against another one: ratios from one run.

    python benchmarks/compare_versions.py PATH_TO_ANOTHER_CHECKOUT

Both versions minimise the same function with the same budget, in processes of one thread that take turns, so that what
else the machine does meets both. What is counted is processor time in ``ask`` and ``tell``; the least of the rounds
counts, since noise only adds. Ends with exit code 1 if a ratio is above the bar.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

BAR = 1.05
BUDGETS = {2: 6000, 10: 8000, 40: 12000, 200: 12000, 784: 12000}
ROUNDS = 5
HERE = Path(__file__).resolve().parents[1]

WORK = """
import sys, time
import numpy as np
from eglearn import AutoEGL
n, budget = int(sys.argv[1]), int(sys.argv[2])
turn = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0] if n <= 200 else np.eye(n)
def f(X):
    Z = (X - 1) @ turn
    return np.sum(Z**2 * np.logspace(0, 3, n), axis=1) + np.sum(1 - np.cos(3 * Z), axis=1)
opt, spent = AutoEGL([(-5, 5)] * n, budget=budget, seed=1), 0.0
while not opt.stop():
    begun = time.process_time()
    X = opt.ask()
    spent += time.process_time() - begun
    y = f(X)
    begun = time.process_time()
    opt.tell(X, y)
    spent += time.process_time() - begun
print(spent / budget)
"""


def seconds(checkout: Path, n: int) -> float:
    """Of one evaluation."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(checkout / "src"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    words = [sys.executable, "-c", WORK, str(n), str(BUDGETS[n])]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main(other: Path) -> int:
    worst = 0.0
    print(f"{'n':>4} {'other, us':>10} {'here, us':>10} {'ratio':>6}")
    for n in BUDGETS:
        times: dict[Path, list[float]] = {other: [], HERE: []}
        for _ in range(ROUNDS):
            for checkout in times:
                times[checkout].append(seconds(checkout, n))
        before, now = min(times[other]), min(times[HERE])
        worst = max(worst, now / before)
        print(f"{n:>4} {1e6 * before:>10.1f} {1e6 * now:>10.1f} {now / before:>6.2f}", flush=True)
    return int(worst > BAR)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
