"""``eglearn data train-garments``: the networks of the latent-space search, trained again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from .errors import Failure, Usage


def train_garments(
    *, out: str, steps: int = 6000, classifier_steps: int = 4000, seed: int = 0, data: str | None = None
) -> int:
    """Train the generator, the discriminator and the attribute classifier of the garments on FashionMNIST.

    The file also tells the command, the seed and the losses, and holds the targets of the search. It takes about half
    an hour of one core. Killed, it goes on from its last checkpoint when the same command is given again.

    Parameters
    ----------
    out
        The file to write, in safetensors format.
    steps
        Of the generator and the discriminator, 64 images each.
    classifier_steps
        Of the attribute classifier, 64 images each.
    seed
        Of the initial weights and the order of the images.
    data
        The folder with FashionMNIST's four files. [default: that of Debian's package dataset-fashion-mnist]
    """
    for name, value, least in (("steps", steps, 1), ("classifier-steps", classifier_steps, 1), ("seed", seed, 0)):
        if value < least:
            raise Usage(f"--{name} {value}: it must be {least} or more")
    if Path(out).exists():
        raise Usage(f"{out} exists: remove it or choose another name")
    if not Path(out).resolve().parent.is_dir():
        raise Usage(f"the folder of {out} does not exist: make it first")
    try:
        import safetensors  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        raise Failure(f"training the garments needs {error.name}: pip install 'eglearn[latent]'") from error
    from ..experiments.latent.making import make_garments

    words = ["eglearn", "data", "train-garments", "--steps", steps, "--classifier-steps", classifier_steps]
    command = shlex.join([*map(str, words), "--seed", str(seed)])
    try:
        with Bar() as bar:
            about = make_garments(
                out, steps=steps, classifier_steps=classifier_steps, seed=seed, data=data, command=command,
                watch=bar.update,
            )  # fmt: skip
    except (FileNotFoundError, ValueError) as error:
        raise Failure(str(error)) from error
    sys.stdout.write(f"{out} written\n" + "".join(f"  {name}: {value}\n" for name, value in about.items()))
    return 0


class Bar:
    """A progress bar on a terminal, else a line every hundred steps; on standard error."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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
        if self.progress.disable and done % 100 == 0:
            self.console.print(f"{name}: {done} of {total} steps, {text}", highlight=False)
