"""The sampler for Optuna against Optuna's own: TPE, CMA-ES, Gaussian process and random, on ten small problems.

    python benchmarks/optuna_samplers.py run results/optuna.csv      # 100 trials, 5 seeds; continues where it stopped
    python benchmarks/optuna_samplers.py table results/optuna.csv

Needs eglearn[optuna], cmaes and torch. Each seed moves the minimum of a problem to another place. A row is one study:
the gap between its best value and the lowest possible one after 25, 50 and 100 trials (of the noisy problem without
noise), and the seconds of processor time. The bar: at each mark the lowest mean rank. The Gaussian process takes far
longer, so it is compared up to 50 trials only.
"""

from __future__ import annotations

import csv
import math
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna

from eglearn.optuna import EGLSampler

TRIALS, SEEDS, MARKS = 100, range(5), (25, 50, 100)
CUT = {"GP": 50}  # trials of those that take long: a Gaussian process needs 15 s for 100
FIELDS = ("problem", "sampler", "seed", *(f"gap_{k}" for k in MARKS), "seconds")
SAMPLERS: dict[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    "EGL": lambda seed: EGLSampler(n_trials=TRIALS, seed=seed),
    "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "CMA-ES": lambda seed: optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False),
    "GP": lambda seed: optuna.samplers.GPSampler(seed=seed, deterministic_objective=False),
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}
Problem = Callable[[optuna.Trial, np.ndarray], float]


def floats(trial: optuna.Trial, n: int, low: float, high: float) -> np.ndarray:
    return np.array([trial.suggest_float(f"x{k}", low, high) for k in range(n)])


def ellipsoid(trial: optuna.Trial, at: np.ndarray) -> float:
    x = floats(trial, 5, -5, 5) - 3 * at[:5]
    return float(np.sum(10.0 ** np.linspace(0, 3, 5) * x**2))


def rosenbrock(trial: optuna.Trial, at: np.ndarray) -> float:
    x = floats(trial, 4, -2, 2) - 0.5 * at[:4] + 0.5
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


A = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
P = np.array([[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
              [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]) / 1e4  # fmt: skip


def hartmann(trial: optuna.Trial, at: np.ndarray) -> float:
    x = floats(trial, 6, -0.2, 1.2) - 0.1 * at[:6]
    return float(3.3223680114155147 - np.array([1, 1.2, 3, 3.2]) @ np.exp(-np.sum(A * (x - P) ** 2, axis=1)))


def branin(trial: optuna.Trial, at: np.ndarray) -> float:
    x, y = trial.suggest_float("x", -7, 12) - at[0], trial.suggest_float("y", -2, 17) - at[1]
    value = (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x)
    return value + 10 - 0.39788735772973816


def ackley(trial: optuna.Trial, at: np.ndarray) -> float:
    x = floats(trial, 5, -5, 5) - 3 * at[:5]
    return float(-20 * np.exp(-0.2 * np.sqrt(np.mean(x**2))) - np.exp(np.mean(np.cos(2 * np.pi * x))) + 20 + np.e)


def rates(trial: optuna.Trial, at: np.ndarray) -> float:
    """Three parameters on log scales that act together, as a learning rate, a decay and a batch size do."""
    rate, decay = (math.log10(trial.suggest_float(name, 1e-6, 1, log=True)) for name in ("rate", "decay"))
    batch = math.log10(trial.suggest_float("batch", 1, 1e4, log=True))
    a, b, c = rate + 3 + at[0], decay + 4 + at[1], batch - 2 - 0.5 * at[2]
    return (a - 0.7 * c) ** 2 + 0.2 * (b + a) ** 2 + 0.5 * c**2 + 0.1 * abs(a)


def ints(trial: optuna.Trial, at: np.ndarray) -> float:
    k = np.array([trial.suggest_int(f"k{j}", 0, 50) for j in range(4)]) - np.round(25 + 15 * at[:4])
    return float(np.sum(k**2) + 0.5 * (k[0] - k[1] + k[2]) ** 2)


def mixed(trial: optuna.Trial, at: np.ndarray) -> float:
    x = floats(trial, 3, -5, 5) - 3 * at[:3]
    depth, width = trial.suggest_int("depth", 1, 10), trial.suggest_int("width", 8, 512, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    tail = (depth - round(5 + 3 * at[3])) ** 2 / 4 + math.log(width / 64) ** 2
    return float(np.sum(x**2) + tail + {"a": 2.0, "b": 0.0, "c": 5.0}[kind])


def conditional(trial: optuna.Trial, at: np.ndarray) -> float:
    x = floats(trial, 2, -5, 5) - 3 * at[:2]
    if trial.suggest_categorical("kind", ["linear", "kernel"]) == "linear":
        return float(np.sum(x**2) + 1 + trial.suggest_float("weight", 0, 1))
    width = math.log10(trial.suggest_float("width", 1e-3, 1e3, log=True))
    return float(np.sum(x**2) + (width - at[2]) ** 2 + 0.1 * abs(trial.suggest_int("degree", 1, 9) - 4))


def noisy(trial: optuna.Trial, at: np.ndarray) -> float:
    x = floats(trial, 5, -5, 5) - 3 * at[:5]
    exact = float(np.sum(x**2))
    trial.set_user_attr("exact", exact)
    return exact + float(np.random.default_rng([trial.number, 7]).normal())


PROBLEMS: dict[str, Problem] = {
    f.__name__: f for f in (ellipsoid, rosenbrock, hartmann, branin, ackley, rates, ints, mixed, conditional, noisy)
}


def study(problem: str, sampler: str, seed: int) -> dict[str, object]:
    at = np.random.default_rng([seed, 1]).uniform(-1, 1, 8)
    run = optuna.create_study(sampler=SAMPLERS[sampler](seed))

    def objective(trial: optuna.Trial) -> float:
        return PROBLEMS[problem](trial, at)

    begun = time.process_time()
    run.optimize(objective, n_trials=CUT.get(sampler, TRIALS))
    spent = time.process_time() - begun
    gaps = []
    for mark in MARKS:
        if mark > len(run.trials):
            gaps.append(math.nan)
            continue
        best = min(run.trials[:mark], key=lambda t: math.inf if t.value is None else t.value)
        gaps.append(best.user_attrs.get("exact", best.value))  # of what looked best, under noise
    return dict(zip(FIELDS, (problem, sampler, seed, *(f"{g:.4g}" for g in gaps), f"{spent:.2f}"), strict=True))


def rows_of(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(path: Path, samplers: list[str]) -> None:
    done = {(r["problem"], r["sampler"], int(r["seed"])) for r in rows_of(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not done:
            writer.writeheader()
        for seed in SEEDS:
            for sampler in samplers:
                for problem in PROBLEMS:
                    if (problem, sampler, seed) not in done:
                        writer.writerow(study(problem, sampler, seed))
                        file.flush()


def _against(rival: str, mark: int, rows: list[dict[str, str]]) -> str:
    """On how many studies with the same seed EGL has the lower gap."""
    gaps = {(r["sampler"], r["problem"], r["seed"]): float(r[f"gap_{mark}"]) for r in rows}
    pairs = [(gaps["EGL", *key], y) for (sampler, *key), y in gaps.items() if sampler == rival]
    lower, equal = sum(a < b for a, b in pairs), sum(a == b for a, b in pairs)
    return f"\nEGL against {rival} after {mark} trials: lower in {lower} of {len(pairs)} studies, equal in {equal}"


def table(path: Path) -> int:
    rows = rows_of(path)
    every = [s for s in SAMPLERS if any(r["sampler"] == s for r in rows)]
    ok = True
    for mark in MARKS:
        names = [s for s in every if mark <= CUT.get(s, TRIALS)]
        print(f"\nMedian gap after {mark} trials (in brackets: mean rank over seeds)\n")
        print("| problem | " + " | ".join(names) + " |\n|---|" + "--:|" * len(names))
        all_ranks = []
        for problem in PROBLEMS:
            own = [r for r in rows if r["problem"] == problem]
            found = {(r["sampler"], r["seed"]): float(r[f"gap_{mark}"]) for r in own}
            seeds = [s for s in map(str, SEEDS) if all((name, s) in found for name in names)]
            if not seeds:
                continue
            gaps = np.array([[found[name, s] for name in names] for s in seeds])
            ranks = np.mean((gaps[:, None, :] < gaps[:, :, None]).sum(axis=2)
                            + ((gaps[:, None, :] == gaps[:, :, None]).sum(axis=2) + 1) / 2, axis=0)  # fmt: skip
            all_ranks.append(ranks)
            medians = np.median(gaps, axis=0)
            print(
                f"| {problem} | " + " | ".join(f"{g:.2g} ({r:.1f})" for g, r in zip(medians, ranks, strict=True)) + " |"
            )
        means = np.mean(all_ranks, axis=0)
        print("| **mean rank** | " + " | ".join(f"**{r:.2f}**" for r in means) + " |")
        ok = ok and names[int(np.argmin(means))] == "EGL"
    for mark in (m for m in MARKS if m <= CUT["GP"]):
        print(_against("GP", mark, rows))
    seconds = {s: np.median([float(r["seconds"]) for r in rows if r["sampler"] == s]) for s in every}
    told = ", ".join(f"{s} {t:.2g} ({CUT.get(s, TRIALS)} trials)" for s, t in seconds.items())
    print(f"\nProcessor seconds per study: {told}")
    return 0 if ok else 1


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    command, place, *chosen = sys.argv[1:]
    if command == "run":
        run(Path(place), chosen or list(SAMPLERS))
    else:
        sys.exit(table(Path(place)))
