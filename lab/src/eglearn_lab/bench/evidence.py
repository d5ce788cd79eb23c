"""When a claim holds: differences with their intervals, and the rule that decides.

The rule: a claim *held here* if the 95 % interval of each paired difference behind it lies on the claimed side of 0.
If one lies on the other side, the claim *did not hold here*, provided that the runs met the claim's `Conditions`: the
paper's budget, the paper's settings or better, and enough problems; otherwise it was *not tested at this budget*. Else
it is *not settled*. Fewer than six problems settle nothing: even if all agree, chance alone does that in more than 5 %
of cases (2 / 2^5). Without runs there is no data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from . import metrics
from .ablations import gains
from .metrics import Results
from .page import points

HELD, CONTRARY, OPEN = "held here", "did not hold here", "not settled"
NOT_TESTED, NO_DATA = "not tested at this budget", "no data yet"
VERDICTS = (HELD, CONTRARY, OPEN, NOT_TESTED, NO_DATA)

ENOUGH = 6  # problems


@dataclass(frozen=True)
class Evidence:
    """A difference whose sign decides, positive as claimed, with its interval, its problems, and in words."""

    difference: float
    low: float
    high: float
    problems: int
    budget: float
    """The smallest of the runs compared."""
    words: str

    @property
    def needed(self) -> float:
        """Problems at which the interval would end at 0, if the difference stayed and the interval shrank as usual."""
        half = (self.high - self.low) / 2
        return self.problems * (half / abs(self.difference)) ** 2 if self.difference else np.inf


@dataclass(frozen=True)
class Conditions:
    """What runs must have had before they can speak against a claim."""

    settings: bool
    """Whether what stands for the paper's EGL has the paper's settings or better."""
    budget: int = 150_000
    problems: int = 24

    def met(self, e: Evidence) -> bool:
        """Whether the evidence can speak against a claim."""
        return self.settings and e.budget >= self.budget and e.problems >= self.problems

    def lacking(self, e: Evidence) -> str:
        """Which of them the evidence does not meet."""
        parts = [f"{self.budget:,} evaluations (here {e.budget:,.0f})"] * (e.budget < self.budget)
        parts += [f"{self.problems} problems (here {e.problems})"] * (e.problems < self.problems)
        parts += ["the paper's settings"] * (not self.settings)
        return f"to speak against the paper it takes {', '.join(parts)}"


@dataclass(frozen=True)
class Verdict:
    """One of `VERDICTS`, with the figures behind it."""

    word: str
    figures: str
    problems: int = 0
    """The fewest of a comparison."""


def decide(found: Sequence[Evidence], conditions: Conditions, *, lacking: str = "", shown: int = 1) -> Verdict:
    """The rule at the top; ``lacking`` names what the claim also speaks of but was not run, which leaves it open.

    The figures are those of the differences that speak most against the claim, ``shown`` of them.
    """
    if not found:
        return Verdict(NO_DATA, lacking or "There are no such runs.")
    few = min(e.problems for e in found)
    word = OPEN
    contrary = sorted((e for e in found if e.high < 0 and e.problems >= ENOUGH), key=lambda e: not conditions.met(e))
    if contrary:
        word = CONTRARY if conditions.met(contrary[0]) else NOT_TESTED
    elif few >= ENOUGH and all(e.low > 0 for e in found) and not lacking:
        word = HELD
    # Contrary ones first, the clearest before; of the others first what is farthest from the claimed side.
    words = [e.words for e in sorted(found, key=lambda e: (e.high >= 0, e.high if e.high < 0 else e.low))[:shown]]
    if len(found) > shown:
        ahead, behind = sum(e.low > 0 for e in found), sum(e.high < 0 for e in found)
        words[0] = f"of {len(found)} comparisons {ahead} as claimed, {behind} contrary; least favourable: {words[0]}"
    words += [lacking] if lacking else []
    words += [conditions.lacking(contrary[0])] if word == NOT_TESTED else []
    if few < ENOUGH:
        words += [f"only {few} problem{'s' * (few > 1)}"]
    elif word == OPEN and (open_ones := [e for e in found if e.low <= 0 <= e.high]):
        words += [f"a difference like this takes {_most([e.needed for e in open_ones])} problems to settle"]
    return Verdict(word, "; ".join(words) + ".", few)


def _most(needed: Sequence[float]) -> str:
    """The largest of the numbers in words, to two digits."""
    largest = max(needed)
    return "more than 1,000" if largest > 1000 else f"about {float(f'{largest:.2g}'):,.0f}"


def solved(results: Results, a: str, b: str, reference: str, where: str) -> list[Evidence]:
    """Share of problems solved by a minus that by b; nothing if they share no problem or had different budgets."""
    # "compared" means all of these results: score first, then compare.
    score = metrics.success(results, reference=reference).astype(float)
    try:
        c = metrics.compare(results, score, a, b, np.random.default_rng(0))
    except ValueError:
        return []
    words = f"{where} {a} {points(c.mean_a)} %, {b} {points(c.mean_b)} %: {signed(c.difference, c.low, c.high)} points"
    return [Evidence(c.difference, c.low, c.high, c.problems, least_budget(results, (a, b)), words)]


def closer(results: Results, a: str, b: str, t: float) -> list[Evidence]:
    """Scaled distance of b minus that of a after t evaluations: positive if a is closer."""
    table = _distances(results, (a, b), t)
    if not len(table):
        return []
    interval = metrics.bootstrap_mean(table[:, 1] - table[:, 0], np.random.default_rng(0))
    d, low, high = (float(v) for v in (interval.estimate, interval.low, interval.high))
    mean_a, mean_b = table.mean(axis=0)
    text = f"scaled distance after {t:,.0f} evaluations: {a} {mean_a:.3g}, {b} {mean_b:.3g}"
    words = f"{text}, difference {d:+.2g} ({low:.2g} to {high:.2g})"
    return [Evidence(d, low, high, len(table), least_budget(results, (a, b)), words)]


def improves(results: Results, name: str, early: float, late: float, *, sign: float = 1.0) -> list[Evidence]:
    """Share of the problems unsolved at one moment on which the gap falls by more than 1 % until the other, minus half.

    Unsolved is a gap above COCO's last target. ``sign`` -1 if the claim is that it does not fall.
    """
    before, after = metrics.gap_at(results, [early, late]).T
    left = results.mask(algorithm=name) & (before > metrics.TARGETS[-1])
    if not left.any():
        return []
    falls = (after < 0.99 * before).astype(float)[left]
    shares = metrics.score_table(results.where(left), falls, (name,)).complete().column(name)
    interval = metrics.bootstrap_mean(shares, np.random.default_rng(0))
    share, low, high = (float(v) for v in (interval.estimate, interval.low, interval.high))
    span = f"from {early:,.0f} to {late:,.0f} evaluations"
    words = f"{span} {name} improves on {points(share)} % ({points(low)} to {points(high)}) of what it has not solved"
    low, high = sorted((sign * (low - 0.5), sign * (high - 0.5)))
    return [Evidence(sign * (share - 0.5), low, high, len(shares), least_budget(results, (name,)), words)]


def gains_with_time(results: Results, a: str, b: str, at: tuple[float, float]) -> list[Evidence]:
    """The logarithm (base 10) of b's gap over a's at the second moment minus that at the first.

    Positive if a's lead grows. Gaps below COCO's last target count as that.
    """
    gaps = np.log10(np.maximum(metrics.gap_at(results, at), metrics.TARGETS[-1]))
    table = metrics.score_table(results, gaps, (a, b)).complete()
    if not table.problems:
        return []
    leads = table.column(b) - table.column(a)  # (problems, 2)
    interval = metrics.bootstrap_mean(leads[:, 1] - leads[:, 0], np.random.default_rng(0))
    d, low, high = (float(v) for v in (interval.estimate, interval.low, interval.high))
    first, second = leads.mean(axis=0)
    text = f"decades by which {a} is lower than {b}: {first:+.2f} after {at[0]:,.0f} evaluations, {second:+.2f} after "
    words = f"{text}{at[1]:,.0f}, difference {d:+.2f} ({low:.2f} to {high:.2f})"
    return [Evidence(d, low, high, len(leads), least_budget(results, (a, b)), words)]


def gain(results: Results, a: str, reference: str, *, sign: float = 1.0) -> list[Evidence]:
    """The paper's gain of fig. 4d at the end of the budget, 1 - mean distance of a / that of the reference.

    ``sign`` -1 if the paper claims a loss.
    """
    end = shared_budget(results, (a, reference))
    ends = gains(results, reference, [end]).get(a) if end else None
    if ends is None or not np.isfinite(ends.estimate).all():
        return []
    d, low, high = (float(v[0]) for v in (ends.estimate, ends.low, ends.high))
    shared = len(_distances(results, (a, reference), 1.0))
    words = f"gain of {a} over {reference} {100 * d:+.1f} % ({points(low)} to {points(high)})"
    low, high = sorted((sign * low, sign * high))
    return [Evidence(sign * d, low, high, shared, end, words)]


def _distances(results: Results, names: tuple[str, ...], t: float) -> Array:
    """Scaled distance of each shared problem and algorithm after t evaluations, (problems, names)."""
    if not set(names) <= set(results.algorithms):
        return np.zeros((0, len(names)))
    scores = metrics.scaled_distance(results, np.array([t]), reference="optimum")[:, 0]
    return metrics.score_table(results, scores, names).complete().values


def signed(d: float, low: float, high: float) -> str:
    """A difference and its interval, in points."""
    return f"{100 * d:+.1f} ({points(low)} to {points(high)})"


def least_budget(runs: Results, names: Iterable[str]) -> float:
    """The smallest budget of a run of the named."""
    return float(runs.select(algorithm=tuple(names))["budget"].min())


def shared_budget(runs: Results, names: Iterable[str]) -> float:
    """The budget that all the named have, 0 if one has no runs or they differ."""
    budgets = {float(b) for name in names for b in np.unique(runs.select(algorithm=name)["budget"]).tolist() or [0]}
    return budgets.pop() if len(budgets) == 1 else 0.0
