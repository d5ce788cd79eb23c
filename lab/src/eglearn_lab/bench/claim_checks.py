"""How the results answer to each claim of the paper: the differences that decide it; `evidence` has the rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.stats import rankdata

from . import authors, metrics
from .ablations import ABLATIONS, ablation
from .algorithms import ALGORITHMS, is_ours
from .evidence import (
    ENOUGH,
    NO_DATA,
    Conditions,
    Evidence,
    Verdict,
    closer,
    decide,
    gain,
    gains_with_time,
    improves,
    least_budget,
    shared_budget,
    signed,
    solved,
)
from .metrics import Results

TABLE_1 = ("egl-table1-spline", "egl-table1-fc", "egl-paper", "egl-paper-fc", "egl-authors")
"""The paper's algorithm 3 with the paper's settings: its table 1, or what its authors' runs did."""

BASELINES = ("nelder-mead", "slsqp", "powell", "cg", "cobyla", "bfgs", "cma")
"""The paper's, sec. 5.1; IGL has claims of its own."""

_STAGES = ((1 / 8, 1 / 4), (1 / 4, 1 / 2), (1 / 2, 1.0))  # shares of the budget: what "all the way" is read as

_ABSENT = "not run on the same problems with the same budget: {}"


PARTNERS = {
    "egl-fc": "igl-fc",
    "egl-fc-long": "igl-fc-long",
    "egl-spline": "igl-spline",
    "egl-table1-fc": "igl-table1-fc",
}
"""IGL with the same network and settings, equal but for what is learned."""


def igl_beside(subject: str) -> str:
    """IGL with the settings of the subject and, where there is one, the same network."""
    return PARTNERS.get(subject, "igl-table1-fc" if subject in TABLE_1 else "igl-fc")


# Claims about EGL against other methods


def _listed(dimensions: Iterable[int]) -> str:
    return ", ".join(f"{n}-D" for n in dimensions)


def _paired(results: Results, subject: str, n: int) -> Results:
    """The paper's comparison on bbob: the subject, baselines and IGL, none with more evaluations than the subject."""
    names = (subject, *BASELINES, igl_beside(subject))
    return _as_long(results.select(suite="bbob", algorithm=names, dimension=n), subject)


def _as_long(runs: Results, subject: str) -> Results:
    """Runs with a larger budget than the subject's are cut.

    Of all rivals NGOpt alone plans by its budget and would have run otherwise with a smaller one.
    """
    budgets = runs.select(algorithm=subject)["budget"]
    most = float(budgets.max()) if len(budgets) else np.inf
    return metrics.cut(runs, most) if (runs["budget"] > most).any() else runs


def _dimensions(results: Results, subject: str) -> list[int]:
    found: list[int] = np.unique(results.select(suite="bbob", algorithm=subject)["dimension"]).tolist()
    return found


def beats_all(subject: str, conditions: Conditions, results: Results) -> Verdict:
    """The subject against each baseline in each dimension, the paper's success."""
    found: list[Evidence] = []
    lacking: dict[str, list[int]] = {}
    dimensions = _dimensions(results, subject)
    for n in dimensions:
        runs = _paired(results, subject, n)
        for b in BASELINES:
            pair = solved(runs, subject, b, "compared", f"{n}-D")
            found += pair
            if not pair:
                lacking.setdefault(b, []).append(n)
    names = [b if len(ns) == len(dimensions) else f"{b} in {_listed(ns)}" for b, ns in lacking.items()]
    return decide(found, conditions, lacking=_ABSENT.format(", ".join(names)) if found and names else "")


def gap_grows(subject: str, conditions: Conditions, results: Results) -> Verdict:
    """Lead over the best baseline in the largest dimension minus that in the smallest, paired by (f, instance).

    Of the baselines that have the subject's problems and budget.
    """
    leads = {}
    least = np.inf
    absent: set[str] = set()
    for n in _dimensions(results, subject):
        runs = _paired(results, subject, n)
        mine = set(runs.select(algorithm=subject).problems()[0])
        names = tuple(
            a
            for a, part in runs.by("algorithm")
            if a in (subject, *BASELINES) and mine <= set(part.problems()[0]) and shared_budget(runs, (subject, a))
        )
        absent |= set(BASELINES) - set(names)
        table = metrics.score_table(runs, metrics.success(runs).astype(float), names).complete()
        rivals = [k for k, name in enumerate(names) if name != subject]
        if rivals and table.problems:
            least = min(least, least_budget(runs, (subject,)))
            best = max(rivals, key=lambda k: float(table.values[:, k].mean()))
            lead = table.column(subject) - table.values[:, best]
            leads[n] = {(p.function, p.instance): float(v) for p, v in zip(table.problems, lead, strict=True)}
    if len(leads) < 2:
        return Verdict(NO_DATA, "It takes baselines in two dimensions.")
    low, high = min(leads), max(leads)
    shared = sorted(set(leads[low]) & set(leads[high]))
    if not shared:
        return Verdict(NO_DATA, f"No problem was run in both {low}-D and {high}-D.")
    change = metrics.bootstrap_mean([leads[high][k] - leads[low][k] for k in shared], np.random.default_rng(0))
    d, a, b = (float(v) for v in (change.estimate, change.low, change.high))
    means = ", ".join(f"{n}-D {100 * np.mean(list(v.values())):+.1f}" for n, v in leads.items())
    words = f"lead over the best baseline in points: {means}; from {low}-D to {high}-D {signed(d, a, b)}"
    words += f"; {_ABSENT.format(', '.join(sorted(absent)))}" if absent else ""
    return decide([Evidence(d, a, b, len(shared), least, words)], conditions)


def beats_igl(subject: str, conditions: Conditions, results: Results) -> Verdict:
    """The subject against IGL in each dimension, with equal settings only."""
    if subject not in PARTNERS:
        return decide([], conditions)
    found: list[Evidence] = []
    for n in _dimensions(results, subject):
        found += solved(_paired(results, subject, n), subject, igl_beside(subject), "compared", f"{n}-D")
    return decide(found, conditions)


def passes_cma(subject: str, conditions: Conditions, results: Results) -> Verdict:
    """Scaled distance in 40-D at the end of the budget, against CMA-ES."""
    runs = _paired(results, subject, 40)
    end = shared_budget(runs, (subject, "cma"))
    return decide(closer(runs, subject, "cma", end) if end else [], conditions)


def crossing(subject: str, conditions: Conditions, results: Results) -> Verdict:
    """CMA-ES closer after 3,000 evaluations, the subject after 30,000: "roughly 1e4" read as half a decade."""
    runs = _paired(results, subject, 40)
    if shared_budget(runs, (subject, "cma")) < 30_000:
        return Verdict(NO_DATA, "It takes runs of both with 30,000 evaluations or more in 40-D.")
    found = [*closer(runs, "cma", subject, 3000), *closer(runs, subject, "cma", 30_000)]
    return decide(found, conditions)


def goes_on(subject: str, conditions: Conditions, results: Results) -> Verdict:
    """The subject improves on most of the 40-D problems that it has not solved yet, in each stage of the run."""
    runs = results.select(suite="bbob", algorithm=subject, dimension=40)
    end = shared_budget(runs, (subject,))
    return decide([e for s, t in _STAGES for e in improves(runs, subject, s * end, t * end)] if end else [], conditions)


def settle(conditions: Conditions, results: Results) -> Verdict:
    """Each baseline has stopped improving, in the second half, on most of the 40-D problems that it has not solved."""
    runs = results.select(suite="bbob", algorithm=BASELINES, dimension=40)
    found = []
    lacking = [b for b in BASELINES if shared_budget(runs, (b,)) < conditions.budget]
    for b in (b for b in BASELINES if b not in lacking):
        end = shared_budget(runs, (b,))
        found += improves(runs, b, end / 2, end, sign=-1.0)
    return decide(found, conditions, lacking=f"without the paper's budget: {', '.join(lacking)}" if lacking else "")


def state_of_the_art(subject: str, conditions: Conditions, results: Results) -> Verdict:
    """The subject against every method that is not of this package, strict success, all dimensions."""
    runs = _as_long(results.select(suite="bbob"), subject)
    rivals = [a for a in runs.algorithms if _is_rival(a)]
    found: list[Evidence] = []
    lacking = []
    for b in rivals if subject in runs.algorithms else ():
        pair = solved(runs, subject, b, "optimum", "all dimensions")
        found += pair
        lacking += [] if pair else [b]
    verdict = decide(found, conditions, lacking=_ABSENT.format(", ".join(lacking)) if found and lacking else "")
    absent = sorted(a for a in set(ALGORITHMS) - set(runs.algorithms) if _is_rival(a))
    return (
        Verdict(verdict.word, f"{verdict.figures[:-1]}; {len(absent)} more rivals have no runs.") if absent else verdict
    )


def _is_rival(name: str) -> bool:
    """Whether a method is not of this package; nor one that was run as the paper's authors did."""
    return not is_ours(name) and name not in variants() and not name.startswith(authors.PREFIX)


# Claims about parts of EGL


def variants() -> set[str]:
    """Names of all ablation variants."""
    return {name for entry in ABLATIONS.values() for name in entry.algorithms}


def _ablation(results: Results, name: str) -> Results:
    entry = ablation(name)
    return results.select(suite=entry.suite, dimension=entry.dims, algorithm=entry.algorithms)


def better(
    experiment: str, a: str, others: Sequence[str], shares: Sequence[float], conditions: Conditions, results: Results
) -> Verdict:
    """Variant a closer to y* than each of the others, after each of some shares of the budget."""
    runs = _ablation(results, experiment)
    end = shared_budget(runs, (a, *others))
    return decide([e for s in shares for b in others for e in closer(runs, a, b, s * end)] if end else [], conditions)


def late_help(conditions: Conditions, results: Results) -> Verdict:
    """The trust region's help, the logarithm of the ratio of gaps, is larger at the end than after a tenth."""
    runs, names = _ablation(results, "networks"), ("networks-fc-tr-om", "networks-fc-om")
    end = shared_budget(runs, names)
    return decide(gains_with_time(runs, *names, (0.1 * end, end)) if end else [], conditions)


def spline_beats_fc(conditions: Conditions, results: Results) -> Verdict:
    """Scaled distance of egl-spline and egl-fc in 40-D; both train about equally long."""
    names = ("egl-spline", "egl-fc")
    runs = results.select(suite="bbob", dimension=40, algorithm=names)
    end = shared_budget(runs, names)
    return decide(closer(runs, *names, end) if end else [], conditions)


def gained(a: str, sign: float, conditions: Conditions, results: Results) -> Verdict:
    """Gain of a replay or perturbation variant."""
    return decide(gain(_ablation(results, "replay-perturbation"), a, "replay-1-p0", sign=sign), conditions)


def radius(function: int, a: str, conditions: Conditions, results: Results) -> Verdict:
    """Another first radius against the paper's on one function."""
    runs = _ablation(results, "epsilon")
    runs = runs.select(function=function)
    end = shared_budget(runs, (a, "epsilon-0.1"))
    return decide(closer(runs, a, "epsilon-0.1", end) if end else [], conditions)


def high_dimension(a: str, b: str, share: float, conditions: Conditions, results: Results) -> Verdict:
    """Variant a closer to the optimum than b on the 784-D problems, after a share of the smaller budget."""
    runs = results.select(suite="coco-784", algorithm=(a, b))
    ends = [shared_budget(runs, (name,)) for name in (a, b)]
    end = share * min(ends)
    if ends[0] != ends[1]:  # at the last moment that the traces of both hold
        end = metrics.stored_before(end) if end else 0
    return decide(closer(runs, a, b, end) if end else [], conditions)


def cone_gain(conditions: Conditions, results: Results) -> Verdict:
    """Gain of half cone, half ball over the ball on the 784-D problems."""
    runs = results.select(suite="coco-784", algorithm=("egl-ball", "egl-cone", "egl-cone-ball"))
    return decide(gain(runs, "egl-cone-ball", "egl-ball"), conditions)


def skewed_is_harder(subject: str, conditions: Conditions, results: Results) -> Verdict:
    """Rank correlation of the values' skewness with the share that the network leaves unexplained, over functions."""
    runs = results.select(suite="bbob", algorithm=subject)
    if "fit_until" not in runs.columns:
        return Verdict(NO_DATA, "These runs hold no training errors.")
    runs = runs.where(np.array([len(ends) > 0 for ends in runs["fit_until"]], dtype=bool))
    if len(np.unique(runs["function"])) < ENOUGH:
        return Verdict(NO_DATA, "It takes runs on more functions that hold training errors.")
    # A run counts with its mean over decades, a function with that over its runs.
    unexplained, skewness = (
        {int(f): float(np.mean([c.mean() for c in part[name]])) for f, part in runs.by("function")}
        for name in ("fit_unexplained", "fit_skewness")
    )
    ranks = np.array([rankdata(list(unexplained.values())), rankdata(np.abs(list(skewness.values())))])
    ranks -= ranks.mean(axis=1, keepdims=True)
    # The correlation is a mean over functions; its interval takes the ranks as they are.
    each = np.prod(ranks / np.sqrt(np.mean(ranks**2, axis=1, keepdims=True)), axis=0)
    interval = metrics.bootstrap_mean(each, np.random.default_rng(0))
    d, low, high = (float(x) for x in (interval.estimate, interval.low, interval.high))
    named = "; ".join(
        f"{kind} {', '.join(f'f{f} {unexplained[f]:.2f}' for f in functions if f in unexplained)}"
        for kind, functions in (("even or normal:", (15, 18, 23)), ("skewed:", (2, 10, 11)))
    )
    words = f"{subject}: rank correlation {d:+.2f} ({low:.2f} to {high:.2f}) over {len(each)} functions"
    words += f"; unexplained {named}"
    return decide([Evidence(d, low, high, len(each), least_budget(runs, (subject,)), words)], conditions)
