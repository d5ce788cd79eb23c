"""The COCO benchmark: problems, algorithms, runs and what is measured on them."""

# Importing them fills the registry of algorithms.
from . import ablations as _ablations  # noqa: F401
from . import authors as _authors  # noqa: F401
from . import baselines as _baselines  # noqa: F401
from . import entries as _entries  # noqa: F401
from . import high_dimension as _high_dimension  # noqa: F401
