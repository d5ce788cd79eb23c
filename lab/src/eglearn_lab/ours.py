"""What the laboratory takes from the library beyond its public names, in one place."""

from eglearn import EGL, IGL, AutoEGL, ConvergentEGL, ConvergentSettings, EGLSettings, IGLSettings
from eglearn.algorithms import ALGORITHMS as ALONE
from eglearn.algorithms import AskTell
from eglearn.learning.memory import Replay, Samples
from eglearn.learning.models import gradient_model, value_model
from eglearn.learning.models.base import pair_loss
from eglearn.learning.output import OutputMap
from eglearn.learning.pairs import penalty
from eglearn.learning.regions import LinearRegion
from eglearn.learning.samplers import ball
from eglearn.learning.values import ENTERS
from eglearn.search.egl import ExplicitGradientLearning, GradientLearning
from eglearn.search.igl import IndirectGradientLearning
from eglearn.settings import Settings

__all__ = [
    "ALONE",
    "EGL",
    "ENTERS",
    "IGL",
    "AskTell",
    "AutoEGL",
    "ConvergentEGL",
    "ConvergentSettings",
    "EGLSettings",
    "ExplicitGradientLearning",
    "GradientLearning",
    "IGLSettings",
    "IndirectGradientLearning",
    "LinearRegion",
    "OutputMap",
    "Replay",
    "Samples",
    "Settings",
    "ball",
    "gradient_model",
    "pair_loss",
    "penalty",
    "value_model",
]
