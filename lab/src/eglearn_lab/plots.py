"""One style for every picture, and how a picture is written. Needs ``eglearn-lab[plot]``.

Colours are Okabe and Ito's, told apart by colour-blind readers; lines that share an axis also differ in dash and
marker where there are more than four.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK, GREY = (
    "#111111", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#8A8A8A",
)  # fmt: skip
COLOURS = (BLUE, RED, GREEN, ORANGE, PINK, SKY, BLACK, GREY)
"""For lines, the most telling first."""
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

WIDTH = 9.0
"""Inches of a picture as wide as a page."""
NARROW = 4.2
"""... as wide as a telephone."""

STYLE: Any = {
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E2E2E2",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "image.cmap": "cividis",
}


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Draw inside this: the house style, without a screen, nothing left behind.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> with style():
    ...     figure, axes = plt.subplots()
    ...     _ = axes.plot([1, 2], [3, 4], label="value")
    ...     plt.close(figure)
    """
    import matplotlib as mpl
    from cycler import cycler

    with mpl.rc_context(STYLE | {"axes.prop_cycle": cycler(color=COLOURS), "backend": "Agg"}):
        yield


def line_style(index: int) -> dict[str, Any]:
    """Colour, dash and marker of the line with this number: no two of the first 32 look alike."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": DASHES[index // len(COLOURS) % len(DASHES)],
        "marker": MARKERS[(index + index // len(COLOURS)) % len(MARKERS)],
        "markersize": 4,
    }


@dataclass(frozen=True)
class Canvas:
    """Where the pictures of a page go, in which format, and for how wide a screen.

    Parameters
    ----------
    folder
        For the files.
    kind
        "png", or "svg", which is sharp at any size and takes the colours of the page that it stands in.
    narrow
        Whether it is for a telephone: fewer panels side by side, in letters of the same size.
    """

    folder: Path
    kind: str = "png"
    narrow: bool = False

    @property
    def width(self) -> float:
        """Inches of a picture as wide as the page."""
        return NARROW if self.narrow else WIDTH

    def columns(self, most: int) -> int:
        """Panels side by side."""
        return min(most, 2) if self.narrow else most

    def save(self, figure: Figure, name: str, *, dpi: int = 110) -> Path:
        """Write a picture."""
        return save(figure, self.folder / f"{name}{'-narrow' * self.narrow}.{self.kind}", dpi=dpi)


def plain_numbers(ax: Axes) -> None:
    """Write the numbers of a logarithmic y axis that spans few decades as 0.2, not as powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ax.get_ylim()
    if high < 300 * low:
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())


def save(figure: Figure, path: str | os.PathLike[str], *, dpi: int = 110) -> Path:
    """Write a PNG or SVG without the date in it (the same picture gives the same file), and close the figure."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    svg = path.suffix == ".svg"
    # Names inside the file depend on its own: several of them may stand in one page.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": path.name}):
        metadata = {"Date": None} if svg else {"Software": None}
        figure.savefig(path, dpi=dpi, bbox_inches="tight", metadata=metadata, transparent=svg)
    plt.close(figure)
    return path
