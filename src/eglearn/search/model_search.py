"""A search that learns with one of the models of the gradient."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from .._typing import Array, State
from ..learning.models import Model
from .base import BatchSearch


class ModelSearch(BatchSearch):
    """A search that learns a model of the gradient, which keeps a state of its own."""

    _model: Model

    def _begin(self, start: Array) -> None:
        self._model = self._make_model(self.rng)

    @abstractmethod
    def _make_model(self, rng: Generator) -> Model: ...

    def environment(self) -> dict[str, Any]:
        """That of the model."""
        return self._model.environment()

    def state(self) -> State:
        """The fields and the model."""
        return super().state() | {"model": self._model.state()}

    @classmethod
    def from_state(cls, state: State, **shared: Any) -> Self:
        """The search that ``state()`` described."""
        self = super().from_state(state, **shared)
        self._model = self._make_model(np.random.default_rng(0))  # what it draws is replaced
        self._model.load_state(state["model"])
        return self
