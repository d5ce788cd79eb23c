"""Problems as users bring them: 5 to 1,000 variables, budgets of 50 to 50,000, noise, failures, steps and penalties.

The problems are defined in `families`, one module per family. **Set aside** are the second, fourth, ... problem of each
family in the order of its ``PROBLEMS``. The order was written down before any optimiser was compared on any of them.
"""

from __future__ import annotations

import inspect
from dataclasses import replace

from .base import Problem
from .families import (
    clusters,
    control,
    gaussian,
    kinetics,
    minimax,
    networks,
    paths,
    portfolio,
    rugged,
    sensors,
    sphere,
    structures,
    tomography,
    tuning,
)

FAMILIES = (
    clusters,
    sphere,
    control,
    structures,
    tuning,
    kinetics,
    networks,
    minimax,
    paths,
    gaussian,
    sensors,
    portfolio,
    tomography,
    rugged,
)


def problems() -> list[Problem]:
    """Return all problems, family by family.

    Examples
    --------
    >>> suite = problems()
    >>> [p.name for p in suite if p.family == "sphere" and not p.set_aside]
    ['thomson-24']
    """
    return [
        replace(
            define(),
            name=define.__name__.replace("_", "-"),
            family=family.__name__.rpartition(".")[2],
            doc=inspect.getdoc(define) or "",
            set_aside=position % 2 == 1,
        )
        for family in FAMILIES
        for position, define in enumerate(family.PROBLEMS)
    ]
