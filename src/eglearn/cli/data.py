"""What the benchmark's problems are made of: training the encoder of the 784-D ones again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from cyclopts import App

from ..fashion import DEBIAN
from .data_faces import fit_faces
from .data_garments import train_garments
from .errors import Failure, Usage

data_app = App(name="data", help="Make the data that benchmark problems are built on.", help_format="plaintext")
data_app.command(train_garments, name="train-garments")
data_app.command(fit_faces, name="fit-faces")


@data_app.command(name="train-encoder")
def train_encoder(*, out: str, epochs: int = 20, seed: int = 0, data: str = str(DEBIAN)) -> int:
    """Train the encoder of the 784-D problems again, and write it with the command, the seed and the loss that made it.

    It is the encoder of a variational autoencoder 784-400-10 of FashionMNIST images. The problems of suite coco-784
    use the one that comes with the package; this is how that one was made. An epoch takes 5 to 10 seconds.

    Parameters
    ----------
    out
        The file to write, in safetensors format.
    epochs
        How often to go through the images.
    seed
        Of the initial weights, the order of the images and the codes.
    data
        The folder with train-images-idx3-ubyte.gz; Debian's package dataset-fashion-mnist has it.
    """
    if epochs < 1:
        raise Usage(f"--epochs {epochs}: it must be 1 or more")
    if seed < 0:
        raise Usage(f"--seed {seed}: it must be 0 or more")
    target = Path(out)
    if target.exists():
        raise Usage(f"{out} exists: remove it or choose another name")
    if not target.parent.is_dir():
        raise Usage(f"the folder of {out} does not exist: make it first")
    try:
        import torch
    except ImportError as error:
        raise Failure("training the encoder needs torch: pip install 'eglearn[nn]'") from error
    from ..bench.encoder import read_images
    from ..bench.encoder import train_encoder as train

    try:
        images, digest = read_images(data)
    except FileNotFoundError as error:
        raise Failure(
            f"{data} holds no train-images-idx3-ubyte.gz: install Debian's dataset-fashion-mnist, or name the folder "
            "that has it with --data"
        ) from error
    except ValueError as error:
        raise Failure(str(error)) from error

    bar = _Bar(epochs)
    with bar:
        encoder, loss = train(images, epochs=epochs, seed=seed, progress=bar.update)
    encoder.about.update(
        command=shlex.join(["eglearn", "data", "train-encoder", "--epochs", str(epochs), "--seed", str(seed)]),
        seed=str(seed),
        loss=f"{loss:.4f} nats an image, mean of the last of {epochs} epochs",
        images=f"{len(images)}, file with SHA-256 {digest}",
        torch=str(torch.__version__),
    )
    encoder.save(target)
    sys.stdout.write(f"{out} written: loss {loss:.2f} after {epochs} epochs\n")
    return 0


class _Bar:
    """A progress bar on a terminal, else a line an epoch; on standard error."""

    def __init__(self, epochs: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.epochs = epochs
        self.console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        self.progress = Progress(*columns, console=self.console, disable=not self.console.is_terminal)
        self.task = self.progress.add_task("training", total=1.0)

    def __enter__(self) -> None:
        self.progress.start()

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def update(self, done: int, total: int, loss: float) -> None:
        """Show how many images of how many have been seen."""
        an_epoch = total // self.epochs
        text = f"epoch {-(-done // an_epoch)} of {self.epochs}, loss {loss:.2f}"
        self.progress.update(self.task, completed=done / total, description=text)
        if self.progress.disable and done % an_epoch == 0:
            self.console.print(text, highlight=False)
