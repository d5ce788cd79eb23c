"""The laboratory of eglearn: the COCO benchmark, the paper's experiments, and the search of latent spaces.

It adds the commands ``bench``, ``experiment`` and ``data`` to ``eglearn``.
"""

__version__ = "0.1.0"  # that of eglearn: the two are made for each other
