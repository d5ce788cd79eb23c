"""Learned gradients as part of a search that chooses its means by itself."""

from __future__ import annotations

from .._typing import Array, State
from ..asktell import AskTell
from ..settings import Settings
from .watched import Watched


def unused(settings: Settings) -> list[str]:
    """Names of the settings that were changed but mean nothing to AutoEGL."""
    given, plain = settings.state(), Settings().state()
    return [name for name in given if not AutoEGL.uses(name) and given[name] != plain[name]]


class AutoEGL(AskTell):
    """A descent along a learned affine gradient, then line searches, then restarts, until the budget is used.

    In many dimensions, a descent in a subspace and quasi-Newton steps race against an evolution strategy instead.
    ``eglearn.search`` tells what each pass does, ``Schedule`` and ``Race`` who runs next.

    Now and then the best point is evaluated again. If values turn out to be noisy, so much that they hide what is
    gained, the search goes on with large populations. Then ``best_x`` is partly luck, and ``x_favorite`` is the point
    to use.

    Parameters
    ----------
    bounds, x0, budget, seed, scale
        As for EGL.
    settings : Settings or None
        Used is ``m``, the batch of the descents; all else must be as in ``Settings()``.

    Examples
    --------
    >>> import numpy as np
    >>> opt = AutoEGL([(-5, 5)] * 10, budget=2000, seed=1)
    >>> while not opt.stop():
    ...     X = opt.ask()
    ...     opt.tell(X, [np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2) for x in X])
    >>> bool(opt.best_y < 1e-2)
    True
    """

    @classmethod
    def uses(cls, setting: str) -> bool:
        """See ``AskTell.uses``."""
        return setting == "m"

    def _start(self) -> None:
        if other := unused(self.settings):
            value = getattr(self.settings, other[0])
            raise ValueError(f"Settings.{other[0]} = {value!r}: AutoEGL uses only m; leave the others as they are")
        self._search = Watched(self._rng, self.box.start, self.settings.m, self.budget - self.nfev)

    def extend(self, budget: int) -> None:
        """See ``AskTell.extend``."""
        before = self.budget
        super().extend(budget)
        if self.n > 0:
            self._search.extend(self.budget - before)

    @property
    def candidate_u(self) -> Array:
        """The best point, or if values are noisy an average over many: see ``Watched.favorite``."""
        return self._search.favorite[0] if self._search.noisy is not None else self.best_u

    def _propose(self) -> Array:
        return self._search.propose()

    def _learn(self, u: Array, y: Array, foreign_u: Array, foreign_y: Array) -> None:
        # A pass may zoom in to the resolution of floats; the next one begins afresh.
        self._converged = False
        for point, value in zip(foreign_u, foreign_y, strict=True):
            self._search.note_foreign(point, float(value))
        self._search.learn(u, y)

    def _progress(self) -> dict[str, float]:
        search = self._search
        noisy = search.noisy is not None
        return {
            "candidate": search.favorite[1] if noisy else search.active.best_y,
            "epsilon": search.active.radius,
            "restarts": float(search.restarts + self.box.widenings),
            "noisy": float(noisy),
        }

    def _search_state(self) -> State:
        return self._search.state()

    def _load_search_state(self, state: State) -> None:
        self._search = Watched.from_state(self._rng, state)
