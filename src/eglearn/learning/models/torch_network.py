"""A torch module as a network that the models train: derivatives by autograd, Adam of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from numpy.random import Generator
from torch import Tensor

from ..._typing import State
from .fully_connected import Array32
from .layers import SplineNet
from .settings import NetworkSettings


class SplineNetwork:
    """The spline network, trained with Adam on the device that the settings name."""

    def __init__(self, s: NetworkSettings, n: int, outputs: int, rng: Generator, zero_output: bool) -> None:
        self.settings, self.device = s, _device(s.device)
        self.net = SplineNet(s, n, outputs, rng, zero_output).to(self.device).eval()
        self._new_optimiser()

    def _new_optimiser(self) -> None:
        s = self.settings
        groups: dict[bool, list[torch.nn.Parameter]] = {False: [], True: []}
        for name, parameter in self.net.named_parameters():
            groups[name.endswith("coefficients")].append(parameter)
        rates = {False: s.learning_rate, True: s.spline_learning_rate or s.learning_rate}
        parameters = [{"params": group, "lr": rates[key]} for key, group in groups.items() if group]
        self.optimiser = torch.optim.Adam(parameters, eps=s.adam_epsilon, fused=True)

    def _tensor(self, values: Array32) -> Tensor:
        return torch.from_numpy(values).to(self.device)

    def output(self, s: Array32) -> Array32:
        """Outputs (N, outputs) at points (N, n) of the cube."""
        with torch.no_grad():
            return _array(self.net(self._tensor(s)))

    def slope(self, s: Array32) -> Array32:
        """The derivative (N, n) of the sum of a point's outputs with respect to the point."""
        points = self._tensor(s).requires_grad_()
        (slope,) = torch.autograd.grad(self.net(points).sum(), points)
        return _array(slope)

    def train(self, s: Array32, slope_of: Callable[[Array32], Array32]) -> None:
        """One step of Adam at points ``s``; ``slope_of`` is the loss's derivative with respect to the outputs."""
        self.net.train()
        self.optimiser.zero_grad(set_to_none=True)
        out = self.net(self._tensor(s))
        out.backward(self._tensor(slope_of(_array(out.detach()))))
        self.optimiser.step()
        self.net.eval()

    def weights(self) -> State:
        """By the names of the parts."""
        return {name: _array(value).copy() for name, value in self.net.state_dict().items()}

    def load_weights(self, weights: State) -> None:
        """Go on from ``weights``."""
        self.net.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})

    def moments(self) -> list[State | None]:
        """Adam's, of each parameter; None before the first step."""
        moments: list[State | None] = []
        for parameter in self.net.parameters():
            if known := self.optimiser.state.get(parameter):
                first, second = (_array(known[name]).copy() for name in ("exp_avg", "exp_avg_sq"))
                moments.append({"step": float(known["step"]), "first": first, "second": second})
            else:
                moments.append(None)
        return moments

    def load_moments(self, moments: list[State | None]) -> None:
        """Go on from ``moments``; begin anew if there are none."""
        self._new_optimiser()
        for parameter, known in zip(self.net.parameters(), moments, strict=False):
            if known is not None:
                first, second = (self._tensor(known[name].copy()) for name in ("first", "second"))
                state = {"step": torch.tensor(known["step"]), "exp_avg": first, "exp_avg_sq": second}
                self.optimiser.state[parameter] = state

    def environment(self) -> dict[str, Any]:
        """What the last bits depend on."""
        version, threads = str(torch.__version__), torch.get_num_threads()
        return {"torch": version, "torch threads": threads, "device": str(self.device)}


def _array(tensor: Tensor) -> Array32:
    array: Array32 = tensor.detach().cpu().numpy()
    return array


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"the setting device = {name!r}: torch cannot use it here ({error})") from error
    return device
