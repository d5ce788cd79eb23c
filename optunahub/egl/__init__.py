"""The package on OptunaHub: the sampler of eglearn, which is installed by pip."""

from eglearn.optuna import EGLSampler

__all__ = ["EGLSampler"]
