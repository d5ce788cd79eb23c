"""Charts as inline SVG that fill the space they get; ticks and legends are HTML around it, so they never shrink."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .._typing import Array
from .axes import Axis
from .markup import Html, data, join, number, tag

# Okabe and Ito's colours, which people with any colour vision can tell apart.
# The style sheet has lighter ones for a dark page.
BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE = (
    f"var(--{name})" for name in ("blue", "orange", "green", "vermillion", "sky", "purple")
)
_POINTS, _STOPS = 2000, 400


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
    """A figure with title, legend, axes and curves; nothing if there is nothing to show."""
    curves = [c for c in curves if np.isfinite(c.y).any()]
    if not curves or (y_axis.log and not any(np.any(c.y > 0) for c in curves)):
        return Html()
    keys = [tag("span", tag("i", class_=c.style, style=f"--c:{c.colour}"), f"{c.name} {c.about}") for c in curves]
    return card(
        name, title, note,
        tag("div", *keys, class_="legend") if len(curves) > 1 else Html(),
        plot(curves, x_axis, y_axis, x_label=x_label, y_label=y_label, unit=unit, words=f"{title}. {note}"),
        below or "",
        wide=wide,
    )  # fmt: skip


def card(name: str, title: str, note: str, *body: Html | str, wide: bool = False) -> Html:
    """A figure: its title, how to read it, and what it shows."""
    head = tag("figcaption", tag("h2", title), tag("p", note))
    return tag("figure", head, *body, id=name, class_="card wide" if wide else "card")


def plot(
    curves: Sequence[Curve], x_axis: Axis, y_axis: Axis, *, x_label: str, y_label: str, words: str, unit: str = ""
) -> Html:
    """Axes with their labels, curves, and what the read-out says of them; ``words`` are for who cannot see them."""
    parts: list[Html] = []
    base: Array | float = 0.0
    for c in curves:
        parts.append(_drawn(c, x_axis, y_axis, base))
        base = base + c.y if c.kind == "bars" else base
    return join(
        tag("div", y_label, class_="y-label"),
        drawing(parts, x_axis.ticks(), y_axis.ticks(), _stops(curves, x_label, x_axis, y_axis, unit), words),
        tag("div", x_label, class_="x-label"),
    )


Ticks = Sequence[tuple[float, str]]


def drawing(parts: Sequence[Html], x_ticks: Ticks, y_ticks: Ticks, stops: dict[str, object], words: str) -> Html:
    """Shapes in a square of 1000, on a grid, with the ticks around it."""
    grid = [f"M0 {1000 - 1000 * p:.1f}H1000" for p, _ in y_ticks] + [f"M{1000 * p:.1f} 0V1000" for p, _ in x_ticks]
    svg = tag("svg", tag("path", d="".join(grid), class_="grid"), *parts, viewBox="0 0 1000 1000",
              preserveAspectRatio="none", role="img", aria_label=words)  # fmt: skip
    labels = [tag("span", text, class_="y", style=f"top:{100 - 100 * p:.2f}%") for p, text in y_ticks]
    labels += [
        tag("span", text, class_="x end" if p > 0.9 and len(text) > 7 else "x", style=f"left:{100 * p:.2f}%")
        for p, text in x_ticks
    ]
    longest = max((len(text) for _, text in y_ticks), default=0)
    room = f"margin-left:{7 * longest + 7}px" if longest > 6 else None  # else that of the style sheet
    return tag("div", svg, *labels, data(stops), class_="plot", tabindex=0, style=room)


def _drawn(c: Curve, x_axis: Axis, y_axis: Axis, base: Array | float) -> Html:
    fits = np.isfinite(c.y)
    if c.kind == "bars":
        x, half = 1000 * x_axis(c.x), 460 / max(len(c.x), 1)
        bottom, top = 1000 - 1000 * y_axis(base + 0 * c.y), 1000 - 1000 * y_axis(base + c.y)
        boxes = zip(x - half, bottom, x + half, top, strict=True)
        path = "".join(f"M{a:.1f} {b:.1f}V{d:.1f}H{e:.1f}V{b:.1f}Z" for a, b, e, d in boxes if abs(b - d) > 0.05)
        return _path(path, c.colour, "fill")
    x, y = c.x[fits], c.y[fits]
    if c.kind == "band":
        top = np.asarray(c.top)[fits]
        edge = np.concatenate([x, x[::-1]]), np.concatenate([y, top[::-1]])
        return _path("M" + "L".join(_pairs(*edge, x_axis, y_axis)) + "Z", c.colour, "fill band")
    if c.kind == "dots":
        path = "".join(f"M{pair}h0" for pair in _pairs(x, y, x_axis, y_axis))
        return _path(path, c.colour, "line dots")
    kept = thin(y)
    pairs = _pairs(x[kept], y[kept], x_axis, y_axis)
    if c.kind in ("step", "area"):
        path = f"M{pairs[0]}" + "".join("H{}V{}".format(*pair.split(" ")) for pair in pairs[1:])
        path += f"H{1000 * float(x_axis(x[-1:])[0]):.1f}"
    else:
        path = "M" + "L".join(pairs)
    line = _path(path, c.colour, f"line {c.style}")
    ends = "" if len(pairs) > 1 else _path(path + "h0", c.colour, "line dot")
    if c.kind == "area":
        fill = f"{path}V1000H{pairs[0].split(' ')[0]}Z"
        return join(_path(fill, c.colour, "fill band"), line, ends)
    return join(line, ends)


def _path(d: str, colour: str, kind: str) -> Html:
    return tag("path", d=d, style=f"--c:{colour}", class_=kind)


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
