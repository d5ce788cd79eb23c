"""The charts of a report: what is plotted, on which scale, and the words around it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from .._typing import Array
from ..learning.output import OutputMap
from ..learning.values import ENTERS
from ..result import counted
from .axes import Axis
from .charts import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, Curve, chart
from .markup import Html, duration, tag
from .record import Record
from .scale import Values
from .variables import variables

_X_LABEL = "evaluations"
_DOTS = 600  # so many values are drawn one by one, more as a band
_STRETCHES = 300  # of the band
_HISTOGRAM_OF = 2000  # values in a histogram
_BINS, _TIME_BARS = 40, 100
_LISTED = 12  # error messages


def figures(run: Record) -> list[Html]:
    """All charts that have something to show, in their order."""
    values = Values(run)
    model = [_model(run)] if run.algorithm.uses("model") else []
    rest = [_region(run), *model, *_histograms(run), _failures(run), _timing(run)]
    return [chart for chart in (_convergence(run, values), *variables(run, values), *rest) if chart]


def meter(parts: Iterable[tuple[float, str]], name: str = "meter") -> Html:
    """A bar with shares of it in colours."""
    return tag("div", *(tag("i", style=f"width:{100 * p:.3f}%;--c:{c}") for p, c in parts), class_=name)


def _counted(run: Record) -> Axis:
    """Evaluations: those of the budget while the run goes on, then those used."""
    used, budget = len(run.y), run.identity.get("budget")
    high = max(used, budget) if run.result is None and isinstance(budget, int) else used
    return Axis(np.array([0.0, max(high, 1)]), whole=True)


def _convergence(run: Record, values: Values) -> Html:
    y, count, drawn = run.y, len(run.y), values.drawn
    order, candidate = np.arange(1.0, count + 1), run.series("candidate")
    if count > _DOTS:
        edges = np.linspace(0, count, _STRETCHES + 1).astype(int)
        spans = [(a, b) for a, b in pairwise(edges) if np.isfinite(y[a:b]).any()]
        low, high = (np.array([reduce(y[a:b]) for a, b in spans]) for reduce in (np.nanmin, np.nanmax))
        middle = np.array([(a + b + 1) / 2 for a, b in spans])
        everything = Curve("all values", middle, drawn(low), SKY, "band", None, drawn(high), "(lowest to highest)")
    else:
        everything = Curve("all values", order, drawn(y), SKY, "dots")
    about = "(best point of the current search)" if run.in_searches else ""
    if run.noisy:
        about = "(best point of the current search; since noise was found, estimate at x_favorite)"
    curves = [
        everything,
        Curve("candidate", run.nfev, drawn(candidate), ORANGE, "dashed", candidate, about=about),
        Curve("best so far", order, drawn(values.best), BLUE, "step", values.best),
    ]
    return chart("convergence", "Convergence", values.note, curves, x_label=_X_LABEL, y_label=values.label,
                 x_axis=_counted(run), y_axis=values.axis, wide=True)  # fmt: skip


def _region(run: Record) -> Html:
    epsilon = run.series("epsilon")
    begun = np.flatnonzero(np.diff(run.series("restarts"), prepend=0.0) > 0)
    curves = [
        Curve("region", run.nfev, run.series("region"), BLUE, about="(half side, that of the box is 1)"),
        Curve("epsilon", run.nfev, epsilon, ORANGE, "dashed", about="(radius of exploration)"),
        Curve("alpha", run.nfev, run.series("alpha"), GREEN, about="(step size)"),
        Curve("restart", run.nfev[begun], epsilon[begun], BLUE, "dots", about=f"({len(begun):,} in all)"),
    ]
    title = "Region and exploration" if run.algorithm.uses("region") else "Exploration"
    note = "How far the search looks around its candidate; it shrinks as the search settles. No unit, log scale."
    if run.in_searches:
        note = "How far the current search looks around; it shrinks as that settles. Half the box is 1, log scale."
    return _over_evaluations("region", title, note, "size, log scale", curves, run)


def _model(run: Record) -> Html:
    curves = [
        Curve("gradient norm", run.nfev, run.series("gradient_norm"), BLUE),
        Curve("model loss", run.nfev, run.series("loss"), ORANGE, "dashed"),
    ]
    values = ", in mapped values" if run.algorithm.uses("output_map") else ""
    note = f"The learned gradient, and the error of its model on the pairs{values}. No unit, log scale."
    return _over_evaluations("model", "Gradient norm and model loss", note, "norm and loss, log scale", curves, run)


def _over_evaluations(name: str, title: str, note: str, label: str, curves: list[Curve], run: Record) -> Html:
    axis = Axis(np.concatenate([c.y for c in curves]), log=True)
    return chart(name, title, note, curves, x_label=_X_LABEL, y_label=label, x_axis=_counted(run), y_axis=axis)


def _histograms(run: Record) -> list[Html]:
    raw = run.y[np.isfinite(run.y)][-_HISTOGRAM_OF:]
    last = "the only value" if len(raw) == 1 else f"the last {len(raw):,} values"
    note = f"As they came from the objective: {last}."
    shown = [_histogram("raw", "Raw values", note, "value", raw, BLUE)]
    if not run.algorithm.uses("output_map"):
        return shown
    settings = run.identity.get("settings", {})
    output = OutputMap(settings.get("output_map", "log"), settings.get("output_quantile", 0.1), 1.0)
    entered = ENTERS * raw
    if len(raw):
        output.update(entered)
    note = f"What the model learns from: {last} through the output map {output.kind!r}, taken together."
    return [*shown, _histogram("mapped", "Mapped values", note, "mapped value, no unit", output(entered), GREEN)]


def _histogram(name: str, title: str, note: str, label: str, values: Array, colour: str) -> Html:
    axis, bins = Axis(values), min(_BINS, 8 + len(values) // 8)
    counts, _ = np.histogram(axis(values), bins=bins, range=(0, 1))
    curve = Curve(_X_LABEL, axis.value((np.arange(bins) + 0.5) / bins), counts.astype(float), colour, "bars")
    return chart(name, title, note, [curve] if len(values) else [], x_label=label, y_label=_X_LABEL,
                 x_axis=axis, y_axis=Axis(curve.y, zero=True, whole=True))  # fmt: skip


def _failures(run: Record) -> Html:
    total, curves, rows = int(run.failed.sum()), [], []
    if total:
        x = np.concatenate([[0.0], np.flatnonzero(run.failed) + 1.0, [len(run.y)]])
        y = np.append(np.arange(total + 1.0), total)
        curves = [Curve("failed evaluations", x, y, VERMILLION, "area")]
        listed = run.errors.most_common(_LISTED)
        rows = [(k, e if len(e) <= 300 else e[:297] + "...") for e, k in listed]
        if more := len(run.errors) - len(listed):
            rows.append((total - sum(k for k, _ in rows), counted(f"{more:,}", "other message")))
    body = tag("tbody", *(tag("tr", tag("td", f"{k:,}", class_="n"), tag("td", e)) for k, e in rows))
    head = tag("thead", tag("tr", tag("th", "count", class_="n"), tag("th", "error")))
    note = "Failed evaluations up to each moment, all kinds together." if total else "No evaluation failed."
    return chart("failures", "Failures", note, curves, x_label=_X_LABEL, y_label="failed, total",
                 x_axis=_counted(run), y_axis=Axis(np.array([0.0, total]), zero=True, whole=True),
                 below=tag("table", head, body) if rows else None)  # fmt: skip


def _timing(run: Record) -> Html:
    times, count = run.times, int(run.nfev[-1]) if run.progress else 0
    kinds = [("evaluation", times.evaluation, BLUE), ("learning", times.learning, ORANGE), ("rest", times.rest, PURPLE)]
    edges = np.linspace(0, count, min(count, len(run.progress), _TIME_BARS) + 1)
    unit, factor = ("ms", 1000) if times.total < count else ("s", 1)
    curves, split = [], None
    if times.total > 0 and count > 0:
        for name, seconds, colour in kinds:
            spent = np.interp(edges, np.append(0.0, run.nfev), np.append(0.0, np.cumsum(seconds)))
            about = f"{duration(seconds.sum())} ({100 * seconds.sum() / times.total:.0f} %)"
            means = factor * np.diff(spent) / np.diff(edges)
            curves.append(Curve(name, (edges[1:] + edges[:-1] + 1) / 2, means, colour, "bars", about=about))
        split = meter(((seconds.sum() / times.total, colour) for _, seconds, colour in kinds), "split")
    paused = f" Pauses of {duration(times.paused)} in total are left out." if times.paused else ""
    note = f"Time per evaluation: waiting for values, learning, and the rest, such as writing the file.{paused}"
    height = np.sum([c.y for c in curves], axis=0) if curves else np.zeros(1)
    axis = Axis(np.array([0.5, count + 0.5]), whole=True)
    return chart("timing", "Time", note, curves, x_label=_X_LABEL, y_label=f"{unit} per evaluation",
                 unit=f" {unit}", x_axis=axis, y_axis=Axis(height, zero=True), below=split)  # fmt: skip
