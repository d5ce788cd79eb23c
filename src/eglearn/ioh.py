"""eglearn in IOHprofiler: an algorithm for ``ioh.Experiment``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .run import minimize


class Algorithm:
    """What ``ioh.Experiment(algorithm=...)`` takes: called with a problem, it minimises it.

    Each call takes the next seed, so that repetitions differ (for each problem, ioh begins with a copy). It stops when
    the problem says that its final target was found.

    Parameters
    ----------
    evaluations_per_coordinate : int
        The budget is this times the dimension.
    seed : int
        Of the first run.
    **options
        More arguments of ``eglearn.minimize``: algorithm, settings, target, ...

    Examples
    --------
    >>> import ioh
    >>> from eglearn.ioh import Algorithm
    >>> problem = ioh.get_problem("Sphere", instance=1, dimension=5)
    >>> Algorithm(evaluations_per_coordinate=100)(problem)
    >>> problem.state.final_target_found
    True
    """

    def __init__(self, evaluations_per_coordinate: int = 1000, seed: int = 0, **options: Any) -> None:
        self.evaluations_per_coordinate, self.seed, self.options = evaluations_per_coordinate, seed, options

    def __call__(self, problem: Any) -> None:
        """Minimise the problem; whoever logs it sees every evaluation."""

        def enough(_: Any) -> None:
            if problem.state.final_target_found:
                raise StopIteration

        low, high = np.array(problem.bounds.lb, dtype=float), np.array(problem.bounds.ub, dtype=float)
        budget = self.evaluations_per_coordinate * problem.meta_data.n_variables
        minimize(problem, (low, high), budget=budget, seed=self.seed, callback=enough, **self.options)
        self.seed += 1
