"""Charts as inline SVG that fill the space they get; ticks and legends are HTML around it, so they never shrink."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .._typing import Array
from .markup import Html, data, join, number, tag

# Okabe and Ito's colours, which people with any colour vision can tell apart.
BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7"
_POINTS, _STOPS = 2000, 400
_QUARTER = float(np.finfo(float).max) / 4


def thin(y: Array, limit: int = _POINTS) -> npt.NDArray[np.intp]:
    """Indices of at most ``limit`` values: first, lowest, highest and last of equal stretches.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.zeros(100_000)
    >>> y[77_777] = 1
    >>> kept = thin(y)
    >>> len(kept) <= 2000, 77_777 in kept
    (True, True)
    """
    if len(y) <= limit:
        return np.arange(len(y))
    edges = np.linspace(0, len(y), limit // 4 + 1).astype(int)
    kept = [(a, a + np.argmin(y[a:b]), a + np.argmax(y[a:b]), b - 1) for a, b in pairwise(edges)]
    return np.unique(np.array(kept))


class Axis:
    """From values to positions 0...1, and where to put the ticks."""

    def __init__(
        self, values: Array, *, log: bool = False, zero: bool = False, whole: bool = False, least: float = 0.0
    ) -> None:
        self.log = log
        values = values[np.isfinite(values) & (values > least / 2 if log else True)]
        low, high = (float(np.min(values)), float(np.max(values))) if len(values) else (1.0, 1.0)
        self.whole = whole
        if log:
            low, high = math.log10(low), math.log10(high)
            spare = max(0.04 * (high - low), 0.15 if high - low < 0.5 else 0.0)
            self.low, self.high = low - spare, high + spare
            return
        low, high = (min(low, 0.0), max(high, 1.0) if whole else high) if zero else (low, high)
        # Quarters: the range of two values near the largest float must not overflow.
        spare = 0.0 if whole else max(0.05 * (high / 4 - low / 4), 1e-9 * max(abs(low), abs(high)) / 4)
        self.low, self.high = (low / 4 if zero else low / 4 - spare), high / 4 + spare
        if not self.low < self.high:
            self.low, self.high = self.low - 0.25, self.high + 0.25

    def __call__(self, values: Array) -> Array:
        """Positions; what does not fit is put on the edge."""
        with np.errstate(all="ignore"):
            scaled = np.log10(np.maximum(values, 0.0)) if self.log else values * 0.25
            return np.clip((scaled - self.low) / (self.high - self.low), 0.0, 1.0)

    def value(self, places: Array) -> Array:
        """The values at positions of a linear axis."""
        return np.clip(self.low + places * (self.high - self.low), -_QUARTER, _QUARTER) * 4

    def ticks(self) -> list[tuple[float, str]]:
        """Position and label of each tick."""
        low, high = self.low, self.high
        if self.log:
            every = math.ceil((high - low) / 7)
            powers = range(math.ceil(low), math.floor(high) + 1)
            if high - low >= 2:
                return [((k - low) / (high - low), _power(k)) for k in powers if k % every == 0]
            round_ones = [f * 10.0**k for k in range(math.floor(low), math.floor(high) + 1) for f in (1, 2, 5)]
            values = [v for v in round_ones if low <= math.log10(v) <= high]
            if len(values) > 2:
                return [(float(self(np.array([v]))[0]), f"{v:g}") for v in values]
            low, high = 10.0**low / 4, 10.0 ** min(high, 308.2) / 4
        step = _nice((high - low) / 5 * 4)
        step = max(step, 1.0) if self.whole else step
        places = range(math.ceil(low / (step / 4) - 1e-9), math.floor(high / (step / 4) + 1e-9) + 1)
        values = [v for k in places if math.isfinite(v := k * step)]
        return [(float(self(np.array([v]))[0]), _label(v, step)) for v in values]


def _nice(step: float) -> float:
    """The next of 1, 2, 5, 10, ... at or above a step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next((f * power for f in (1, 2, 5) if f * power >= step * (1 - 1e-9)), 10 * power)


def _power(k: int) -> str:
    if -3 <= k <= 4:
        return f"{10.0**k:,g}"
    return "10" + str(k).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _label(value: float, step: float) -> str:
    size = max(abs(value), step)
    if value != 0 and size >= 1e4 and size < 1e7 and step >= 1000:
        return f"{value / 1000:g}k"
    if value == 0 or 1e-4 <= size < 1e6:
        return f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9)) if step < 1 else 0}f}"
    return f"{value:.{math.ceil(math.log10(size / step) - 1e-9) + 1}g}"


@dataclass(frozen=True)
class Curve:
    """One line of a chart."""

    name: str
    x: Array
    y: Array
    colour: str
    kind: str = "line"
    """line, dashed, step, area (a step filled down to the axis), bars (stacked in order), band, or dots."""
    shown: Array | None = None
    """What the read-out says; None: y."""
    top: Array | None = None
    """The upper edge of a band."""
    about: str = ""
    """What the legend adds to the name."""

    @property
    def style(self) -> str:
        """The kind as drawn: dashes of a dense zigzag are no longer seen as such."""
        return "thin" if self.kind == "dashed" and len(self.x) > 300 else self.kind


def chart(
    name: str,
    title: str,
    note: str,
    curves: Sequence[Curve],
    *,
    x_label: str,
    y_label: str,
    x_axis: Axis,
    y_axis: Axis,
    wide: bool = False,
    unit: str = "",
    below: Html | None = None,
) -> Html:
    """A figure with title, legend, axes, curves and what its read-out says."""
    curves = [c for c in curves if np.isfinite(c.y).any()]
    if y_axis.log and not any(np.any(c.y > 0) for c in curves):
        curves = []
    parts: list[Html] = []
    base: Array | float = 0.0
    for c in curves:
        parts.append(_drawn(c, x_axis, y_axis, base))
        base = base + c.y if c.kind == "bars" else base
    grid = [*_lines(y_axis, "H"), *_lines(x_axis, "V")]
    svg = tag("svg", tag("path", d="".join(grid), class_="grid"), *parts, viewBox="0 0 1000 1000",
              preserveAspectRatio="none", role="img", aria_label=f"{title}. {note}")  # fmt: skip
    labels = [tag("span", text, class_="y", style=f"top:{100 - 100 * p:.2f}%") for p, text in y_axis.ticks()]
    labels += [tag("span", text, class_="x", style=f"left:{100 * p:.2f}%") for p, text in x_axis.ticks()]
    body: tuple[Html, ...]
    if curves:
        keys = [tag("span", tag("i", class_=c.style, style=f"--c:{c.colour}"), f"{c.name} {c.about}") for c in curves]
        body = (
            tag("div", *keys, class_="legend") if len(curves) > 1 else Html(),
            tag("div", y_label, class_="y-label"),
            tag("div", svg, *labels, data(_stops(curves, x_label, x_axis, y_axis, unit)), class_="plot", tabindex=0),
            tag("div", x_label, class_="x-label"),
        )
    else:
        body = (tag("p", "Nothing to show.", class_="empty"),)
    head = tag("figcaption", tag("h2", title), tag("p", note))
    return tag("figure", head, *body, below or "", id=name, class_="card wide" if wide else "card")


def _lines(axis: Axis, direction: str) -> list[str]:
    if direction == "H":
        return [f"M0 {1000 - 1000 * p:.1f}H1000" for p, _ in axis.ticks()]
    return [f"M{1000 * p:.1f} 0V1000" for p, _ in axis.ticks()]


def _drawn(c: Curve, x_axis: Axis, y_axis: Axis, base: Array | float) -> Html:
    fits = np.isfinite(c.y)
    if c.kind == "bars":
        x, half = 1000 * x_axis(c.x), 460 / max(len(c.x), 1)
        bottom, top = 1000 - 1000 * y_axis(base + 0 * c.y), 1000 - 1000 * y_axis(base + c.y)
        boxes = zip(x - half, bottom, x + half, top, strict=True)
        path = "".join(f"M{a:.1f} {b:.1f}V{d:.1f}H{e:.1f}V{b:.1f}Z" for a, b, e, d in boxes if abs(b - d) > 0.05)
        return tag("path", d=path, fill=c.colour)
    x, y = c.x[fits], c.y[fits]
    if c.kind == "band":
        top = np.asarray(c.top)[fits]
        edge = np.concatenate([x, x[::-1]]), np.concatenate([y, top[::-1]])
        return tag("path", d="M" + "L".join(_pairs(*edge, x_axis, y_axis)) + "Z", fill=c.colour, class_="band")
    if c.kind == "dots":
        path = "".join(f"M{pair}h0" for pair in _pairs(x, y, x_axis, y_axis))
        return tag("path", d=path, stroke=c.colour, class_="line dots")
    kept = thin(y)
    pairs = _pairs(x[kept], y[kept], x_axis, y_axis)
    if c.kind in ("step", "area"):
        path = f"M{pairs[0]}" + "".join("H{}V{}".format(*pair.split(" ")) for pair in pairs[1:])
        path += f"H{1000 * float(x_axis(x[-1:])[0]):.1f}"
    else:
        path = "M" + "L".join(pairs)
    line = tag("path", d=path, stroke=c.colour, class_=f"line {c.style}")
    ends = "" if len(pairs) > 1 else tag("path", d=path + "h0", stroke=c.colour, class_="line dot")
    if c.kind == "area":
        fill = f"{path}V1000H{pairs[0].split(' ')[0]}Z"
        return join(tag("path", d=fill, fill=c.colour, class_="band"), line, ends)
    return join(line, ends)


def _pairs(x: Array, y: Array, x_axis: Axis, y_axis: Axis) -> list[str]:
    places = zip(1000 * x_axis(x), 1000 - 1000 * y_axis(y), strict=True)
    return [f"{a:.1f} {b:.1f}" for a, b in places]


def _stops(curves: Sequence[Curve], x_label: str, x_axis: Axis, y_axis: Axis, unit: str) -> dict[str, object]:
    """Where the read-out can stand, and what it says there: the last value of each curve up to that place."""
    lines = [c for c in curves if c.kind not in ("band", "dots")] or list(curves)
    places = np.unique(np.concatenate([c.x for c in lines]))
    places = places[np.unique(np.linspace(0, len(places) - 1, min(len(places), _STOPS)).round().astype(int))]
    columns = []
    base: Array | float = 0.0
    for c in lines:
        at = np.searchsorted(c.x, places, side="right") - 1
        base = base + c.y if c.kind == "bars" else c.y
        height = np.where(at >= 0, (1 - y_axis(np.asarray(base)[at])).round(4), np.nan)
        text = [number(v, 5) for v in (c.y if c.shown is None else c.shown)[at]]
        columns.append(
            [[t + unit, h] if math.isfinite(h) else None for t, h in zip(text, height.tolist(), strict=True)]
        )
    rows = [
        [round(p, 4), number(v, 12 if x_axis.whole else 4), *cells]
        for p, v, *cells in zip(x_axis(places).tolist(), places, *columns, strict=True)
    ]
    return {"x": x_label, "names": [c.name for c in lines], "colours": [c.colour for c in lines], "rows": rows}
