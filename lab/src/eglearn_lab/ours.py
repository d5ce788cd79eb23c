"""What the laboratory takes from the library beyond its public names, in one place."""

from eglearn import EGL, IGL, AutoEGL, ConvergentEGL, Settings
from eglearn.algorithms import AskTell
from eglearn.exploration import ball
from eglearn.models import make_model
from eglearn.region import LinearRegion
from eglearn.replay import Replay, Samples
from eglearn.scaling import OutputMap

__all__ = [
    "EGL",
    "IGL",
    "AskTell",
    "AutoEGL",
    "ConvergentEGL",
    "LinearRegion",
    "OutputMap",
    "Replay",
    "Samples",
    "Settings",
    "ball",
    "make_model",
]
