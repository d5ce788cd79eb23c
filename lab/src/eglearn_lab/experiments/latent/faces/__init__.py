"""Faces for the latent-space search: the nearest to the paper's own experiment that installable packages allow.

Needs ``eglearn-lab[faces]``.
"""

from .faces import Faces, load_faces

__all__ = ["Faces", "load_faces"]
