"""What the commands that make a file by training networks have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eglearn.cli.errors import Usage


def check_numbers(**numbers: tuple[int, int]) -> None:
    """Refuse options that are too small; each is a value with the least allowed one."""
    for name, (value, least) in numbers.items():
        if value < least:
            raise Usage(f"--{name.replace('_', '-')} {value}: it must be {least} or more")


def check_new(out: str) -> None:
    """Refuse to overwrite a file, before hours of training rather than after."""
    if Path(out).exists():
        raise Usage(f"{out} exists: remove it or choose another name")
    if not Path(out).resolve().parent.is_dir():
        raise Usage(f"the folder of {out} does not exist: make it first")


class Bar:
    """A progress bar on a terminal, else a line every ``every`` units; on standard error."""

    def __init__(self, every: int = 100, unit: str = "steps") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.every, self.unit = every, unit
        self.console = Console(stderr=True, soft_wrap=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.progress = Progress(*columns, console=self.console, disable=not self.console.is_terminal)
        self.tasks: dict[str, Any] = {}  # a task id each

    def __enter__(self) -> Bar:
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def update(self, name: str, done: int, total: int, losses: dict[str, float]) -> None:
        """Show how far a training is."""
        if name not in self.tasks:
            self.tasks[name] = self.progress.add_task(name, total=total)
        text = ", ".join(f"{loss} {value:.3f}" for loss, value in losses.items())
        self.progress.update(self.tasks[name], completed=done, description=f"{name}: {text}")
        if self.progress.disable and done % self.every == 0:
            self.console.print(f"{name}: {done} of {total} {self.unit}, {text}", highlight=False)
