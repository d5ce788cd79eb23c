"""Searching the latent space of a generator for an image with wanted attributes and landmarks (paper, app. G).

``LatentCost`` is the paper's cost around any four networks; ``load_garments`` are four that are shipped.
``faces.load_faces`` are four closer to the paper, with the packages of ``eglearn-lab[faces]``.
"""

from .cost import WEIGHTS, LatentCost, Terms
from .garments import Garments, load_garments
from .protocols import AttributeClassifier, Critic, Generator, LandmarkEstimator, Networks, Target
from .space import bounds, start

__all__ = [
    "WEIGHTS",
    "AttributeClassifier",
    "Critic",
    "Garments",
    "Generator",
    "LandmarkEstimator",
    "LatentCost",
    "Networks",
    "Target",
    "Terms",
    "bounds",
    "load_garments",
    "start",
]
