"""The types that both distributions share."""

from eglearn._typing import Array, Mask

__all__ = ["Array", "Mask"]
