"""The algebra of field sets."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from drydock.api.apply.field_sets import difference, intersection, paths, union, without_subtrees

STEPS = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"'])
LEAF: dict[str, Any] = {}


def _nodes(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    below = st.dictionaries(STEPS, inner, min_size=1, max_size=3)
    return below | below.map(lambda node: {".": {}, **node})


SETS = st.dictionaries(STEPS, st.recursive(st.just(LEAF), _nodes, max_leaves=6), max_size=3)


def members(fields: dict[str, Any]) -> set[str]:
    return set(paths(fields))


@given(SETS, SETS)
def test_sets_behave_like_sets_of_paths(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert members(union(left, right)) == members(left) | members(right)
    assert members(difference(left, right)) == members(left) - members(right)
    assert members(intersection(left, right)) == members(left) & members(right)


@given(SETS, SETS)
def test_a_member_takes_its_subtree_with_it_when_asked(left: dict[str, Any], right: dict[str, Any]) -> None:
    gone = members(right)

    def survives(path: str) -> bool:
        return not any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in gone)

    assert members(without_subtrees(left, right)) == {path for path in members(left) if survives(path)}


@given(SETS, SETS)
def test_sets_are_never_changed_in_place(left: dict[str, Any], right: dict[str, Any]) -> None:
    before = repr(left), repr(right)
    for operation in (union, difference, intersection, without_subtrees):
        operation(left, right)
    assert (repr(left), repr(right)) == before


def test_paths_read_as_people_write_them() -> None:
    fields = {"f:spec": {"f:list": {'k:{"name":"x","port":80}': {".": {}, "f:image": {}}, 'v:"y"': {}}}}
    assert list(paths(fields)) == [
        '.spec.list[name="x",port=80]',
        '.spec.list[="y"]',
        '.spec.list[name="x",port=80].image',
    ]
