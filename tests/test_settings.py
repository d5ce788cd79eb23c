"""Settings: what is refused and how, the published presets number by number, state and description."""

import dataclasses
import math

import pytest

from eglearn import AutoSettings, ConvergentSettings, EGLSettings, IGLSettings, serialize
from eglearn.learning.models.settings import MODELS, NETWORKS
from eglearn.learning.output import OUTPUT_MAPS
from eglearn.learning.pairs import LOSSES, ORDERS
from eglearn.learning.regions import REGIONS
from eglearn.learning.samplers import EXPLORATIONS
from eglearn.search.registry import SEARCHES

FIELDS = [f.name for f in dataclasses.fields(EGLSettings)]
OF_SEARCHES = sorted({s.settings_class for s in SEARCHES.values()} | {AutoSettings}, key=lambda kind: kind.__name__)
EVERY_CLASS = pytest.mark.parametrize("kind", OF_SEARCHES, ids=lambda kind: kind.__name__)


def whole(low, none=False):
    right = [low, low + 1, 10**6] + [None] * none
    return right, [low - 1, -(10**9), 1.5, float(low + 1), True, "3", math.nan] + [None] * (not none)


def number(right, wrong, none=False):
    return right + [None] * none, [*wrong, math.nan, math.inf, -math.inf, "0.1", True, [0.1]] + [None] * (not none)


def choice(*right, none=False):
    wrong = ["", "other", right[0].upper(), right[0] + " ", 0, True, [right[0]], (right[0],)]
    return list(right) + [None] * none, wrong + [None] * (not none)


POSITIVE = ([5e-324, 1e-3, 1, 1e308], [0, 0.0, -1e-9, -5])
NOT_NEGATIVE = ([0, 0.0, 5e-324, 7.5], [-5e-324, -1])
FACTOR = ([5e-324, 0.5, 1, 1.0], [0, 0.0, -0.1, 1 + 1e-15, 2])
FLAG = ([True, False], [0, 1, None, "yes", 1.0])

CASES = {
    "m": whole(2, none=True),
    "warmup_factor": whole(1),
    "replay": whole(1),
    "region": choice("tanh", "linear", "shaped"),
    "region_factor": number(*FACTOR),
    "output_map": choice(*OUTPUT_MAPS),
    "output_quantile": number([5e-324, 0.1, 0.4999], [0, 0.0, -0.1, 0.5, 1]),
    "output_rate": number(*FACTOR),
    "exploration": choice(*EXPLORATIONS),
    "cone_angle": number([5e-324, 1, math.pi], [0, -1, math.nextafter(math.pi, 4), 6.3]),
    "epsilon": number(*POSITIVE),
    "epsilon_factor": number(*FACTOR),
    "epsilon_min": number(*NOT_NEGATIVE),
    "model": choice(*MODELS),
    "order": choice(*ORDERS, none=True),
    "loss": choice(*LOSSES),
    "perturbation": number([0, 0.5, 0.999], [-0.01, 1, 1.0, 2]),
    "ridge": number(*NOT_NEGATIVE),
    "step": choice("gradient", "newton", none=True),
    "alpha": number(*NOT_NEGATIVE),
    "cap": FLAG,
    "jump": FLAG,
    "shrink_rule": choice("row", "mean", "best", "planned"),
    "plan": (
        [(0.5, 0.1, 0.01), (1.0, 1.0, 1.0)],
        [(0.5, 0.1), (0.1, 0.5, 0.01), (1.5, 0.1, 0.01), (0.5, 0.1, 0.0), [0.5, 0.1, 0.01], 0.5, None, "x"],
    ),
    "shape_limit": ([1, 1.0, 100.0], [0.5, 0, -1, math.inf, math.nan, "x", None]),
    "shape_replay": whole(0),
    "centre": choice("sample", "candidate"),
    "n_max": whole(1, none=True),
    "n_min": whole(0),
    "hidden": ([(1,), (64, 32, 5)], [(), [64], 64, (64, 0), (64, 1.5), (True,), None, "64"]),
    "anchor": choice("none", "constant", "affine"),
    "pairing": choice("all", "single"),
    "minibatch": whole(1),
    "training_steps": whole(1),
    "learning_rate": number(*POSITIVE),
    "adam_epsilon": number(*POSITIVE),
    "reset_network": FLAG,
    "knots": whole(2),
    "splines": whole(1),
    "spline_kind": choice("linear", "cubic-c0", "cubic-c2"),
    "spline_learning_rate": number(*POSITIVE, none=True),
    "aggregation": choice("average", "attention"),
    "blocks": whole(1),
    "width": whole(1),
    "spectral_norm": FLAG,
    "device": (["cpu", "cuda:1"], ["", None, 0, True]),
}

# Values that go only with others.
COMPANY = {"anchor": {"model": "fc"}, "region": {"step": "gradient"}}


def test_every_field_is_covered_here():
    assert set(CASES) == set(FIELDS)


@pytest.mark.parametrize(("name", "value"), [(name, v) for name in CASES for v in CASES[name][0]])
def test_allowed_values(name, value):
    assert getattr(EGLSettings(**(COMPANY.get(name, {}) | {name: value})), name) == value


@pytest.mark.parametrize(("name", "value"), [(name, v) for name in CASES for v in CASES[name][1]])
def test_wrong_values_are_named(name, value):
    """The message holds the field, the value, and what is allowed."""
    with pytest.raises(ValueError, match=f"EGLSettings.{name} = ") as caught:
        EGLSettings(**(COMPANY.get(name, {}) | {name: value}))
    allowed = {f.name: f.metadata["allowed"].text for f in dataclasses.fields(EGLSettings)}[name]
    assert str(caught.value) == f"EGLSettings.{name} = {value!r}: allowed is {allowed}"


def test_a_shaped_region_is_for_gradient_steps():
    with pytest.raises(ValueError, match=r"EGLSettings.region = 'shaped': allowed only with gradient steps"):
        EGLSettings(region="shaped")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("m", ["whole number", "2 or more", "None"]),
        ("n_min", ["whole number", "0 or more"]),
        ("region", [repr(k) for k in REGIONS]),
        ("output_map", [repr(k) for k in OUTPUT_MAPS]),
        ("exploration", [repr(k) for k in EXPLORATIONS]),
        ("model", [repr(k) for k in MODELS]),
        ("order", [repr(k) for k in ORDERS]),
        ("loss", [repr(k) for k in LOSSES]),
        ("output_quantile", ["(0, 0.5)"]),
        ("output_rate", ["(0, 1]"]),
        ("perturbation", ["[0, 1)"]),
        ("cone_angle", ["(0, pi]"]),
        ("epsilon", ["above 0"]),
        ("ridge", ["0 or more"]),
        ("jump", ["True or False"]),
        ("hidden", ["tuple", "whole numbers", "1 or more"]),
        ("spline_learning_rate", ["above 0", "None"]),
    ],
)
def test_what_is_allowed_is_said_in_words(name, words):
    with pytest.raises(ValueError, match=f"EGLSettings.{name} = ") as caught:
        EGLSettings(**{name: CASES[name][1][0]})
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"model": "constant", "step": "newton"}, ["EGLSettings.step = 'newton'", "model='affine'", "step=None"]),
        ({"order": "first", "step": "newton"}, ["EGLSettings.step = 'newton'", "order='trapezoid'", "order='first'"]),
        ({"model": "fc", "step": "newton"}, ["EGLSettings.step = 'newton'", "model='fc'", "step=None"]),
        ({"anchor": "affine"}, ["EGLSettings.anchor = 'affine'", "'fc'", "'spline'"]),
        ({"model": "constant", "anchor": "constant"}, ["EGLSettings.anchor = 'constant'"]),
        ({"model": "least-change", "anchor": "affine"}, ["EGLSettings.anchor = 'affine'"]),
        ({"model": "least-change", "order": "first"}, ["EGLSettings.model = 'least-change'", "order"]),
        ({"model": "least-change", "loss": "huber"}, ["EGLSettings.model = 'least-change'", "loss"]),
        ({"model": "least-change", "perturbation": 0.1}, ["EGLSettings.model = 'least-change'", "perturbation"]),
    ],
)
def test_values_that_do_not_go_together(values, said):
    with pytest.raises(ValueError, match=said[0]) as caught:
        EGLSettings(**values)
    for part in said[1:]:
        assert part in str(caught.value)


@EVERY_CLASS
def test_unknown_setting_names_itself(kind):
    with pytest.raises(TypeError, match="batchsize"):
        kind(batchsize=3)
    with pytest.raises(TypeError, match=f"{kind.__name__} has no setting 'batchsize'; it has ") as caught:
        kind().changed(batchsize=3)
    assert all(f.name in str(caught.value) for f in dataclasses.fields(kind))
    with pytest.raises(ValueError, match=f"{kind.__name__} has no setting 'batchsize'"):
        kind.from_state(kind().state() | {"batchsize": 3})


@pytest.mark.parametrize("name", ["anchor", "perturbation", "order", "ridge", "pairing", "step"])
def test_what_belongs_to_pairs_is_no_setting_of_igl(name):
    with pytest.raises(TypeError, match=name):
        IGLSettings(**{name: CASES[name][0][0]})
    assert hasattr(IGLSettings(), "training_steps")


def test_changed_is_a_checked_copy():
    settings = EGLSettings(m=9)
    assert settings.changed(replay=4) == EGLSettings(m=9, replay=4)
    assert settings == EGLSettings(m=9)
    with pytest.raises(ValueError, match=r"EGLSettings\.replay = 0"):
        settings.changed(replay=0)


def test_frozen_comparable_and_by_name_only():
    settings = EGLSettings()
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.m = 5
    assert settings == EGLSettings()
    assert settings != EGLSettings(m=5)
    assert hash(settings) == hash(EGLSettings())
    with pytest.raises(TypeError):
        EGLSettings(5)
    with pytest.raises(ValueError, match=r"EGLSettings\.m = 1"):
        dataclasses.replace(settings, m=1)


# --- presets -------------------------------------------------------------------------------------------------------

TABLE_1 = {
    "m": 64,
    "warmup_factor": 5,
    "minibatch": 1024,
    "replay": 32,
    "alpha": 1e-2,
    "learning_rate": 1e-3,
    "region_factor": 0.9,
    "epsilon_factor": 0.97,
    "epsilon": 0.1,  # times sqrt(n)
    "n_max": 10,
    "n_min": 40,
    "perturbation": 0,
    "model": "spline",
    "output_map": "log",
    "output_rate": 0.1,
    "training_steps": 60,
    "exploration": "ball",
}
PAPERS_TEXT = {
    "region": "tanh",
    "order": "first",
    "loss": "squared",
    "step": "gradient",
    "cap": False,
    "jump": False,
    "shrink_rule": "row",
    "reset_network": False,
    "pairing": "single",
    "anchor": "none",
    "output_quantile": 0.1,
    "knots": 21,
    "spectral_norm": False,
    "epsilon_min": 0,
    "spline_learning_rate": None,
}
AUTHORS = TABLE_1 | {
    "region": "tanh",
    "output_quantile": 0.1,
    "exploration": "ball-radius",
    "epsilon_min": 1e-4,
    "order": "first",
    "loss": "huber",
    "step": "gradient",
    "cap": False,
    "jump": True,
    "shrink_rule": "best",
    "reset_network": True,
    "pairing": "single",
    "anchor": "none",
    "training_steps": 120,  # 60 passes, each two minibatches of 1024 once all 32 * 64 = 2048 points are there
    "hidden": (256, 512, 512, 256),
    "knots": 21,
    "splines": 32,
    "spline_kind": "linear",
    "spline_learning_rate": 0.1,
    "aggregation": "attention",
    "blocks": 2,
    "width": 256,
    "spectral_norm": False,
}
TABLE_2 = {
    "m": 32,
    "minibatch": 1024,
    "replay": 64,
    "cone_angle": 2 * math.pi / 3,
    "alpha": 0.02,
    "learning_rate": 1e-3,
    "region_factor": 0.9,
    "epsilon_factor": 0.95,
}


def check(settings, expected):
    values = dataclasses.asdict(settings)
    assert {name: values[name] for name in expected} == expected


@pytest.mark.parametrize("n", [2, 40, 784])
def test_paper_coco_is_table_1_and_the_text(n):
    check(EGLSettings.paper_coco(n), TABLE_1 | PAPERS_TEXT)


@pytest.mark.parametrize("n", [2, 40, 784])
def test_authors_code(n):
    check(EGLSettings.authors_code(n), AUTHORS)


@pytest.mark.parametrize("n", [512])
def test_paper_latent_is_table_2_and_otherwise_table_1(n):
    check(EGLSettings.paper_latent(n), TABLE_1 | PAPERS_TEXT | TABLE_2 | {"exploration": "cone-ball"})


@pytest.mark.parametrize("preset", [EGLSettings.paper_coco, EGLSettings.authors_code, EGLSettings.paper_latent])
def test_presets_can_be_changed(preset):
    changed = preset(10, model="fc", alpha=0.5)
    assert (changed.model, changed.alpha) == ("fc", 0.5)
    assert dataclasses.replace(changed, model="spline", alpha=preset(10).alpha) == preset(10)
    with pytest.raises(ValueError, match=r"EGLSettings\.m = 0"):
        preset(10, m=0)


@pytest.mark.parametrize("model", MODELS)
def test_naming_a_model_is_enough(model):
    """Pair loss and step follow it: Newton steps where its derivative is a Hessian."""
    settings = EGLSettings(model=model, m=7)
    assert (settings.order, settings.step) == (None, None)
    assert settings.pair_order == ("first" if model == "constant" else "trapezoid")
    assert settings.has_curvature == (model in ("affine", "least-change"))
    assert settings.step_kind == ("newton" if settings.has_curvature else "gradient")
    assert ConvergentSettings(model=model).pair_order == settings.pair_order
    assert settings.changed(model="affine") == EGLSettings(m=7)


def test_what_is_chosen_holds():
    assert EGLSettings(step="gradient").step_kind == "gradient"
    assert EGLSettings(model="fc", order="first").pair_order == "first"
    assert EGLSettings(order="first").step_kind == "gradient"  # whose H is no Hessian


def test_networks_are_models():
    assert set(NETWORKS) < set(MODELS)


@pytest.mark.parametrize(("n", "size"), [(1, 16), (4, 16), (5, 17), (40, 50), (100, 80), (2000, 357)])
def test_batch_size(n, size):
    assert EGLSettings().batch_size(n) == size
    assert EGLSettings(m=9).batch_size(n) == 9
    assert EGLSettings.paper_coco(n).batch_size(n) == 64


# --- state and description -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        EGLSettings(),
        EGLSettings.paper_coco(4),
        EGLSettings.authors_code(4),
        EGLSettings(m=5, epsilon=0.1 + 0.2, hidden=(3,)),
    ],
)
def test_state_round_trip(settings):
    state = settings.state()
    assert list(state) == FIELDS
    assert EGLSettings.from_state(state) == settings
    assert EGLSettings.from_state(serialize.loads(serialize.dumps(state))) == settings


@EVERY_CLASS
def test_defaults_survive_as_a_state(kind):
    assert kind.from_state(serialize.loads(serialize.dumps(kind().state()))) == kind()


def test_a_state_of_an_older_version_has_fewer_settings():
    state = EGLSettings(m=5).state()
    del state["replay"]
    assert EGLSettings.from_state(state) == EGLSettings(m=5)


def test_state_with_a_wrong_value_is_refused():
    with pytest.raises(ValueError, match=r"EGLSettings\.replay = 0"):
        EGLSettings.from_state(EGLSettings().state() | {"replay": 0})


@EVERY_CLASS
def test_every_field_is_described(kind):
    rows = kind.describe().splitlines()
    fields = [f for f in dataclasses.fields(kind) if f.metadata]
    assert len(rows) == len(fields) + 2  # with a head
    for row, field in zip(rows[2:], fields, strict=True):
        meta = field.metadata
        for part in (f"| `{field.name}` |", repr(field.default), meta["meaning"], meta["allowed"].text, meta["source"]):
            assert part
            assert part in row
        assert row.count("|") == 6  # five columns: nothing in a text breaks the table


def test_only_the_plan_of_experiments_is_without_a_description():
    for kind in OF_SEARCHES:
        bare = [f.name for f in dataclasses.fields(kind) if not f.metadata]
        assert bare == (["plan"] if kind is AutoSettings else [])
