"""The 40 attributes of a face: 37 that are measured, and three that a teacher learned from CelebA's labels."""

from __future__ import annotations

from .measures import MEASURED

LEARNED = ("male", "young", "beard")
"""Of CelebA's own attributes."""

ATTRIBUTES = (*MEASURED, *LEARNED)
"""All names."""
