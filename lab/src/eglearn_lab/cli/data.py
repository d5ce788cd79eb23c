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

data_app = App(name="data", help="Make the data that benchmark problems are built on.", help_format="plaintext")
data_app.command(train_garments, name="train-garments")
data_app.command(fit_faces, name="fit-faces")


@data_app.command(name="train-encoder")
def train_encoder(*, out: str, epochs: Whole = 20, seed: Whole = 0, data: str = str(DEBIAN)) -> int:
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
        loss=f"{loss:.4f} nats an image, mean of the last of {epochs} epochs",
        images=f"{len(images)}, file with SHA-256 {digest}",
        torch=str(torch.__version__),
    )
    encoder.save(out)
    sys.stdout.write(f"{out} written: loss {loss:.2f} after {counted(epochs, 'epoch')}\n")
    return 0
