"""Networks that learn the mean-gradient (EGL) or the values (IGL); the only room that imports torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from ..._typing import Array, State
from ..memory import Samples
from ..pairs import penalty, residuals
from ..samplers import ball
from .base import Fit, Model, pair_loss
from .closed_form import CLOSED_FORMS
from .layers import FullyConnected, SplineNet
from .settings import FieldSettings, NetworkSettings

# Most points in one pass when the whole replay is looked at: bounds the memory of the attention block.
_CHUNK = 4096


@dataclass(frozen=True)
class NetworkFit:
    """The network as it stands after a fit; the next fit of the same model changes it."""

    gradient: Callable[[Array], Array]
    loss: float


class _Network(Model):
    """What both networks share: architecture, optimiser, reset, state.

    Training that diverges to infinite numbers costs one fit, which then says "no slope": the weights go back to their
    initial values.
    """

    def __init__(self, settings: Any, n: int, rng: Generator, squash: bool, outputs: int, zero_output: bool) -> None:
        self.settings, self.n, self.squash = settings, n, squash
        self.device = _device(settings.device)
        architecture = {"fc": FullyConnected, "spline": SplineNet}[settings.model]
        self.net = architecture(settings, n, outputs, rng, zero_output).to(self.device)
        self._initial = self._weights()
        self._new_optimiser()

    def _new_optimiser(self) -> None:
        s = self.settings
        groups: dict[bool, list[torch.nn.Parameter]] = {False: [], True: []}
        for name, parameter in self.net.named_parameters():
            groups[name.endswith("coefficients")].append(parameter)
        rates = {False: s.learning_rate, True: s.spline_learning_rate or s.learning_rate}
        parameters = [{"params": group, "lr": rates[key]} for key, group in groups.items() if group]
        self.optimiser = torch.optim.Adam(parameters, eps=s.adam_epsilon, fused=True)

    def _weights(self) -> dict[str, np.ndarray[Any, Any]]:
        return {name: value.detach().cpu().numpy().copy() for name, value in self.net.state_dict().items()}

    def _load_weights(self, weights: dict[str, np.ndarray[Any, Any]]) -> None:
        self.net.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})

    def reset(self) -> None:
        """Back to the initial weights and a fresh optimiser, if the settings say so."""
        if self.settings.reset_network:
            self._restart()

    def _restart(self) -> None:
        self._load_weights(self._initial)
        self._new_optimiser()

    def state(self) -> State:
        """Weights, initial weights and Adam's moments."""
        moments: list[State | None] = []
        for parameter in self.net.parameters():
            if known := self.optimiser.state.get(parameter):
                first, second = (known[name].cpu().numpy().copy() for name in ("exp_avg", "exp_avg_sq"))
                moments.append({"step": float(known["step"]), "first": first, "second": second})
            else:
                moments.append(None)
        return {"weights": self._weights(), "initial": dict(self._initial), "moments": moments}

    def load_state(self, state: State) -> None:
        """Go on from ``state``."""
        self._load_weights(state["weights"])
        self._initial = dict(state["initial"])
        self._new_optimiser()
        for parameter, known in zip(self.net.parameters(), state["moments"], strict=True):
            if known is not None:
                first, second = (torch.from_numpy(known[name].copy()).to(self.device) for name in ("first", "second"))
                moments = {"step": torch.tensor(known["step"]), "exp_avg": first, "exp_avg_sq": second}
                self.optimiser.state[parameter] = moments

    def environment(self) -> dict[str, Any]:
        """What else the last bits depend on."""
        version, threads = str(torch.__version__), torch.get_num_threads()
        return {"torch": version, "torch threads": threads, "device": str(self.device)}

    def _tensor(self, values: Array) -> Tensor:
        return torch.from_numpy(values).to(self.device, torch.float32)

    def _output(self, z: Tensor) -> Tensor:
        """The network at z coordinates: it sees the region as [-1, 1]^n, as the splines need it."""
        s = torch.tanh(z) if self.squash else z.clip(-1, 1)
        out: Tensor = self.net(s)
        return out

    def _train(self, loss_of: Callable[[], Tensor]) -> None:
        self.net.train()
        for _ in range(self.settings.training_steps):
            self.optimiser.zero_grad(set_to_none=True)
            loss_of().backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
        self.net.eval()


class GradientNetwork(_Network):
    """g_theta: learns the mean-gradient from pairs, optionally on top of a closed-form part.

    >>> rng = np.random.default_rng(0)
    >>> z = 0.3 * rng.standard_normal((64, 2))
    >>> samples = Samples(z, z @ [1.0, -1.0], (64,), np.zeros(2))
    >>> model = GradientNetwork(FieldSettings(model="fc", training_steps=300), 2, rng)
    >>> g = model.fit(samples, 0.0, rng).gradient(np.zeros((1, 2)))[0]
    >>> bool(abs(g - [1, -1]).max() < 0.1)
    True
    """

    def __init__(self, settings: FieldSettings, n: int, rng: Generator, squash: bool = False) -> None:
        anchored = settings.anchor != "none"
        super().__init__(settings, n, rng, squash, outputs=n, zero_output=anchored)
        self.anchor = CLOSED_FORMS[settings.anchor](settings) if anchored else None

    def fit(self, samples: Samples, radius: float, rng: Generator) -> Fit:
        """Train, then keep the network's part only if it lowers the anchor's loss.

        The loss is that of all samples if it decides something, else of the newest batch, which is cheaper by far.
        """
        s = self.settings
        anchor = None if self.anchor is None else self.anchor.fit(samples, radius, rng)
        base = np.zeros_like(samples.z) if anchor is None else anchor.gradient(samples.z)
        loss_of = self._all_pairs if s.pairing == "all" else self._single_pairs
        self._train(loss_of(samples, base, radius, rng))
        judged = samples.newest() if anchor is None else samples
        learned = self._evaluate(judged.z)
        known = base[len(base) - len(judged.z) :]
        loss = pair_loss(known + learned, judged, s.pair_order, s.loss) if np.isfinite(learned).all() else math.inf
        if not math.isfinite(loss):
            self._restart()
        if anchor is None:
            return NetworkFit(self._evaluate if math.isfinite(loss) else np.zeros_like, loss)
        anchor_loss = pair_loss(base, samples, s.pair_order, s.loss)
        if not loss <= anchor_loss:
            return NetworkFit(anchor.gradient, anchor_loss)
        return NetworkFit(lambda z: anchor.gradient(z) + self._evaluate(z), loss)

    def _evaluate(self, z: Array) -> Array:
        with torch.no_grad():
            parts = [self._output(self._tensor(part)) for part in np.split(z, range(_CHUNK, len(z), _CHUNK))]
            return torch.cat(parts).cpu().numpy().astype(np.float64)

    def _all_pairs(self, samples: Samples, base: Array, radius: float, rng: Generator) -> Callable[[], Tensor]:
        """All pairs of a few batches drawn anew for each training step; one pass an anchor serves all partners."""
        s, n = self.settings, self.n
        differences, values, weights = samples.padded()  # points relative to their batch's mean
        count, largest = values.shape
        drawn = min(count, max(1, round(s.minibatch / largest)))
        inside = weights > 0
        arguments, offsets = np.zeros((2, count, largest, n))
        arguments[inside], offsets[inside] = samples.z, base
        means = (values * weights).sum(axis=1) / weights.sum(axis=1)
        z, at, g0, v, w = map(self._tensor, (differences, arguments, offsets, values - means[:, None], weights))

        def loss() -> Tensor:
            rows = torch.from_numpy(rng.permutation(count)[:drawn]).to(self.device)
            argument = at[rows].reshape(-1, n)
            if radius > 0:  # the perturbed mean-gradient dithers the argument alone
                argument = argument + self._tensor(radius * ball(rng, len(argument), n))
            g = self._output(argument).reshape(drawn, largest, n) + g0[rows]
            pair_weights = w[rows][:, :, None] * w[rows][:, None, :]
            each = penalty(residuals(g, z[rows], v[rows], s.pair_order), s.loss)
            total: Tensor = (each * pair_weights).sum() / pair_weights.sum()
            return total

        return loss

    def _single_pairs(self, samples: Samples, base: Array, radius: float, rng: Generator) -> Callable[[], Tensor]:
        """One random partner an anchor, as the paper trains: distinct anchors from the whole replay."""
        s, n, sizes = self.settings, self.n, np.array(samples.sizes)
        starts, size_of = np.repeat(np.cumsum(sizes) - sizes, sizes), np.repeat(sizes, sizes)
        count = min(s.minibatch, len(samples.v))

        def loss() -> Tensor:
            i = rng.permutation(len(samples.v))[:count]
            j = starts[i] + rng.integers(0, size_of[i])
            dither = radius * ball(rng, 2 * count, n) if radius > 0 else np.zeros((2 * count, n))
            step = self._tensor(samples.z[j] - samples.z[i])
            gain = self._tensor(samples.v[j] - samples.v[i])
            g = self._output(self._tensor(samples.z[i] + dither[:count])) + self._tensor(base[i])
            if s.pair_order == "trapezoid":
                g = (g + self._output(self._tensor(samples.z[j] + dither[count:])) + self._tensor(base[j])) / 2
            total: Tensor = penalty((g * step).sum(dim=1) - gain, s.loss).mean()
            return total

        return loss


class ValueNetwork(_Network):
    """f_theta: learns the values; its gradient is the parametric one (alg. 1).

    >>> rng = np.random.default_rng(0)
    >>> z = 0.3 * rng.standard_normal((64, 2))
    >>> samples = Samples(z, z @ [1.0, -1.0], (64,), np.zeros(2))
    >>> model = ValueNetwork(FieldSettings(model="fc", training_steps=300), 2, rng)
    >>> g = model.fit(samples, 0.0, rng).gradient(np.zeros((1, 2)))[0]
    >>> bool(abs(g - [1, -1]).max() < 0.2)
    True
    """

    def __init__(self, settings: NetworkSettings, n: int, rng: Generator, squash: bool = False) -> None:
        super().__init__(settings, n, rng, squash, outputs=1, zero_output=False)

    def fit(self, samples: Samples, radius: float, rng: Generator) -> Fit:
        """Regression of the values on random minibatches of points."""
        s = self.settings
        z, v = self._tensor(samples.z), self._tensor(samples.v)
        count = min(s.minibatch, len(v))

        def loss() -> Tensor:
            rows = torch.from_numpy(rng.permutation(len(v))[:count]).to(self.device)
            total: Tensor = penalty(self._output(z[rows])[:, 0] - v[rows], s.loss).mean()
            return total

        self._train(loss)
        newest = samples.sizes[-1]
        with torch.no_grad():
            final = float(penalty(self._output(z[-newest:])[:, 0] - v[-newest:], s.loss).mean())
        if not math.isfinite(final):
            self._restart()
            return NetworkFit(np.zeros_like, math.inf)
        return NetworkFit(self._gradient, final)

    def _gradient(self, z: Array) -> Array:
        points = self._tensor(z).requires_grad_()
        (gradient,) = torch.autograd.grad(self._output(points).sum(), points)
        return gradient.cpu().numpy().astype(np.float64)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"the setting device = {name!r}: torch cannot use it here ({error})") from error
    return device
