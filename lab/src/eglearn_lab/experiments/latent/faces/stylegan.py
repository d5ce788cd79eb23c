"""MobileStyleGAN, read from the user's installation of the package ``random-face`` and run with torch.

The package holds the two networks as OpenVINO graphs; their weights are read where they are and never copied. Belousov
2021 (arXiv:2104.04767) distilled them from NVIDIA's StyleGAN2 for FFHQ, whose licence is for non-commercial use.
Needs ``eglearn-lab[faces]``.
"""

from __future__ import annotations

import importlib.util
import math
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

_KINDS = {"f32": np.float32, "i64": np.int64, "i32": np.int32}
_SLOPE = 0.2  # of both networks' leaky ReLUs; the reader refuses any other
_ROOT_HALF = math.sqrt(0.5)


class _Graph:
    """An OpenVINO graph: nodes in the order of computation, where each gets its inputs from, and the constants."""

    def __init__(self, path: Path) -> None:
        root = ElementTree.parse(path).getroot()
        data = path.with_suffix(".bin").read_bytes()
        self.kinds: dict[str, str] = {}
        self.constants: dict[str, Tensor] = {}
        self.inputs: dict[str, list[str]] = {}
        for layer in root.iterfind("layers/layer"):
            name, kind = layer.attrib["id"], layer.attrib["type"]
            self.kinds[name], self.inputs[name] = kind, []
            if kind == "Const":
                about = next(layer.iterfind("data")).attrib
                shape = [int(side) for side in about["shape"].split(",") if side]
                values = np.frombuffer(
                    data, _KINDS[about["element_type"]], offset=int(about["offset"]), count=math.prod(shape)
                )
                self.constants[name] = torch.from_numpy(values.reshape(shape).copy())
        for edge in sorted(root.iterfind("edges/edge"), key=lambda edge: int(edge.attrib["to-port"])):
            self.inputs[edge.attrib["to-layer"]].append(edge.attrib["from-layer"])

    def constant(self, name: str) -> Tensor | None:
        """The constant that a node works with, if it has one."""
        return next((self.constants[source] for source in self.inputs[name] if source in self.constants), None)

    def style(self, name: str) -> tuple[Tensor, Tensor] | None:
        """Matrix and offset of a style, if the node's value is an affine map of w."""
        scale = 1.0
        while self.kinds[name] in ("Reshape", "Multiply"):
            held = self.constant(name)
            scale *= 1.0 if held is None or self.kinds[name] == "Reshape" else held.item()
            name = self.inputs[name][0]
        offset = self.constant(name)
        if self.kinds[name] != "Add" or offset is None or self.kinds[self.inputs[name][0]] != "MatMul":
            return None
        matrix = self.constant(self.inputs[name][0])
        return None if matrix is None else (scale * matrix, scale * offset[0])


@dataclass
class _Step:
    """One styled layer: scale the channels by the style, then convolve or double the side."""

    matrix: Tensor
    offset: Tensor
    kernels: list[Tensor] = field(default_factory=list)
    bias: Tensor | None = None
    noise: Tensor | None = None
    leaky: bool = False
    haar: bool = False

    def __call__(self, x: Tensor, w: Tensor) -> Tensor:
        x = x * functional.linear(w, self.matrix, self.offset)[:, :, None, None]
        for kernel in self.kernels:
            depthwise = kernel.shape[1] == 1
            x = functional.conv2d(
                x, kernel, None if kernel is not self.kernels[-1] else self.bias, padding=kernel.shape[-1] // 2,
                groups=len(kernel) if depthwise else 1,
            )  # fmt: skip
        if self.noise is not None:
            x += self.noise
        if self.leaky:
            functional.leaky_relu_(x, _SLOPE)
        return double(x) if self.haar else x


def double(x: Tensor) -> Tensor:
    """The inverse Haar transform: (k, 4 c, s, s) to (k, c, 2 s, 2 s).

    The first c channels are the mean; of the others, each three in a row are differences down, across, and of both.
    """
    batch, channels, side, _ = x.shape
    x = x / 2
    mean, rest = x[:, : channels // 4], x[:, channels // 4 :].reshape(batch, -1, 3, side, side)
    down, across, both = rest.unbind(2)
    out = torch.empty((batch, channels // 4, 2 * side, 2 * side), dtype=x.dtype, memory_format=torch.channels_last)
    for row, upper in ((0, mean + down), (1, mean - down)):
        right = across - both if row else across + both
        out[:, :, row::2, 0::2] = upper + right
        out[:, :, row::2, 1::2] = upper - right
    return out


class StyleGAN:
    """z to w, and w to images or to the features from which they are made."""

    def __init__(self) -> None:
        spec = importlib.util.find_spec("random_face")
        if spec is None or spec.origin is None:
            raise ImportError("the faces need random-face: pip install 'eglearn-lab[faces]'")
        folder = Path(spec.origin).parent / "data"
        self._layers = _read_mapping(_Graph(folder / "MappingNetwork.xml"))
        self._first, self._steps = _read_synthesis(_Graph(folder / "SynthesisNetwork.xml"))

    def mapping(self, z: Tensor) -> Tensor:
        """W (k, 512) of z (k, 512), which counts by its direction only."""
        x = z * torch.rsqrt((z**2).mean(1, keepdim=True) + 1e-8)
        for matrix, offset in self._layers:
            x = math.sqrt(2) * functional.leaky_relu(functional.linear(x, matrix, offset), _SLOPE)
        return x

    def features(self, w: Tensor, steps: int = 11) -> Tensor:
        """The first steps of the synthesis; eleven give 128 channels of 64 x 64 pixels, for 3 % of the work."""
        x = self._first.expand(len(w), -1, -1, -1).contiguous(memory_format=torch.channels_last)
        for step in self._steps[:steps]:
            x = step(x, w)
        return x

    def images(self, w: Tensor) -> Tensor:
        """Images (k, 3, 1024, 1024) in [-1, 1]."""
        return self.features(w, len(self._steps)).clamp(-1, 1)


def _read_mapping(graph: _Graph) -> list[tuple[Tensor, Tensor]]:
    layers: list[tuple[Tensor, Tensor]] = []
    for name, kind in graph.kinds.items():
        held = graph.constant(name)
        if kind == "MatMul" and held is not None:
            layers.append((held, torch.zeros(len(held))))
        elif kind == "Reshape" and held is not None and layers:
            layers[-1] = (layers[-1][0], held)
    return layers


def _read_synthesis(graph: _Graph) -> tuple[Tensor, list[_Step]]:
    first = next(held for held in graph.constants.values() if held.shape == (1, 512, 4, 4))
    steps: list[_Step] = []
    for name, kind in graph.kinds.items():
        held = graph.constant(name)
        if kind == "Multiply" and held is None:
            styles = [style for source in graph.inputs[name] if (style := graph.style(source)) is not None]
            steps.append(_Step(*styles[0]))
        elif not steps or (kind == "Add" and held is None):  # styles come before all steps; sums belong to Haar
            continue
        elif kind in ("Convolution", "GroupConvolution") and held is not None:
            kernel = held.reshape(-1, *held.shape[-3:])
            steps[-1].kernels.append(kernel.contiguous(memory_format=torch.channels_last))
        elif kind == "Add" and held is not None:
            if held.shape[1] == 1:
                steps[-1].noise = held
            else:
                steps[-1].bias = held.flatten()
        elif kind == "PReLU" and held is not None and held.item() == np.float32(_SLOPE):
            steps[-1].leaky = True
        elif kind == "VariadicSplit":
            steps[-1].haar = True
    return first, steps
