"""``eglearn data fit-faces``: what is fitted for the faces of the latent-space search, fitted again."""

from __future__ import annotations

import shlex
import sys

from eglearn.cli.errors import Failure
from eglearn.cli.options import Whole

from .making import Bar, check_new, check_numbers
from .needs import need


def fit_faces(*, out: str, seed: Whole = 0) -> int:
    """Fit the head, the critic and the attribute classifier of the faces.

    The generator and the landmark estimator come from the packages of the extra eglearn-lab[faces]; the teacher of
    three attributes also needs face-hunters and h5py. This takes about a quarter of an hour on one core. If it is
    killed, the same command continues.

    Parameters
    ----------
    out
        The file to write, in safetensors format.
    seed
        Seed of the images, the initial weights and the order of the images.
    """
    check_numbers(seed=(seed, 0))
    check_new(out)
    need("fitting the faces needs", "safetensors", "torch", by="eglearn-lab[faces]")
    from ..experiments.latent.faces.making import make_faces

    command = shlex.join(["eglearn", "data", "fit-faces", "--seed", str(seed)])
    try:
        with Bar() as bar:
            about = make_faces(out, seed=seed, command=command, watch=bar.update)
    except ImportError as error:
        raise Failure(str(error)) from error
    sys.stdout.write(f"{out} written\n" + "".join(f"  {name}: {value}\n" for name, value in about.items()))
    return 0
