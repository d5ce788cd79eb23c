"""Early sign: how much of the values a field explains at four radii around the start (``eglearn_lab.bench.roughness``).

On bbob in 20-D (instance 1) and on the development half of the suite wild up to 150 variables; 6 n samples per radius.
Roughness is the part of the widest radius's share that is lost at some narrower one. It prints a table and has no bar.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eglearn.learning.samplers import folded
from eglearn_lab.bench.problems import Problem
from eglearn_lab.bench.roughness import explained_share, roughness
from eglearn_lab.bench.wild_runs import HALF, WildObjective, problems_of

RADII = (0.3, 0.1, 0.03, 0.01)


def shares(f: Callable[[np.ndarray], float], centre: np.ndarray, seed: int = 0) -> tuple[list[float], float]:
    """The explained share at each radius, and the largest share of values that tie with another."""
    rng, n, found, ties = np.random.default_rng(seed), len(centre), [], 0.0
    for radius in RADII:
        z = rng.standard_normal((3 * n, n))
        u = folded(centre + radius * np.concatenate([z, -z]))
        y = np.array([f(HALF * x) for x in u])
        found.append(explained_share((u - centre) / radius, y))
        ties = max(ties, 1 - len(np.unique(y)) / len(y))
    return found, ties


def show(name: str, n: int, found: list[float], ties: float) -> None:
    """A line of the table."""
    cells = " | ".join(f"{s:.2f}" for s in found)
    print(f"| {name} | {n} | {cells} | {roughness(found):.2f} | {ties:.2f} |", flush=True)


def main() -> None:
    """Print the table."""
    print("| problem | n | " + " | ".join(f"radius {r}" for r in RADII) + " | roughness | ties |")
    print("|---" * (len(RADII) + 4) + "|")
    for function in range(1, 25):
        coco = Problem("bbob", function, 20, 1).open(10**6)
        show(f"f{function}", 20, *shares(coco, coco.x0 / HALF))
        coco.close()
    for p in problems_of("wild").values():
        if not p.set_aside and p.n <= 150:
            wild = WildObjective(p, 0, failures=True)
            wild.budget = 10**6
            show(p.name, p.n, *shares(wild, wild.x0 / HALF))


if __name__ == "__main__":
    main()
