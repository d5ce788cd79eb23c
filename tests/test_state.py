"""State by construction: whatever the fields hold comes back, and what is missing has a default or is named."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.test_serialize import keys, leaves, same

import eglearn.algorithms  # noqa: F401 - all kinds that there are
from eglearn.serialize import dumps, loads
from eglearn.state import SHARED, Stateful, plain, restored

exact = settings(derandomize=True, deadline=None, max_examples=100)


class Mood(StrEnum):
    GOOD = "good"
    BAD = "bad"


@dataclass
class Leaf(Stateful):
    x: Any
    mood: Mood | None = None


@dataclass
class Branch(Stateful):
    rng: np.random.Generator = field(metadata=SHARED)
    name: str
    leaf: Leaf
    children: list[Any] = field(default_factory=list)
    table: dict[str, Any] = field(default_factory=dict)
    height: int = 7

    def __post_init__(self):
        self._derive()

    def _derive(self):
        self.total = self.height + len(self.children)


@dataclass(frozen=True)
class Stone(Stateful):
    weight: float


def through_bytes(thing, **shared):
    return type(thing).from_state(loads(dumps(thing.state())), **shared)


RNG = np.random.default_rng(0)


def test_a_tree_comes_back():
    tree = Branch(
        RNG,
        "oak",
        Leaf(np.arange(3.0), Mood.BAD),
        [Branch(RNG, "twig", Leaf(1.5)), [Leaf(None), Stone(2.0)], Mood.GOOD, "text"],
        {"a": Leaf([1, 2], Mood.GOOD), "b": {"c": np.eye(2)}},
        9,
    )
    back = through_bytes(tree, rng=RNG)
    assert same(tree.state(), back.state())
    assert (back.name, back.height, back.total) == ("oak", 9, 13)
    assert back.leaf.x.tolist() == [0, 1, 2]
    assert back.leaf.mood is Mood.BAD
    twig, (empty, stone), good, text = back.children
    assert type(twig) is Branch
    assert (twig.leaf.x, twig.leaf.mood, twig.height) == (1.5, None, 7)
    assert (empty.x, stone, text) == (None, Stone(2.0), "text")
    assert good is Mood.GOOD
    assert back.table["a"] == Leaf([1, 2], Mood.GOOD)
    assert back.table["b"]["c"].tolist() == [[1, 0], [0, 1]]


def test_what_is_shared_is_handed_in_and_no_part_of_the_state():
    tree = Branch(RNG, "oak", Leaf(1), [Branch(RNG, "twig", Leaf(2))])
    assert "rng" not in tree.state()
    other = np.random.default_rng(1)
    back = Branch.from_state(tree.state(), rng=other)
    assert back.rng is other
    assert back.children[0].rng is other


@exact
@given(
    st.recursive(
        leaves | st.sampled_from(list(Mood)),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(keys, inner, max_size=3)
            | st.builds(Leaf, inner, st.none() | st.sampled_from(Mood))
        ),
        max_leaves=10,
    )
)
def test_any_content_comes_back(content):
    """Enums as enums, objects as objects, arrays to the last bit."""
    first = Leaf(content).state()
    back = through_bytes(Leaf(content))
    assert same(first, back.state())
    assert shape(back.x) == shape(content)


def shape(value):
    """The types of a nested content; numbers of NumPy come back as arrays without axes."""
    if isinstance(value, list | tuple):
        return [shape(v) for v in value]
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items()}
    if isinstance(value, Leaf):
        return Leaf, shape(value.x), value.mood
    return value if isinstance(value, Mood) else type(value)


def test_a_state_does_not_change_afterwards():
    leaf = Leaf([np.zeros(2), {"a": np.zeros(2)}])
    state = leaf.state()
    back = Leaf.from_state(state)
    leaf.x[0][:] = leaf.x[1]["a"][:] = 5
    leaf.x.append(3)
    assert same(state["x"], [np.zeros(2), {"a": np.zeros(2)}])
    back.x[0][:] = 6
    back.x[1]["b"] = 1
    assert same(state["x"], [np.zeros(2), {"a": np.zeros(2)}])


def test_a_missing_field_with_a_default_has_it():
    back = Branch.from_state({"name": "old", "leaf": plain(Leaf(1))}, rng=RNG)
    assert (back.height, back.children, back.table, back.total) == (7, [], {}, 7)
    again = Branch.from_state({"name": "old", "leaf": plain(Leaf(1))}, rng=RNG)
    assert again.children is not back.children


@pytest.mark.parametrize("missing", ["name", "leaf"])
def test_a_missing_field_without_a_default_is_named(missing):
    state = Branch(RNG, "oak", Leaf(1)).state()
    del state[missing]
    with pytest.raises(ValueError, match=f"the state of Branch has no {missing}"):
        Branch.from_state(state, rng=RNG)


def test_a_missing_field_inside_is_named_with_its_own_kind():
    state = Branch(RNG, "oak", Leaf(1)).state()
    del state["leaf"]["state"]["x"]
    with pytest.raises(ValueError, match="the state of Leaf has no x"):
        Branch.from_state(state, rng=RNG)


def test_kinds_and_enums_of_other_versions_are_named():
    for unknown in ({"kind": "Sequoia", "state": {}}, {"enum": "Sequoia", "value": "tall"}):
        with pytest.raises(ValueError, match="Sequoia, which this eglearn does not know"):
            restored(unknown)
    with pytest.raises(ValueError, match="'sad' is not a valid Mood"):
        restored({"enum": "Mood", "value": "sad"})


def test_frozen_ones_come_back_frozen():
    stone = through_bytes(Stone(0.1 + 0.2))
    assert stone == Stone(0.1 + 0.2)
    with pytest.raises(AttributeError):
        stone.weight = 1.0


def test_no_two_kinds_have_one_name():
    """A name in a state stands for one kind; the later one would take the place of the other."""

    def below(kind):
        for child in kind.__subclasses__():
            yield child
            yield from below(child)

    for base in (Stateful, StrEnum):
        names = Counter(k.__name__ for k in set(below(base)) if k.__module__.startswith("eglearn."))
        assert names
        assert [name for name, count in names.items() if count > 1] == []
