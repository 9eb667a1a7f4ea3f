"""Patterns, formats and paths read as Go reads them."""

import time

import pytest

from drydock.api.printing.jsonpath import JsonPathError, parse_path
from drydock.api.schema.formats import fits_format
from drydock.api.schema.patterns import PatternError, compile_pattern
from packages.drydock.tests.api.schema.pattern_cases import FOUND, FOUND_ALL, REFUSED


@pytest.mark.parametrize(("pattern", "text", "found"), FOUND)
def test_a_pattern_finds_what_it_finds_in_go(pattern: str, text: str, found: bool) -> None:
    assert (compile_pattern(pattern).search(text) is not None) is found


@pytest.mark.parametrize(("pattern", "words"), REFUSED)
def test_a_pattern_that_go_refuses_is_refused_in_its_words(pattern: str, words: str) -> None:
    with pytest.raises(PatternError) as refused:
        compile_pattern(pattern)
    assert str(refused.value) == words


@pytest.mark.parametrize(("pattern", "text", "parts"), FOUND_ALL)
def test_all_finds_are_those_of_go(pattern: str, text: str, parts: list[str]) -> None:
    assert list(compile_pattern(pattern).find_all(text)) == parts


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|aa)+$", "(.*)(.*)(.*)(.*)(.*)[^a]$"])
def test_no_pattern_takes_long(pattern: str) -> None:
    begin = time.perf_counter()
    compile_pattern(pattern).search("a" * 100_000 + "b" * pattern.startswith(("(a", "^")))
    assert time.perf_counter() - begin < 1.0


@pytest.mark.parametrize(
    ("name", "text", "fits"),
    [
        ("date-time", "2026-03-01T12:00:00Z", True),
        ("date-time", "2026-02-30T12:00:00Z", False),
        ("duration", "1h30m", True),
        ("duration", "90", False),
        ("duration", "3 days", True),
        ("k8s-short-name", "a-b", True),
        ("k8s-short-name", "a.b", False),
        ("k8s-long-name", "a.b", True),
        ("mac", "01:23:45:67:89:ab", True),
        ("hexcolor", "#ffg", False),
        ("never-heard-of", "anything", True),
    ],
)
def test_a_format_fits_what_it_should(name: str, text: str, fits: bool) -> None:
    assert fits_format(text, name) is fits


_OBJECT = {
    "spec": {"replicas": 3, "list": [{"name": "a", "n": 1}, {"name": "b", "n": 2}], "map": {"x": 1, "y": 2}},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [3]),
        ("{.spec.replicas}", [3]),
        ("$.spec.replicas", [3]),
        (".spec['replicas']", [3]),
        (".spec.list[0].name", ["a"]),
        (".spec.list[-1].name", ["b"]),
        (".spec.list[*].n", [1, 2]),
        (".spec.list[5].name", []),
        (".spec.map.*", [1, 2]),
        (".spec.list[?(@.n==2)].name", ["b"]),
        (".spec.list[?(@.name!='a')].n", [2]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".spec.list[?(@.missing)].n", []),
        (".spec.replicas.deeper", []),
    ],
)
def test_a_path_leads_where_it_should(path: str, found: list[object]) -> None:
    assert parse_path(path).find(_OBJECT) == found


@pytest.mark.parametrize("path", [".a[", ".a[?(@.b>1)]", ".a..b", ".a[1:2]"])
def test_a_path_that_cannot_be_followed_is_refused(path: str) -> None:
    with pytest.raises(JsonPathError):
        parse_path(path)
