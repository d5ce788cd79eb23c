"""``eglearn data train-garments``: the networks of the latent-space search, trained again."""

from __future__ import annotations

import shlex
import sys

from eglearn.cli.errors import Failure
from eglearn.cli.options import Whole

from .making import Bar, check_new, check_numbers
from .needs import need


def train_garments(
    *, out: str, steps: Whole = 6000, classifier_steps: Whole = 4000, seed: Whole = 0, data: str | None = None
) -> int:
    """Train the generator, the discriminator and the attribute classifier of the garments on FashionMNIST.

    The file also records the command, the seed and the losses, and holds the targets of the search. This takes about
    half an hour on one core. If it is killed, the same command continues from the last checkpoint.

    Parameters
    ----------
    out
        The file to write, in safetensors format.
    steps
        Training steps of the generator and the discriminator, 64 images each.
    classifier_steps
        Training steps of the attribute classifier, 64 images each.
    seed
        Seed of the initial weights and the order of the images.
    data
        The folder with the four files of FashionMNIST. [default: that of Debian's package dataset-fashion-mnist]
    """
    check_numbers(steps=(steps, 1), classifier_steps=(classifier_steps, 1), seed=(seed, 0))
    check_new(out)
    need("training the garments needs", "safetensors", "torch", by="eglearn-lab[latent]")
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
