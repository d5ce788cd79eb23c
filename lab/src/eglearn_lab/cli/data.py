"""What the benchmark's problems are made of: training the encoder of the 784-D ones again."""

from __future__ import annotations

import shlex
import sys

from cyclopts import App

from eglearn.cli.errors import Failure
from eglearn.cli.options import Whole
from eglearn.result import counted

from ..fashion import DEBIAN
from .data_faces import fit_faces
from .data_garments import train_garments
from .making import Bar, check_new, check_numbers
from .needs import need

data_app = App(name="data", help="Train the networks that benchmarks and experiments use.", help_format="plaintext")
data_app.command(train_garments, name="train-garments")
data_app.command(fit_faces, name="fit-faces")


@data_app.command(name="train-encoder")
def train_encoder(*, out: str, epochs: Whole = 20, seed: Whole = 0, data: str = str(DEBIAN)) -> int:
    """Train the encoder of the 784-D problems.

    It is the encoder of a variational autoencoder 784-400-10 for FashionMNIST images. The problems of suite coco-784
    use the encoder that comes with the package, which was made by this command. The file also records the command, the
    seed and the loss. An epoch takes 5 to 10 seconds.

    Parameters
    ----------
    out
        The file to write, in safetensors format.
    epochs
        Number of passes over the images.
    seed
        Seed of the initial weights, the order of the images and the codes.
    data
        The folder with train-images-idx3-ubyte.gz, as in Debian's package dataset-fashion-mnist.
    """
    check_numbers(epochs=(epochs, 1), seed=(seed, 0))
    check_new(out)
    need("training the encoder needs", "torch", by="eglearn[nn]")
    import torch

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

    with Bar(every=len(images), unit="images") as bar:

        def watch(done: int, total: int, loss: float) -> None:
            bar.update("encoder", done, total, {"loss": loss})

        encoder, loss = train(images, epochs=epochs, seed=seed, progress=watch)
    encoder.about.update(
        command=shlex.join(["eglearn", "data", "train-encoder", "--epochs", str(epochs), "--seed", str(seed)]),
        seed=str(seed),
        loss=f"{loss:.4f} nats per image, mean of the last of {epochs} epochs",
        images=f"{len(images)}, file with SHA-256 {digest}",
        torch=str(torch.__version__),
    )
    encoder.save(out)
    sys.stdout.write(f"{out} written: loss {loss:.2f} after {counted(epochs, 'epoch')}\n")
    return 0
