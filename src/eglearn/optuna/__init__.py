"""A sampler for Optuna: numbers are searched together by eglearn, categories are sampled one by one before them.

Needs ``eglearn[optuna]``.
"""

from .sampler import EGLSampler

__all__ = ["EGLSampler"]
