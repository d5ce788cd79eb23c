"""Pictures of a run, drawn with matplotlib: ``RunHistory.plot``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._typing import Array

if TYPE_CHECKING:
    from .history import RunHistory

# Colours that are told apart by everyone (Okabe and Ito 2008).
_BLUE, _RED, _GREY = "#0072B2", "#D55E00", "#999999"
_FITTING = {"parallel": 12, "slices": 12, "pairs": 5}  # coordinates that fit
_PARALLEL, _SHOWN = 300, 5000  # points of a picture with parallel coordinates, and of all others
_WIDE_RANGE = 50.0  # from here on a logarithmic axis

Numbers = npt.NDArray[np.intp]
Picture = Callable[["RunHistory", list[int], list[str]], Any]


def draw(history: RunHistory, kind: str, variables: Sequence[int | str] | None, names: list[str]) -> Any:
    """See ``RunHistory.plot``."""
    if not isinstance(kind, str) or kind not in _PICTURES:
        raise ValueError(f"kind = {kind!r}: it must be one of {', '.join(map(repr, _PICTURES))}")
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError as error:
        raise ImportError("plot() needs matplotlib: pip install 'eglearn[plot]'") from error
    if not np.isfinite(history.y).any():
        raise ValueError("no evaluation has succeeded: there is nothing to plot")
    if kind in _FITTING and not np.isfinite(history.y[history.kept]).any():
        raise ValueError(f"kind = {kind!r}: no point was kept, so only 'convergence' and 'timeline' can be drawn")
    n = len(names)
    if variables is None:
        chosen = list(range(min(n, _FITTING.get(kind, n))))
    else:
        several = isinstance(variables, Iterable) and not isinstance(variables, str)
        wanted = [names.index(v) if v in names else v for v in variables] if several else []
        chosen = [int(v) for v in wanted if isinstance(v, int | np.integer) and 0 <= v < n]
        if not chosen or len(chosen) < len(wanted):
            raise ValueError(f"variables = {variables!r}: it must be a list of names, or of numbers from 0 to {n - 1}")
    return _PICTURES[kind](history, chosen, names)


def _convergence(history: RunHistory, chosen: list[int], names: list[str]) -> Any:
    """The lowest value so far over evaluations, and all values as dots."""
    axes = _figure(1, 1, 6.4, 4.0)[0, 0]
    number = _numbers(history)
    lowest, y, failed = history.best_so_far(), history.y, history.failed & (number > 0)
    shown = _some(np.flatnonzero(np.isfinite(y)))
    axes.plot(number[shown], y[shown], ".", color=_GREY, markersize=2, alpha=0.5, label="value", rasterized=True)
    steps = np.flatnonzero(np.diff(lowest, prepend=np.nan, append=np.nan)[:-1] != 0)  # all others repeat one
    steps = np.append(steps, len(lowest) - 1)
    axes.step(number[steps], lowest[steps], where="post", color=_BLUE, linewidth=1.8, label="lowest so far")
    if failed.any():
        those = number[_some(np.flatnonzero(failed))]
        axes.plot(
            those, np.full(len(those), 0.02), "|", color=_RED, transform=axes.get_xaxis_transform(),
            label=f"failed ({failed.sum():,})", markersize=4,
        )  # fmt: skip
    _value_axis(axes.yaxis, lowest[np.isfinite(lowest)], y)
    axes.set_xlabel("evaluations")
    axes.set_ylabel("value")
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, markerscale=3)
    return axes


def _parallel(history: RunHistory, chosen: list[int], names: list[str]) -> Any:
    """Parallel coordinates: points evenly from the best to the worst, the best one thick."""
    from matplotlib import pyplot

    axes = _figure(1, 1, max(4.0, 1.1 * len(chosen) + 1.6), 4.2)[0, 0]
    x, y = _points(history)
    order = np.argsort(y)
    order = order[np.unique(np.linspace(0, len(y) - 1, _PARALLEL).round().astype(int))]
    x, y = x[order][:, chosen], y[order]
    low, high = _limits(history, x, chosen)
    share = (x - low) / np.where(high > low, high - low, 1.0)
    places = np.arange(len(chosen))
    colours = pyplot.get_cmap(_colours())(np.linspace(1.0, 0.0, len(y)))
    for i in range(len(y) - 1, 0, -1):
        axes.plot(places, share[i], color=colours[i], linewidth=0.7, alpha=0.5)
    axes.plot(places, share[0], color=_RED, linewidth=2.2, marker="o", markersize=4, label=f"best, {y[0]:.4g}")
    for place in places:
        axes.plot([place, place], [0, 1], color=pyplot.rcParams["axes.edgecolor"], linewidth=0.6, zorder=0)
        axes.text(place, 1.02, f"{high[place]:.3g}", ha="center", va="bottom", fontsize=8)
        axes.text(place, -0.02, f"{low[place]:.3g}", ha="center", va="top", fontsize=8)
    axes.set_xticks(places, [names[i] for i in chosen])
    axes.tick_params(axis="x", length=0, pad=2)
    axes.set_yticks([])
    axes.set_ylim(-0.08, 1.08)
    axes.spines[:].set_visible(False)
    axes.set_title(f"{len(y):,} points, {'brighter' if _is_dark() else 'darker'} is lower", fontsize=10, pad=12)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axes


def _slices(history: RunHistory, chosen: list[int], names: list[str]) -> Any:
    """The value over each coordinate, later points stand out."""
    columns = min(4, len(chosen))
    rows = -(-len(chosen) // columns)
    all_axes = _figure(rows, columns, 2.4 * columns + 0.6, 2.2 * rows + 0.3, sharey=True)
    x, y = _points(history)
    lowest = int(np.argmin(y))
    for place, (axes, i) in enumerate(zip(all_axes.flat, chosen, strict=False)):
        axes.scatter(x[:, i], y, s=5, c=np.arange(len(y)), cmap=_colours(), linewidths=0, alpha=0.7, rasterized=True)
        axes.plot(x[lowest, i], y[lowest], "*", color=_RED, markersize=10)
        _value_axis(axes.yaxis, np.minimum.accumulate(y), y)
        axes.set_xlabel(names[i])
        if place % columns == 0:
            axes.set_ylabel("value")
    for axes in all_axes.flat[len(chosen) :]:
        axes.set_visible(False)
    return all_axes


def _pairs(history: RunHistory, chosen: list[int], names: list[str]) -> Any:
    """Each coordinate over each other one, low values stand out, and are in front."""
    size = max(1, len(chosen) - 1)
    all_axes = _figure(size, size, 2.0 * size + 0.9, 2.0 * size + 0.6, sharex="col", sharey="row")
    x, y = _points(history)
    order = np.argsort(-y)
    x, rank = x[order], np.arange(len(y))[::-1]
    for row, column in np.ndindex(size, size):
        axes = all_axes[row, column]
        if column > row:
            axes.set_visible(False)
            continue
        across, up = chosen[column], chosen[min(row + 1, len(chosen) - 1)]
        axes.scatter(x[:, across], x[:, up], s=5, c=-rank, cmap=_colours(), linewidths=0, alpha=0.7, rasterized=True)
        axes.plot(x[-1, across], x[-1, up], "*", color=_RED, markersize=10)
        if row == size - 1:
            axes.set_xlabel(names[across])
        if column == 0:
            axes.set_ylabel(names[up])
    return all_axes


def _timeline(history: RunHistory, chosen: list[int], names: list[str]) -> Any:
    """Evaluations over time: who worked when, and how many were done."""
    from matplotlib.collections import PolyCollection

    end, seconds, failed, worker = history.elapsed, history.seconds, history.failed, history.worker
    known = np.flatnonzero(np.isfinite(end) & np.isfinite(seconds))
    if not len(known):
        raise ValueError("the times of the evaluations are not known: there is nothing to plot over time")
    workers = sorted({worker[i] for i in known})
    all_axes = _figure(2, 1, 7.2, 3.6 + min(6.0, 0.22 * len(workers)), sharex=True)
    above, below = all_axes[:, 0]
    done = _some(np.arange(len(known)))
    above.plot(np.sort(end[known])[done], done + 1, color=_BLUE)
    above.set_ylabel("evaluations done")
    shown = _some(known)
    row = np.array([workers.index(worker[i]) for i in shown])
    for kind, colour in ((False, _BLUE), (True, _RED)):
        some = failed[shown] == kind
        right, up = end[shown[some]], row[some]
        left = right - seconds[shown[some]]
        corners = [(left, up - 0.4), (right, up - 0.4), (right, up + 0.4), (left, up + 0.4)]
        bars = PolyCollection(list(np.moveaxis(np.array(corners), 2, 0)), color=colour, linewidth=0.4, alpha=0.7)
        bars.set_label("failed" if kind else "")
        below.add_collection(bars)
    below.autoscale()
    few = len(workers) <= 24
    below.set_yticks(
        range(len(workers)) if few else [], [w if len(w) <= 24 else f"...{w[-21:]}" for w in workers] if few else []
    )
    below.set_ylabel("" if few else f"{len(workers)} workers")
    below.set_xlabel("seconds, without pauses")
    below.set_xlim(left=0.0)
    if failed[shown].any():
        below.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return all_axes


_PICTURES: dict[str, Picture] = {
    "convergence": _convergence,
    "parallel": _parallel,
    "slices": _slices,
    "pairs": _pairs,
    "timeline": _timeline,
}


def _figure(rows: int, columns: int, width: float, height: float, **options: Any) -> Any:
    """An array (rows, columns) of axes."""
    from matplotlib import pyplot

    _, axes = pyplot.subplots(rows, columns, figsize=(width, height), squeeze=False, layout="constrained", **options)
    for each in axes.flat:
        each.spines[["top", "right"]].set_visible(False)
    return axes


def _is_dark() -> bool:
    """Whether the style of the picture has a dark ground."""
    from matplotlib import colors, pyplot

    return sum(colors.to_rgb(pyplot.rcParams["axes.facecolor"])) < 1.5


def _colours() -> str:
    """From high or early to low or late values; these stand out from the ground."""
    return "viridis" if _is_dark() else "viridis_r"


def _numbers(history: RunHistory) -> Array:
    """1, 2, ... for evaluations; points that were known before are at 0."""
    known = int(history.known.sum())
    return np.maximum(np.arange(len(history)) - known + 1, 0)


def _some(numbers: Numbers) -> Numbers:
    """All of them or, if there are too many for a picture, some evenly, the first and the last among them."""
    places = np.linspace(0, len(numbers) - 1, min(len(numbers), _SHOWN)).round().astype(np.intp)
    return numbers.take(np.unique(places))


def _points(history: RunHistory) -> tuple[Array, Array]:
    """Points that were kept and have a value, and their values; of many some evenly, and the best."""
    y = history.y[history.kept]
    good = np.flatnonzero(np.isfinite(y))
    shown = np.union1d(_some(good), good[np.argmin(y[good])])
    return history.points[shown], y[shown]


def _limits(history: RunHistory, x: Array, chosen: list[int]) -> tuple[Array, Array]:
    """The bounds of coordinates; where there are none, those of the points."""
    low, high = history.low[chosen], history.high[chosen]
    return np.where(np.isfinite(low), low, x.min(axis=0)), np.where(np.isfinite(high), high, x.max(axis=0))


def _value_axis(axis: Any, lowest: Array, y: Array) -> None:
    """A logarithmic axis where values span a wide range above 0; else from the lowest to the first ones."""
    positive = lowest[lowest > 0]
    if (lowest >= 0).all() and len(positive) and lowest[0] > _WIDE_RANGE * positive.min():
        axis.axes.set_yscale("log")
        return
    good = y[np.isfinite(y)]
    low, high = float(lowest.min()), float(max(lowest[0], np.quantile(good, 0.9)))
    if high > low:
        axis.axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
