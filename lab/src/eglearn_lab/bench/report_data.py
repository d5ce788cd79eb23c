"""What a report is made of: runs and snapshots of several folders, and what is compared with what."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import numpy as np

from .ablations import ABLATIONS
from .claims import variants
from .page import listed
from .report_ablations import Snapshots
from .result_table import KEYS, Results
from .rows import load_results, schema
from .snapshots import load_snapshots
from .tables import Suite

Source = str | os.PathLike[str]

_LONGEST = 100  # characters of a name


@dataclass(frozen=True)
class Loaded:
    """Runs, snapshots of the output map, and how many runs are not among them."""

    results: Results
    snapshots: Snapshots
    left_out: int
    """Runs of which there is one with a larger budget, or a later one."""

    @property
    def own(self) -> Results:
        """The runs that are no variants of an ablation."""
        return self.results.where(~self.results.mask(algorithm=variants()))


def load(source: Source | Sequence[Source]) -> Loaded:
    """Runs of one or several result folders or Parquet files.

    Of the same run (problem, algorithm, seed) found more than once the one with the largest budget counts, and of
    several such the last.
    """
    for package in ("pyarrow", "matplotlib"):
        if importlib.util.find_spec(package) is None:
            raise ImportError(f"a benchmark report needs {package}: pip install 'eglearn-lab[bench]'")
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

    paths = _paths(source)
    found, taken = [schema().empty_table()], []
    for path in paths:
        if not path.exists():
            raise ValueError(f"there is no {path}: give the folder of a benchmark or a Parquet file")
        try:
            found.append(load_results(path).select(schema().names).cast(schema()))
        except (pa.ArrowInvalid, KeyError) as error:
            raise ValueError(f"{path} cannot be read as the results of a benchmark ({error})") from error
        if found[-1]["suite"].null_count:
            raise ValueError(f"{path} holds other results than a benchmark's: give folders of 'eglearn bench run'")
        _check_names(path, {name for key in ("suite", "algorithm") for name in found[-1][key].unique().to_pylist()})
        taken.append(load_snapshots(path))
    snapshots = {name: np.concatenate([each[name] for each in taken]) for name in (taken[0] if taken else ())}
    table = pa.concat_tables(found)
    if not table.num_rows and not (taken and len(snapshots["t"])):
        raise ValueError(f"no finished runs in {', '.join(map(str, paths)) or 'an empty list'}: run a benchmark first")
    place: dict[tuple[object, ...], int] = {}
    keys, budget = zip(*(table[name].to_pylist() for name in KEYS), strict=True), table["budget"].to_pylist()
    for row, key in enumerate(keys):
        if key not in place or budget[row] >= budget[place[key]]:
            place[key] = row
    results = Results.from_arrow(table.take(pa.array(sorted(place.values()), pa.int64())))
    return Loaded(results, snapshots, table.num_rows - len(results))


def _check_names(path: Path, names: set[str | None]) -> None:
    """Refuse what no benchmark writes: a page shows the names, as text and in commands."""
    for name in names:
        if name is None or not name.isprintable() or not 0 < len(name) <= _LONGEST:
            raise ValueError(f"{path} has a suite or an algorithm named {name!r:.80}: no benchmark writes such a name")


def _paths(source: Source | Sequence[Source]) -> list[Path]:
    return [Path(source)] if isinstance(source, str | os.PathLike) else [Path(p) for p in source]


def suites_of(results: Results) -> list[Suite]:
    """The suites in the results, each followed by comparisons with fewer evaluations.

    Those are for algorithms that had fewer: on their problems the others are cut. Those of them that were run on too
    few problems to be compared with all others are found there only. Under noise a run cannot be cut, see
    `metrics.cut`.
    """
    found = []
    for name, runs in results.by("suite"):
        whole = Suite(name, runs)
        compared = {a for field in whole.fields.values() for a in field.algorithms}
        largest = max(field.budget for field in whole.fields.values())
        budgets = {a: int(part["budget"].max()) for a, part in runs.by("algorithm")}
        fewer = {a: b for a, b in budgets.items() if b < largest and not whole.noisy}
        aside = [a for a in fewer if a not in compared]
        found.append(Suite(name, runs.where(~runs.mask(algorithm=aside))) if aside else whole)
        index = runs.problems()[1]
        for budget in sorted(set(fewer.values()), reverse=True):
            theirs = runs.mask(algorithm=[a for a, b in fewer.items() if b == budget])
            shared = np.isin(index, np.unique(index[theirs]))
            found.append(Suite(name, runs.where(shared & (runs["budget"] >= budget)), cut=budget))
    return found


def commands(sources: Source | Sequence[Source]) -> list[str]:
    """The commands that make the runs of each source, from the rows themselves."""
    lines = []
    for source in _paths(sources):
        rows = load_results(source).select([*KEYS, "budget"]).to_pylist()
        grids: dict[tuple[str, int, str], tuple[set[int], ...]] = {}
        for row in rows:
            found = grids.setdefault((row["suite"], row["budget"], row["algorithm"]), (set(), set(), set(), set()))
            for numbers, name in zip(found, ("dimension", "function", "instance", "seed"), strict=True):
                numbers.add(row[name])
        alike: dict[tuple[str, ...], list[str]] = {}
        for (suite, budget, name), grid in sorted(grids.items()):
            alike.setdefault((suite, str(budget), *map(listed, grid)), []).append(name)
        inside = os.path.relpath(source)
        out = Path(source).name if inside.startswith("..") else inside
        if len(load_snapshots(source)["t"]):
            (name,) = (entry.name for entry in ABLATIONS.values() if entry.snapshots)
            lines.append(f"eglearn bench run --ablation {name} --out {quote(out)}")
        lines += [
            f"eglearn bench run --suite {quote(suite)} --dims {dims} --functions {functions} --instances {instances} "
            f"--seeds {seeds} --budget {budget} --algorithms {quote(','.join(names))} --out {quote(out)}"
            for (suite, budget, dims, functions, instances, seeds), names in alike.items()
        ]
    return lines
