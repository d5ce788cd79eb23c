"""The runs whose asked points are recorded: name -> a function that runs it and returns a hash of all points."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from eglearn import EGL, IGL, AutoEGL, AutoSettings, ConvergentEGL, ConvergentSettings, EGLSettings, IGLSettings
from eglearn.serialize import dumps, loads

CASES: dict[str, Callable[[], tuple[int, str]]] = {}


# --- objectives ------------------------------------------------------------------------------------------------------


def _shift(n: int) -> Any:
    return 0.6 * np.cos(np.arange(1, n + 1) ** 2)


def _rotation(n: int) -> Any:
    return np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))[0]


def sphere(n: int) -> Any:
    s = _shift(n)
    return lambda x: float(np.sum((x - s) ** 2))


def rosenbrock(n: int) -> Any:
    return lambda x: float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def ellipsoid(n: int) -> Any:
    q, s = _rotation(n), _shift(n)
    weights = 10.0 ** (6 * np.arange(n) / max(n - 1, 1))
    return lambda x: float(np.sum(weights * (q @ (x - s)) ** 2))


def rippled(n: int, rotated: bool = False) -> Any:
    q, s = _rotation(n) if rotated else np.eye(n), _shift(n)

    def f(x: Any) -> float:
        z = q @ (x - s)
        return float(np.sum(z**2 + 1 - np.cos(2 * np.pi * z)))

    return f


def noisy(f: Any, size: float) -> Any:
    rng = np.random.default_rng(7)
    return lambda x: f(x) * (1 + size * rng.standard_normal()) + size * rng.standard_normal()


def few_directions(n: int) -> Any:
    a = np.random.default_rng(1).standard_normal((4, n)) / np.sqrt(n)
    return lambda x: float(np.sum((a @ x - 1) ** 2) + 0.1 * np.sum(np.cos(3 * (a @ x))))


def failing(f: Any) -> Any:
    return lambda x: np.nan if x[0] + x[-1] > 1 else f(x)


def nowhere(f: Any, side: float) -> Any:
    """Finite only near a corner."""
    return lambda x: f(x) if x[0] > side else np.nan


# --- runs ------------------------------------------------------------------------------------------------------------


def _run(
    kind: Any,
    f: Any,
    n: int,
    budget: int,
    *,
    bounds: Any = None,
    resume: int = 0,
    pieces: bool = False,
    foreign: bool = False,
    extend: int = 0,
    **rest: Any,
) -> tuple[int, str]:
    opt = kind(bounds if bounds is not None else [(-5.0, 5.0)] * n, budget=budget, seed=3, **rest)
    digest, batch = hashlib.sha256(), 0
    order = np.random.default_rng(5)
    while True:
        if opt.stop():
            if extend and opt.budget < extend:
                opt.extend(extend)
                continue
            break
        x = opt.ask()
        digest.update(np.ascontiguousarray(x).tobytes())
        y = np.array([f(p) for p in x])
        if resume and batch % resume == resume - 1:
            opt = kind.from_state(loads(dumps(opt.state())))
        if foreign and batch % 5 == 4:
            point = np.clip(opt.best_x + 0.01 * order.standard_normal((3, len(opt.best_x))), -5, 5)
            opt.tell(point, [f(p) for p in point])
        if pieces:
            rows = order.permutation(len(x))
            cut = len(x) // 2
            opt.tell(x[rows[:cut]], y[rows[:cut]])
            opt.tell(x[rows[cut:]], y[rows[cut:]])
        else:
            opt.tell(x, y)
        batch += 1
    digest.update(np.float64(opt.best_y).tobytes() + opt.best_x.tobytes() + opt.x_favorite.tobytes())
    return opt.nfev, digest.hexdigest()[:16]


def case(name: str, kind: Any, f: Any, n: int, budget: int, **rest: Any) -> None:
    """Register a run."""
    CASES[name] = lambda: _run(kind, f, n, budget, **rest)


BUDGETS = {1: 500, 2: 2500, 5: 3500, 10: 5000, 40: 6000, 64: 5000, 200: 4000}
for n, budget in BUDGETS.items():
    case(f"auto-sphere-{n}", AutoEGL, sphere(n), n, budget)
    case(f"auto-rippled-{n}", AutoEGL, rippled(n), n, budget)
    if n > 1:
        case(f"auto-rotated-{n}", AutoEGL, rippled(n, rotated=True), n, budget)
        case(f"auto-ellipsoid-{n}", AutoEGL, ellipsoid(n), n, budget)
        case(f"auto-rosenbrock-{n}", AutoEGL, rosenbrock(n), n, budget)
for n in (2, 10, 70):
    case(f"auto-noise-{n}", AutoEGL, noisy(sphere(n), 0.3), n, 6000)
    case(f"auto-little-noise-{n}", AutoEGL, noisy(rosenbrock(n), 1e-3), n, 4000)
    case(f"auto-failures-{n}", AutoEGL, failing(rosenbrock(n)), n, 3000)
    case(f"auto-lost-{n}", AutoEGL, nowhere(sphere(n), 3.0), n, 2000)
    case(f"auto-resumed-{n}", AutoEGL, failing(rippled(n)), n, 4000, resume=3)
    case(f"auto-foreign-{n}", AutoEGL, rippled(n, rotated=True), n, 3000, foreign=True)
    case(f"auto-pieces-{n}", AutoEGL, ellipsoid(n), n, 2000, pieces=True)
    case(f"auto-ties-{n}", AutoEGL, lambda x: float(np.floor(4 * np.sum(x**2)) / 4), n, 2000)
case("auto-noise-resumed-5", AutoEGL, noisy(ellipsoid(5), 0.2), 5, 3000, resume=4)
case("auto-noise-failures-70", AutoEGL, failing(noisy(sphere(70), 0.3)), 70, 4000)
case("auto-plateau-10", AutoEGL, lambda x: 1.0 if np.abs(x).max() > 1 else float(np.sum(x**2)), 10, 3000)
case("auto-extended-10", AutoEGL, ellipsoid(10), 10, 707, extend=3000)
case("auto-extended-70", AutoEGL, ellipsoid(70), 70, 1707, extend=3000)
case("auto-m4-10", AutoEGL, rosenbrock(10), 10, 3000, settings=AutoSettings(m=4))
case("auto-few-directions-128", AutoEGL, few_directions(128), 128, 6000)
case("auto-huge-10", AutoEGL, lambda x: 1e300 * ellipsoid(10)(x), 10, 3000)
case("auto-tiny-10", AutoEGL, lambda x: 1e-300 * rosenbrock(10)(x), 10, 3000)
case("auto-offset-10", AutoEGL, lambda x: 1e12 + rosenbrock(10)(x), 10, 3000)
case("auto-ten-orders-10", AutoEGL, lambda x: rosenbrock(10)(x) + (1e9 if x.sum() > 3 else 0), 10, 3000)
case("auto-infinite-10", AutoEGL, sphere(10), 10, 3000, bounds=[(None, None)] * 10, x0=[3.0] * 10, scale=0.05)
case("auto-half-infinite-70", AutoEGL, sphere(70), 70, 4000, bounds=[(0, None)] * 70, x0=[3.0] * 70, scale=0.2)
case("auto-fixed-6", AutoEGL, rosenbrock(6), 6, 3000, bounds=[(-5, 5), (1, 1), (-5, 5), (-2, 0.5), (0, 0), (-5, 5)])

SETTINGS = {
    "affine": {},
    "constant": {},
    "constant-row": {"shrink_rule": "row", "n_max": 2},
    "constant-best": {"shrink_rule": "best", "jump": True},
    "constant-tanh-ball": {"region": "tanh", "exploration": "ball", "warmup_factor": 2, "output_rate": 0.1},
    "constant-cone": {"exploration": "cone"},
    "constant-cone-ball": {"exploration": "cone-ball", "output_map": "linear"},
    "constant-ball-radius": {"exploration": "ball-radius", "output_map": "none", "cap": True},
    "affine-huber": {"loss": "huber", "m": 16, "replay": 4},
    "affine-first": {"order": "first", "step": "gradient", "alpha": 0.1, "m": 16, "replay": 4},
    "affine-dither": {"perturbation": 0.1, "m": 16, "replay": 4},
}
for name, changes in SETTINGS.items():
    settings = EGLSettings(model=name.partition("-")[0], **changes)
    case(f"egl-{name}", EGL, rosenbrock(6), 6, 1500, settings=settings)
case("egl-affine-40", EGL, rippled(40), 40, 2500)
case("egl-affine-infinite", EGL, sphere(6), 6, 2000, bounds=[(None, None)] * 6, x0=[3.0] * 6, scale=0.1)
case("egl-planned", EGL, ellipsoid(6), 6, 1500, settings=EGLSettings.planned(6, model="constant"))
case("egl-constant-failures", EGL, failing(sphere(6)), 6, 1500, settings=EGLSettings(model="constant"))
case("egl-affine-resumed", EGL, failing(rippled(6)), 6, 2000, resume=3)
case("egl-constant-foreign", EGL, rippled(6), 6, 1500, foreign=True, settings=EGLSettings(model="constant"))
case("egl-affine-extended", EGL, rosenbrock(6), 6, 333, extend=1000)
case("egl-affine-huge", EGL, lambda x: 1e300 * rosenbrock(6)(x), 6, 1000)
case("egl-converges", EGL, sphere(3), 3, 20000)

NETWORKS = {
    "fc": {"training_steps": 10},
    "fc-tanh-single": {"training_steps": 5, "region": "tanh", "pairing": "single", "perturbation": 0.1},
    "fc-anchored": {"training_steps": 5, "anchor": "affine"},
    "fc-reset": {"training_steps": 5, "reset_network": True, "loss": "huber", "spectral_norm": True},
    "spline": {"training_steps": 2, "splines": 8, "width": 32},
    "spline-c2": {"training_steps": 2, "splines": 8, "width": 32, "spline_kind": "cubic-c2", "aggregation": "average"},
}
for name, changes in NETWORKS.items():
    settings = EGLSettings(model=name.partition("-")[0], **changes)
    case(f"egl-{name}", EGL, rosenbrock(6), 6, 400, settings=settings)
fast_fc = EGLSettings(model="fc", training_steps=5)
fast_igl = IGLSettings(training_steps=5)
case("egl-fc-resumed", EGL, rippled(6), 6, 400, resume=2, settings=fast_fc)
case("igl-fc", IGL, rosenbrock(6), 6, 400, settings=fast_igl)
case("igl-fc-resumed", IGL, rippled(6), 6, 400, resume=2, settings=fast_igl)
case("convergent-constant", ConvergentEGL, sphere(6), 6, 2000)
case(
    "convergent-affine",
    ConvergentEGL,
    rosenbrock(6),
    6,
    1500,
    settings=ConvergentSettings(alpha=1e-4, model="affine", exploration="gaussian", epsilon=0.05),
)
case(
    "convergent-fc",
    ConvergentEGL,
    sphere(6),
    6,
    300,
    settings=ConvergentSettings(model="fc", exploration="gaussian", epsilon=0.3, training_steps=5),
)
case("convergent-failures-resumed", ConvergentEGL, failing(sphere(6)), 6, 1000, resume=3)
case("convergent-huge", ConvergentEGL, lambda x: 1e300 * sphere(6)(x), 6, 1000)
