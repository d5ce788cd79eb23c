"""A state taken at any moment continues bit for bit, here or in another process."""

import random
import subprocess
import sys

import numpy as np
import pytest
import torch
from tests.asktell.test_behaviour import VARIANTS
from tests.functions import ripples

from eglearn import EGL, AutoEGL, ConvergentEGL, ConvergentSettings
from eglearn.serialize import dumps, loads

BOUNDS = [(-5, 5)] * 4


def remaining(opt):
    asked = []
    while not opt.stop():
        x = opt.ask()
        asked.append(x)
        opt.tell(x, ripples(x))
    return np.concatenate([*asked, opt.best_x[None]])


def advanced(make, evaluations):
    """A run after a number of told values, in the middle of a batch as a rule."""
    opt = make(BOUNDS, budget=500, seed=1)
    while opt.nfev < evaluations:
        x = opt.ask()[: evaluations - opt.nfev]
        opt.tell(x, ripples(x))
    return opt


@pytest.mark.parametrize("variant", VARIANTS)
def test_round_trip_at_a_random_moment(variant):
    rng = random.Random(variant)
    last = {"active-subspace": 7, "trust-region": 90, "quasi-newton": 30}.get(variant, 450)  # these end early
    for _ in range(3):
        moment = rng.randrange(1, last)
        opt = advanced(VARIANTS[variant], moment)
        copy = type(opt).from_state(loads(dumps(opt.state())))
        assert copy.differences(opt.state()) == []
        np.testing.assert_array_equal(remaining(copy), remaining(opt))


@pytest.mark.parametrize("n", [64, 100])
def test_round_trip_between_each_ask_and_tell_in_many_dimensions(n):
    plain, opt = (AutoEGL([(-5, 5)] * n, np.full(n, 1.3), budget=1200, seed=3) for _ in range(2))
    while not plain.stop():
        x = plain.ask()
        opt.ask()
        opt = AutoEGL.from_state(loads(dumps(opt.state())))
        np.testing.assert_array_equal(opt.ask(), x)
        for each in (plain, opt):
            each.tell(x, ripples(x))


def test_points_told_with_fewer_digits_survive():
    opt, copy = (AutoEGL(BOUNDS, budget=60, seed=1) for _ in range(2))
    x = opt.ask()
    copy.ask()
    rounded = np.round(x, 9)
    opt.tell(rounded[:2], ripples(rounded[:2]))
    copy.tell(rounded[:2], ripples(rounded[:2]))
    copy = AutoEGL.from_state(loads(dumps(copy.state())))
    assert copy.best_x.tobytes() == opt.best_x.tobytes()
    assert opt.best_x.tobytes() in {row.tobytes() for row in rounded[:2]}
    np.testing.assert_array_equal(remaining(copy), remaining(opt))


def test_a_state_is_not_changed_by_what_comes_after():
    opt = advanced(EGL, 100)
    state = opt.state()
    before = dumps(state)
    remaining(opt)
    assert dumps(state) == before
    EGL.from_state(state)
    remaining(EGL.from_state(state))
    assert dumps(state) == before


CHILD = """
import sys
import numpy as np
from eglearn.algorithms import ALGORITHMS
from eglearn.serialize import loads
from tests.asktell.test_state import remaining
for path in sys.argv[1:]:
    state = loads(open(path, "rb").read())
    np.save(path, remaining(ALGORITHMS[state["algorithm"]].from_state(state)))
"""


def test_a_new_process_continues_exactly(tmp_path):
    variants = ("egl-affine", "egl-fc-anchored", "egl-spline", "igl-fc", "auto")
    made = {tmp_path / variant: advanced(VARIANTS[variant], 217) for variant in variants}
    for path, opt in made.items():
        path.write_bytes(dumps(opt.state()))
    subprocess.run([sys.executable, "-c", CHILD, *made], check=True)
    for path, opt in made.items():
        np.testing.assert_array_equal(np.load(f"{path}.npy"), remaining(opt), err_msg=path.name)


def test_other_environments_are_reported():
    state = advanced(VARIANTS["egl-fc"], 50).state()
    state["made_with"]["numpy"] = "0.1"
    state["made_with"]["torch threads"] = 77
    opt = EGL.from_state(state)
    assert any("numpy" in d and "0.1" in d for d in opt.differences(state))
    assert any("torch threads" in d and "77" in d for d in opt.differences(state))


def test_unknown_formats_and_wrong_algorithms_are_refused_by_name():
    state = EGL(BOUNDS, budget=10).state()
    with pytest.raises(ValueError, match="format 99, of eglearn "):
        EGL.from_state(state | {"format": 99})
    with pytest.raises(ValueError, match="algorithm 'igl', not to 'egl'"):
        EGL.from_state(state | {"algorithm": "igl"})


def test_settings_and_rules_survive():
    settings = ConvergentSettings(constant=2.25, gamma_alpha=0.5)
    opt = ConvergentEGL(BOUNDS, budget=50, settings=settings)
    copy = ConvergentEGL.from_state(loads(dumps(opt.state())))
    assert copy.settings == settings
    assert copy.state()["search"]["settings"] == opt.state()["search"]["settings"]


def test_global_random_states_are_untouched():
    np.random.seed(1)  # noqa: NPY002 - the legacy state is the very thing under test
    random.seed(2)
    torch.manual_seed(3)
    before = np.random.get_state()[1].copy(), random.getstate(), torch.random.get_rng_state()  # noqa: NPY002
    for variant in ("egl-affine", "egl-fc-anchored", "egl-spline", "igl-fc", "convergent-egl", "auto"):
        remaining(advanced(VARIANTS[variant], 100))
    assert np.array_equal(np.random.get_state()[1], before[0])  # noqa: NPY002
    assert random.getstate() == before[1]
    assert torch.equal(torch.random.get_rng_state(), before[2])


def test_a_state_holds_only_plain_data():
    def check(value):
        if isinstance(value, dict):
            assert all(isinstance(k, str) for k in value)
            list(map(check, value.values()))
        elif isinstance(value, list):
            list(map(check, value))
        else:
            assert value is None or type(value) in (bool, int, float, str, np.ndarray, np.float64), type(value)

    check(advanced(VARIANTS["egl-spline"], 60).state())
    check(advanced(AutoEGL, 60).state())
    check(EGL(BOUNDS, budget=5).state())
