"""``python -m eglearn_lab.experiments.latent run FOLDER`` does the searches, ``page FOLDER DOCS`` writes their page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from ...runner import Progress
from .page import write_gallery
from .runs import BUDGET, run_searches
from .searches import ALGORITHMS
from .subjects import SUBJECTS


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(prog="python -m eglearn_lab.experiments.latent", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="do the searches that are missing")
    run.add_argument("folder", help="where results.parquet is or will be")
    run.add_argument("--subject", choices=SUBJECTS, default="garments", help="what is searched for")
    run.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS), metavar="NAME")
    run.add_argument("--again", nargs="+", choices=ALGORITHMS, default=[], metavar="NAME", help="drop their rows first")
    run.add_argument("--problems", type=_at_least(1), help="how many; without it, those that the page compares")
    run.add_argument("--budget", type=_at_least(1), default=BUDGET)
    run.add_argument("--seed", type=_at_least(0), default=0)
    run.add_argument("--workers", type=_at_least(1), default=1, help="processes at a time")
    page = commands.add_parser("page", help="write the page and its pictures")
    page.add_argument("folder", help="the folder of the searches")
    page.add_argument("docs", help="the folder to write into")
    page.add_argument("--subject", choices=SUBJECTS, default="garments", help="what was searched for")
    given = vars(parser.parse_args())
    failed = 0

    def progress(now: Progress) -> None:
        nonlocal failed
        failed, row = now.failed, now.row
        said = row["error"] or f"cost {row['cost']:.3f}"
        sys.stdout.write(
            f"{now.seconds:7.0f} s  {now.done} of {now.total}: {row['algorithm']}, problem {row['problem']}: {said}\n"
        )
        sys.stdout.flush()

    try:
        if given.pop("command") == "run":
            run_searches(given.pop("folder"), **given, progress=progress)
        else:
            sys.stdout.write(f"{write_gallery(given['folder'], given['docs'], given['subject'])} written\n")
    except (ImportError, ValueError, RuntimeError) as error:
        sys.exit(f"{parser.prog}: {error}")
    if failed:
        sys.exit(f"{parser.prog}: {failed} searches failed, see above; --again does them once more")


def _at_least(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is below {least}")
        return number

    return whole


if __name__ == "__main__":
    main()
