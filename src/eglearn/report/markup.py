"""HTML made of tags: whatever is not made here is text and is escaped."""

from __future__ import annotations

import html
import json
import math
from typing import Any


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def join(*parts: Any) -> Html:
    """The parts one after another; everything but ``Html`` is escaped.

    Examples
    --------
    >>> join(tag("b", "1 < 2"), " & more")
    '<b>1 &lt; 2</b> &amp; more'
    """
    return Html("".join(part if isinstance(part, Html) else html.escape(str(part)) for part in parts))


def tag(name: str, /, *content: Any, **attributes: Any) -> Html:
    """One element; ``class_`` is the attribute "class", ``data_x`` is "data-x", None leaves one out."""
    shown = {key.strip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    opening = "".join(f' {key}="{html.escape(str(value))}"' for key, value in shown.items())
    end = "" if name in ("meta", "link", "br", "input") else f"</{name}>"
    return Html(f"<{name}{opening}>{join(*content)}{end}")


def data(value: Any) -> Html:
    """JSON for the page's script; "<" is spelled out, so that no text can end the element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return Html(f'<script type="application/json">{text}</script>')


def number(value: float, digits: int = 5) -> str:
    """A value for people; a dash if there is none."""
    return f"{value:.{digits}g}" if math.isfinite(value) else "–"


def measured(value: float, error: float) -> str:
    """A value with its standard error, to two digits of that; the value alone if the error is not known.

    Examples
    --------
    >>> measured(0.162402, 0.2517), measured(-1234.567, 3.21), measured(1e-9, 0.1), measured(1.5, math.nan)
    ('0.16 ± 0.25', '-1234.6 ± 3.2', '0 ± 0.1', '1.5')
    """
    if not (math.isfinite(error) and error > 0 and math.isfinite(value)):
        return number(value, 6)
    last = math.floor(math.log10(error)) - 1  # the power of ten of the last digit that tells something
    if abs(value) < 10.0**last:
        return f"0 ± {number(error, 2)}"
    return f"{number(value, max(1, math.floor(math.log10(abs(value))) - last + 1))} ± {number(error, 2)}"


def duration(seconds: float) -> str:
    """A time for people.

    Examples
    --------
    >>> [duration(s) for s in (0.0123, 61.2, 7300)]
    ['12.3 ms', '1 min 1 s', '2 h 2 min']
    """
    if not math.isfinite(seconds):
        return "–"
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    large, small, names = (seconds, 60, ("min", "s")) if seconds < 3599.5 else (seconds / 60, 60, ("h", "min"))
    whole, part = divmod(round(large), small)
    return f"{whole:,} {names[0]} {part} {names[1]}"
