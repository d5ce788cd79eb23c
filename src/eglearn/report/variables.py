"""What the points of a run show of its variables: parallel coordinates, and a slice for each variable."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._typing import Array
from .axes import Axis
from .charts import BLUE, ORANGE, SKY, Curve, card, drawing, plot
from .markup import Html, join, number, tag
from .record import Record
from .scale import Values

_SHOWN_LINES, _SLICES = 12, 8  # variables that are shown
_LOWEST, _SPREAD = 100, 400  # points: those with the lowest values, and others evenly over the run
_GOOD = 0.1  # share of the points that are called good


def variables(run: Record, values: Values) -> list[Html]:
    """Both charts; none if the file keeps no points."""
    chosen = _chosen(run.y)
    x = run.points(chosen)
    kept = np.isfinite(x).all(axis=1) if x.size else np.zeros(0, dtype=bool)
    if kept.sum() < 2:
        return []
    return _Points(run, values, chosen[kept], x[kept]).charts()


def _chosen(y: Array) -> npt.NDArray[np.intp]:
    """Evaluations whose points are shown, in order."""
    found = np.flatnonzero(np.isfinite(y))
    if len(found) <= _LOWEST + _SPREAD:
        return found
    lowest = found[np.argpartition(y[found], _LOWEST)[:_LOWEST]]
    spread = found[np.linspace(0, len(found) - 1, _SPREAD).astype(int)]
    return np.unique(np.concatenate([lowest, spread]))


class _Points:
    """Some points of a run, and which of its variables are shown."""

    def __init__(self, run: Record, values: Values, chosen: npt.NDArray[np.intp], x: Array) -> None:
        self.values, self.chosen, self.x, self.y = values, chosen, x, run.y[chosen]
        low, high = run.bounds
        with np.errstate(invalid="ignore"):  # a side without a bound: as far as the points go
            self.low = np.where(np.isfinite(low), low, x.min(axis=0))
            self.high = np.where(np.isfinite(high), high, x.max(axis=0))
        self.order = np.argsort(-self.y, kind="stable")  # the lowest last, on top of the others
        found = run.recommended_x()
        self.best = x[self.order[-1]] if found is None else found
        self.free = np.flatnonzero(self.low < self.high)
        moved = np.abs(self.place(self.best) - self.place(x[0]))
        self.ranked = self.free[np.argsort(-moved[self.free], kind="stable")]

    def place(self, x: Array) -> Array:
        """Where in the box, 0 to 1."""
        side = self.high / 4 - self.low / 4  # quarters: a side must not overflow
        return np.clip((x / 4 - self.low / 4) / np.where(side > 0, side, 1.0), 0.0, 1.0)

    def shown(self, limit: int) -> tuple[npt.NDArray[np.intp], str]:
        """At most so many variables in their order, and in words which."""
        if len(self.free) <= limit:
            return self.free, ""
        words = f" Shown are the {limit} of {len(self.free):,} variables that moved farthest from the first point."
        return np.sort(self.ranked[:limit]), words

    def charts(self) -> list[Html]:
        """Parallel coordinates if there are at least two variables, and slices."""
        if not len(self.free):
            return []
        return [*([self._parallel()] if len(self.free) > 1 else []), self._slices()]

    def _parallel(self) -> Html:
        shown, which = self.shown(_SHOWN_LINES)
        across = 1000 * np.arange(len(shown)) / (len(shown) - 1)
        heights = 1000 - 1000 * self.place(self.x)[self.order][:, shown]
        good = max(1, int(_GOOD * len(heights)))
        parts = []
        best = 1 - self.place(self.best)[shown]
        for lines, colour, kind in (
            (heights[:-good], SKY, "faint"),
            (heights[-good:], BLUE, "soft"),
            (1000 * best[None], ORANGE, ""),
        ):
            d = "".join("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, up, strict=True)) for up in lines)
            parts.append(tag("path", d=d, style=f"--c:{colour}", class_=f"line {kind}".strip()))
        names = [f"x[{k}]" for k in shown.tolist()]
        places = (across / 1000).tolist()
        rows = [
            [p, name, [f"{number(self.best[k], 6)} in {number(self.low[k])} to {number(self.high[k])}", round(h, 4)]]
            for p, name, k, h in zip(places, names, shown, best.tolist(), strict=True)
        ]
        stops: dict[str, object] = {"x": "variable", "names": ["recommended"], "colours": [ORANGE], "rows": rows}
        y_ticks = [(0.0, "low"), (0.5, "middle"), (1.0, "high")]
        title = "Parallel coordinates"
        note = f"A line is a point: where it lies between the bounds of each variable.{which}"
        said = ((ORANGE, "recommended point"), (BLUE, f"best {100 * _GOOD:.0f} % of those shown"), (SKY, "others"))
        keys = [tag("span", tag("i", style=f"--c:{colour}"), words) for colour, words in said]
        ticks = list(zip(places, names, strict=True))
        drawn = drawing(parts, ticks, y_ticks, stops, f"{title}. {note}")
        return card("parallel", title, note, tag("div", *keys, class_="legend"), drawn, tag("div", class_="x-label"),
                    wide=True)  # fmt: skip

    def _slices(self) -> Html:
        shown, which = self.shown(_SLICES)
        late = self.chosen >= np.median(self.chosen)
        panels = []
        for k in shown.tolist():
            x, name = self.x[:, k], f"x[{k}]"
            ends = np.array([self.low[k], self.high[k]])
            curves = [
                Curve("first half", x[~late], self.values.drawn(self.y[~late]), SKY, "dots", self.y[~late]),
                Curve("second half", x[late], self.values.drawn(self.y[late]), BLUE, "dots", self.y[late]),
            ]
            curves = [_sorted(c) for c in curves if len(c.x)]
            drawn = plot(
                curves, Axis(ends, tight=True), self.values.axis, x_label=name, y_label="", words=f"Slice of {name}"
            )
            panels.append(tag("div", drawn, class_="slice"))
        title = "Slices"
        note = f"Value of each point against one of its variables, on the scale of the convergence chart.{which}"
        keys = [tag("span", tag("i", class_="dots", style=f"--c:{c}"), f"{half} half of those shown")
                for half, c in (("first", SKY), ("second", BLUE))]  # fmt: skip
        body = tag("div", *panels, class_="slices")
        label = tag("div", self.values.label, class_="y-label")
        return card("slices", title, note, join(tag("div", *keys, class_="legend"), label), body, wide=True)


def _sorted(c: Curve) -> Curve:
    """The same dots from left to right, as the read-out needs them."""
    order = np.argsort(c.x, kind="stable")
    shown = None if c.shown is None else c.shown[order]
    return Curve(c.name, c.x[order], c.y[order], c.colour, c.kind, shown)
