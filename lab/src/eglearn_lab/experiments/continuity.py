"""Is the mean-gradient of a step continuous? Exact integrals, and networks (prop. 2, app. B).

In one dimension, with f = 1 from ``STEP`` on and 0 before, the mean-gradient at x over a set V and the perturbed one
with s dithered over B = [x - p, x + p] are

    g_eps(x)   = int_V (t - x)(f(t) - f(x)) dt        / int_V (t - x)^2 dt
    g_eps^p(x) = int_V int_B (t - s)(f(t) - f(s)) ds dt / int_V int_B (t - s)^2 ds dt,

and all integrals are moments of f over intervals, which are polynomials: nothing is approximated. Where f jumps, the
numerator of g_eps jumps by int_V (t - x) dt. That is zero if V is a ball around x, the paper's own choice. It is not
for the set that the loss of a batch integrates over: there the anchors x_i share one V, the ball around the candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import plots
from .._typing import Array
from ..ours import EGLSettings, Samples, gradient_model
from .base import Finding, Outcome, Progress, experiment, write_csv
from .sections import one_thread

Curve = Callable[[Array], Array]

EPS = 0.5
STEP = 0.2
"""Where f jumps; the candidate is at 0."""
PERTURBATIONS = (0.1, 0.01)
"""p over eps: the two values of sec. 5.1, the visible one first."""
POINTS, SEED = 128, 0
SPACINGS = (1e-2, 1e-3, 1e-4, 1e-5)


def f(x: Array) -> Array:
    """The step."""
    return np.where(x >= STEP, 1.0, 0.0)


def moment(low: Array, high: Array, power: int, *, of_f: bool) -> Array:
    """Mean of t^power over [low, high], or of t^power f(t)."""
    from_ = np.clip(STEP, low, high) if of_f else low
    return np.asarray((high ** (power + 1) - from_ ** (power + 1)) / ((power + 1) * (high - low)))


def mean_gradient(x: Array, low: Array, high: Array, p: float = 0.0) -> Array:
    """The mean-gradient at x over V = [low, high], perturbed if p > 0."""
    t1, t2 = moment(low, high, 1, of_f=False), moment(low, high, 2, of_f=False)
    f0, f1 = moment(low, high, 0, of_f=True), moment(low, high, 1, of_f=True)
    if p > 0:
        a, b = x - p, x + p
        s1, s2 = moment(a, b, 1, of_f=False), moment(a, b, 2, of_f=False)
        h0, h1 = moment(a, b, 0, of_f=True), moment(a, b, 1, of_f=True)
    else:
        s1, s2, h0, h1 = x, x**2, f(x), x * f(x)
    return np.asarray((f1 - t1 * h0 - s1 * f0 + h1) / (t2 - 2 * t1 * s1 + s2))


def around_point(x: Array, p: float = 0.0) -> Array:
    """V is the ball around x: the definition with the paper's choice of V."""
    return mean_gradient(x, x - EPS, x + EPS, p)


def around_candidate(x: Array, p: float = 0.0) -> Array:
    """V is the ball around the candidate for every x: what the loss over all pairs of a batch asks for."""
    return mean_gradient(x, np.full_like(x, -EPS), np.full_like(x, EPS), p)


def largest_change(function: Curve, spacing: float, width: float = 0.02) -> float:
    """Largest change between neighbours of a grid around the step; it falls with the spacing if there is no jump."""
    # Half a spacing off, so that no grid point is the step itself.
    half = round(width / spacing)
    x = STEP + spacing * np.linspace(0.5 - half, half - 0.5, 2 * half)
    return float(np.abs(np.diff(function(x))).max())


def learned(model: str, p: float, steps: int) -> Curve:
    """A network trained on one batch around the candidate with the paper's loss, its argument dithered by p."""
    # Evenly spread points instead of random ones: the sum over pairs is then the integral, up to 1 / POINTS.
    z = ((np.arange(POINTS) + 0.5) / POINTS * 2 - 1)[:, None]
    y = f(EPS * z[:, 0])
    samples = Samples(z, y - y.mean(), (POINTS,), np.zeros(1))
    # The spline network in the size of app. C.
    settings = EGLSettings(
        model=model, order="first", training_steps=steps, minibatch=POINTS, splines=8, width=64, aggregation="average"
    )
    rng = np.random.default_rng(SEED)
    with one_thread():
        fit = gradient_model(settings, 1, rng).fit(samples, p / EPS, rng)
    return lambda x: fit.gradient(x[:, None] / EPS)[:, 0] / EPS


@experiment(
    "continuity",
    "The mean-gradient of a step, plain and perturbed: exact, and as networks learn it",
    minutes=0.5,
    needs=("matplotlib", "torch"),
)
def continuity(out: Path, progress: Progress, size: float) -> Outcome:
    """Exact curves over two kinds of V, networks trained on one batch, and the test for a jump."""
    steps = max(100, round(2000 * size))
    wide, narrow = (EPS * p for p in PERTURBATIONS)
    exact: dict[str, dict[str, Curve]] = {"point": {}, "batch": {}}
    for name, g in (("point", around_point), ("batch", around_candidate)):
        for p in (0.0, narrow, wide):
            exact[name][_label(p)] = lambda x, g=g, p=p: g(x, p)  # type: ignore[misc]
    networks: dict[str, Curve] = {}
    for number, (model, p) in enumerate((m, p) for m in ("fc", "spline") for p in (0.0, wide)):
        progress(number / 4, f"training {model}, p = {p:g}")
        networks[f"{model}, {_label(p)}"] = learned(model, p, steps)
    groups = {**exact, "learned": networks}
    x = _grid()
    curves = {f"{group}: {name}": curve(x) for group, those in groups.items() for name, curve in those.items()}
    changes = {
        f"{group}: {name}": [largest_change(curve, h) for h in SPACINGS]
        for group, those in groups.items()
        for name, curve in those.items()
    }
    tables = (
        write_csv(out / "continuity.csv", {"x": x, "f": f(x), **curves}),
        write_csv(out / "continuity-changes.csv", {"spacing": SPACINGS, **changes}),
    )
    picture = _draw(out / "continuity.png", x, curves, changes)
    progress(1.0, "done")
    return Outcome(_findings(changes, networks, exact["batch"], x), (picture,), tables)


def _label(p: float) -> str:
    return f"p = {p / EPS:g} eps" if p > 0 else "p = 0"


def _grid() -> Array:
    """Points of the picture; a pair hugs the step so that a jump is drawn upright."""
    return np.sort(np.concatenate([np.linspace(-EPS, EPS, 400), [STEP - 1e-9, STEP]]))


def _jumps(changes: list[float]) -> bool:
    """Whether a hundredth of the spacing leaves more than half of the largest change."""
    return changes[-1] > 0.5 * changes[-3]


def _findings(
    changes: dict[str, list[float]], networks: dict[str, Curve], batch: dict[str, Curve], x: Array
) -> tuple[Finding, ...]:
    spacings = f"{SPACINGS[-3]:g} and {SPACINGS[-1]:g}"

    def two(name: str) -> str:
        return f"{changes[name][-3]:.2g} and {changes[name][-1]:.2g}"

    wide, narrow = (_label(EPS * p) for p in PERTURBATIONS)
    dithered = [f"{group}: {label}" for group in ("point", "batch") for label in (wide, narrow)]
    jump = STEP / (EPS**2 / 3 + STEP**2)
    inside = np.abs(x - STEP) > EPS / 10
    apart = {
        name: float(np.abs(curve(x) - batch[name.split(", ")[1]](x))[inside].max()) for name, curve in networks.items()
    }
    return (
        Finding(
            "the mean-gradient need not be continuous where f jumps (sec. 3.1).",
            f"It depends on V. Over the ball around the candidate, which is what all pairs of a batch integrate over, "
            f"g_eps jumps: neighbours of grids with spacing {spacings} differ by up to {two('batch: p = 0')} (by the "
            f"formula, {jump:.4g}). Over a ball around x itself it does not: {two('point: p = 0')}. There "
            f"int (t - x) dt is zero and f(x) drops out, so for the paper's own choice of V the mean-gradient of any "
            f"integrable f is continuous.",
            _jumps(changes["batch: p = 0"]),
        ),
        Finding(
            "the perturbed mean-gradient is continuous for every integrable f (sec. 3.1, app. B).",
            "The largest differences fall with the spacing for both V and both p: "
            + "; ".join(f"{two(name)} ({name})" for name in dithered)
            + f". Over the ball around x, where g_eps needs no help, the perturbation makes the curve steeper: "
            f"{changes[f'point: {wide}'][-1] / changes['point: p = 0'][-1]:.0f} times near the step with {wide}.",
            not any(_jumps(changes[name]) for name in dithered),
        ),
        Finding(
            "as a Lipschitz continuous model learns it, both forms are continuous in practice (sec. 3.1).",
            "The learned curves have no jump: "
            + "; ".join(f"{two(f'learned: {name}')} ({name})" for name in networks)
            + ". Further than eps / 10 from the step they are within "
            + ", ".join(f"{value:.2g} ({name})" for name, value in apart.items())
            + " of the exact ones.",
            not any(_jumps(changes[f"learned: {name}"]) for name in networks),
        ),
    )


def _draw(path: Path, x: Array, curves: dict[str, Array], changes: dict[str, list[float]]) -> Path:
    import matplotlib.pyplot as plt

    looks: dict[str, dict[str, Any]] = {
        "p = 0": {"color": plots.BLACK},
        _label(EPS * PERTURBATIONS[1]): {"color": plots.ORANGE, "linestyle": "--"},
        _label(EPS * PERTURBATIONS[0]): {"color": plots.BLUE, "linestyle": "-."},
    }
    networks = {"fc, p": plots.RED, "spline, p": plots.GREEN}
    titles = {
        "point": "exact, V around x",
        "batch": "exact, V around the candidate",
        "learned": "learned",
    }
    with plots.style():
        figure, axes = plt.subplots(2, 2, figsize=(plots.WIDTH, 7.2), layout="constrained")
        panels = dict(zip(titles, axes.flat, strict=False))
        for name, y in curves.items():
            group, label = name.split(": ")
            look = looks.get(label) or {
                "color": networks[label.split(" =")[0]],
                "linestyle": "-" if label.endswith("= 0") else "--",
                "linewidth": 1.4,
            }
            panels[group].plot(x, y, label=label, **look)
        panels["learned"].plot(x, curves["batch: p = 0"], color="#CCCCCC", linewidth=5, label="exact, p = 0", zorder=1)
        for group, panel in panels.items():
            panel.axvline(STEP, color=plots.GREY, linewidth=0.8, linestyle=":")
            panel.set(xlabel="x", ylabel="mean-gradient", title=titles[group], ylim=(-0.1, 2.6))
            panel.legend(loc="upper left")
            panel.annotate("step of f", (STEP, 0.0), (4, 2), textcoords="offset points", fontsize=9, color="#555555")
        test = axes.flat[3]
        drawn = {"batch: p = 0": "exact, p = 0"}
        drawn |= {f"batch: {label}": f"exact, {label}" for label in looks if label != "p = 0"}
        drawn |= {"point: p = 0": "exact, p = 0, V around x"}
        drawn |= {name: f"learned, {name.split(': ')[1]}" for name in changes if name.startswith("learned")}
        for number, (name, label) in enumerate(drawn.items()):
            test.loglog(SPACINGS, changes[name], label=label, **plots.line_style(number))
        test.set(xlabel="spacing of the grid", ylabel="largest change between neighbours", title="is there a jump?")
        test.set_ylim(bottom=1e-9)
        test.legend(fontsize=8, loc="lower right", ncols=2)
        return plots.save(figure, path)
