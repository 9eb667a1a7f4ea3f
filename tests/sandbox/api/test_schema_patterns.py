"""Patterns, formats and paths read as Go reads them."""

import pytest

from mooring.sandbox.api.formats import fits_format
from mooring.sandbox.api.jsonpath import JsonPathError, parse_path
from mooring.sandbox.api.patterns import PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^[a-z]+$", "abc", True),
        ("^[a-z]+$", "abc\n", False),
        ("b", "abc", True),
        (r"^\d+$", "٣", False),
        (r"^[$]\$$", "$$", True),
        (r"a\z", "ba", True),
        ("^[[:alpha:]_]+$", "a_b", True),
        ("^[[]$", "[", True),
        ("(?i)^ab$", "AB", True),
    ],
)
def test_a_pattern_finds_what_it_finds_in_go(pattern: str, text: str, found: bool) -> None:
    assert (compile_pattern(pattern).search(text) is not None) is found


@pytest.mark.parametrize("pattern", ["(", r"\p{Greek}", "[[:^alpha:]]", "*a"])
def test_a_pattern_that_cannot_be_run_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        compile_pattern(pattern)


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
