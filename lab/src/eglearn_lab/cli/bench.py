"""``eglearn bench``: run a benchmark, report on it, list what there is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from eglearn.cli.errors import INTERRUPTED, Failure, Usage
from eglearn.cli.options import Whole

from .bench_grid import check_algorithms, check_observe, load_plugins, make_grid, usable_cores
from .bench_running import Board, benchmark, has_results, snapshot_summary, summary, take_all
from .bench_wild import is_suite_folder, own_suites, report_suite, run_suite
from .display import Display
from .needs import need

bench_app = App(name="bench", help="Run benchmarks and report on them.", help_format="plaintext")
_Flag = Parameter(negative="", show_default=False)


@bench_app.command
def run(
    *,
    out: str,
    suite: str | None = None,
    dims: str | None = None,
    functions: str | None = None,
    instances: str | None = None,
    algorithms: str | None = None,
    ablation: str | None = None,
    paper_index: str | None = None,
    budget: Whole | None = None,
    seeds: str = "0",
    workers: Whole | None = None,
    dask: str | None = None,
    observe: str | None = None,
    set_aside: Annotated[bool, _Flag] = False,
    plugin: Annotated[list[str] | None, Parameter(negative="", consume_multiple=True)] = None,
    quiet: Annotated[bool, _Flag] = False,
) -> int:
    """Run algorithms on problems, and keep one row of results per run.

    Give numbers as in 2,3,5 or 1-5,71-80. If it is interrupted or killed, the same
    command continues. A larger grid adds to the existing results.
    Example: eglearn bench run --dims 10,40 --algorithms auto,cma --out results

    Parameters
    ----------
    out
        Folder for the results.
    suite
        The suite; 'eglearn bench list' shows them. [default: bbob]
    dims
        Dimensions. [default: all of the suite; for bbob-largescale only those that bbob lacks]
    functions
        Function numbers. [default: all of the suite]
    instances
        Instance numbers. [default: 1-5]
    algorithms
        Algorithm names, separated by commas; 'eglearn bench list' shows them. [default for wild: auto and its rivals]
    ablation
        A named experiment from 'eglearn bench list'. It sets the algorithms and, unless given, problems and budget.
    paper_index
        The paper's problem numbers, 0 to 359, instead of functions and instances; needs --dims.
    budget
        Evaluations per run. [default: 150000]
    seeds
        Seeds, one run per seed.
    workers
        Number of parallel processes. [default: the usable cores]
    dask
        Address of a Dask scheduler; its workers then do the runs.
    observe
        Also write COCO's official data to this folder, for cocopp.
    set_aside
        For wild: run the half of the problems that is kept for a last check.
    plugin
        Modules that register more algorithms; the current folder is searched too.
    quiet
        Show only the result, no progress.
    """
    own = suite in own_suites()
    need("benchmarks need", *(() if own else ("cocoex",)), "pyarrow", by="eglearn-lab[bench]")
    workers = usable_cores() if workers is None else workers
    if workers < 1:
        raise Usage(f"--workers {workers}: it must be 1 or more")
    plugins = load_plugins(plugin or [])
    if suite is not None and own:
        if any(option is not None for option in (dims, functions, instances, ablation, paper_index, budget, observe)):
            raise Usage(
                f"--suite {suite} has problems with their own dimensions and budgets: give algorithms and seeds"
            )
        shown = Display(Board(), None if quiet else sys.stdout)
        return run_suite(
            out, suite, algorithms, seeds, set_aside, workers=workers, plugins=plugins, display=shown
        )  # fmt: skip
    if set_aside:
        raise Usage("--set-aside is for the suite wild: COCO's problems are chosen by --instances")
    grid = make_grid(
        suite=suite, dims=dims, functions=functions, instances=instances, algorithms=algorithms, ablation=ablation,
        paper_index=paper_index, budget=budget, seeds=seeds,
    )  # fmt: skip
    check_algorithms(grid.algorithms)
    if grid.snapshots and (dask is not None or observe is not None):
        raise Usage(f"--ablation {ablation} takes snapshots in local processes: leave out --dask and --observe")
    if observe is not None:
        check_observe(observe, grid)
    if dask is not None:
        need("benchmarks need", "distributed", by="eglearn[dask]")
    display = Display(Board(), None if quiet else sys.stdout)
    try:
        if grid.snapshots:
            return snapshot_summary(out, take_all(out, grid, display, workers))
        table = benchmark(out, grid, display, workers=workers, observe=observe, plugins=plugins, dask=dask)
    except KeyboardInterrupt:
        sys.stdout.write(f"Interrupted after {display.progress.count()}: the same command goes on\n")
        return INTERRUPTED
    return summary(out, table, grid)


@bench_app.command
def report(first: str, /, *more: str, out: str | None = None, markdown: str | None = None) -> int:
    """Write a page about the benchmarks in one or more folders.

    Parameters
    ----------
    first
        A folder written by 'eglearn bench run', or a Parquet file.
    more
        More of them, for the same page.
    out
        Folder for the page and its figures. [default: report, inside the first folder]
    markdown
        Write this Markdown file instead, with its figures in a folder beside it.
    """
    need("benchmarks need", "pyarrow", "matplotlib", by="eglearn-lab[bench]")
    paths = [Path(name) for name in (first, *more)]
    for path in paths:
        if not has_results(path):
            raise Failure(f"{path} holds no benchmark: give folders that 'eglearn bench run' wrote")
    if is_suite_folder(paths[0]):
        return report_suite(paths, markdown)
    from ..bench.report import write_markdown, write_report

    folder = paths[0] if paths[0].is_dir() else paths[0].parent
    try:
        if markdown is not None:
            page = write_markdown(paths, markdown)
            sys.stdout.write(f"{page} written\n")
            return 0
        page = write_report(paths, Path(out) if out is not None else folder / "report")
    except ValueError as error:
        raise Failure(str(error)) from error
    sys.stdout.write(f"{page} written: open it in a browser\n")
    return 0


@bench_app.command
def paper(first: str, /, *more: str, out: str) -> int:
    """Write the page about the paper: its figures redrawn, its claims judged.

    Parameters
    ----------
    first
        A folder written by 'eglearn bench run', or a Parquet file.
    more
        More of them.
    out
        The Markdown file; its figures go into a folder beside it.
    """
    need("benchmarks need", "pyarrow", "matplotlib", by="eglearn-lab[bench]")
    paths = [Path(name) for name in (first, *more)]
    for path in paths:
        if not has_results(path):
            raise Failure(f"{path} holds no benchmark: give folders that 'eglearn bench run' wrote")
    if Path(out).suffix != ".md":
        raise Usage(f"--out {out}: it must end in .md, and its figures go into a folder of its name")
    from ..bench.paper import write_paper

    try:
        page = write_paper(paths, out)
    except ValueError as error:
        raise Failure(str(error)) from error
    sys.stdout.write(f"{page} written\n")
    return 0


@bench_app.command(name="list")
def show_list() -> int:
    """List the suites, algorithms and ablations."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..bench.ablations import ABLATIONS
    from ..bench.algorithms import ALGORITHMS
    from ..bench.problems import SUITES
    from ..bench.wild_runs import problems_of

    def table(title: str, *columns: str) -> Table:
        made = Table(*columns, title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        made.columns[0].no_wrap = True
        return made

    suites = table("Suites", "name", "functions", "dimensions")
    for name, (functions, dims) in SUITES.items():
        suites.add_row(name, f"{functions[0]}-{functions[-1]}", ", ".join(map(str, dims)))
    for name in own_suites():
        every = problems_of(name).values()
        sizes = f"{min(p.n for p in every)} to {max(p.n for p in every)}"
        suites.add_row(name, f"{len(every)} problems, half of them set aside", sizes)
    variants = {name for item in ABLATIONS.values() for name in item.algorithms}
    algorithms, reasons = table("Algorithms", "name", "needs", "usable", "what it is"), []
    for name, entry in sorted(ALGORITHMS.items()):
        if name in variants:
            continue
        needs = ", ".join(sorted({part.partition(".")[0] for part in entry.needs}))
        text = Text((entry.function.__doc__ or "").strip().partition("\n")[0], no_wrap=True, overflow="ellipsis")
        why = entry.unavailable()
        algorithms.add_row(name, needs, "yes" if why is None else "no", text)
        reasons += [] if why is None else [Text(f"{name} cannot be used here: {why}")]
    try:
        need("benchmarks need", "cocoex", "pyarrow", by="eglearn-lab[bench]")
        missing = []
    except Failure as error:
        missing = [Text(f"None of the algorithms can be run yet, as {error}")]
    ablations = table("Ablations (--ablation)", "name", "what is varied", "variants, usable as algorithms too")
    for name, item in ABLATIONS.items():
        ablations.add_row(name, item.title, ", ".join(item.algorithms) or "snapshots of one run per problem")
    console = Console()
    if not console.is_terminal:
        console.width = 160  # whole lines for grep and files
    console.print(suites, *missing, algorithms, *reasons, ablations)
    return 0
