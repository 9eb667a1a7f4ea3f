"""What is said about a name that nothing has."""

import pytest

from mooring.model.suggestions import suggest

POOLS = ["runners/linux", "queries/duck"]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("runners/linus", "did you mean 'runners/linux'? "),
        ("linux", "did you mean 'runners/linux'? "),
        ("duk", "did you mean 'queries/duck'? "),
        ("nope/nope", ""),
    ],
)
def test_what_was_probably_meant_comes_before_what_there_is(asked: str, meant: str):
    assert suggest(asked, POOLS, "pools") == f"{meant}pools that exist: queries/duck, runners/linux"


def test_nothing_there_is_said():
    assert suggest("linux", [], "pools") == "pools that exist: none"


def test_a_long_list_is_cut_and_says_so():
    told = suggest("x", [f"node-{number:04}" for number in range(5_000)], "nodes")
    assert told.endswith(", node-0019 and 4980 more")
