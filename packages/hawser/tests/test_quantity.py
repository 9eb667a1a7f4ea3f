"""Quantities are read exactly, and nonsense is refused by name."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawser.errors import InvalidInput
from hawser.quantity import format_quantity, in_millis, in_units, parse_quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("100m", Fraction(1, 10)),
        ("2", 2),
        ("1.5", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("-3", -3),
        ("+3", 3),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1Gi", 2**30),
        ("1.5Gi", 3 * 2**29),
        ("2Ei", 2**61),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("12e-3", Fraction(12, 1000)),
        ("1E+2", 100),
        ("100n", Fraction(1, 10**7)),
        ("5u", Fraction(5, 10**6)),
        (3, 3),
        (0.5, Fraction(1, 2)),
    ],
)
def test_a_quantity_has_its_exact_value(text: str | int | float, value: Fraction | int) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    "text",
    ["", " ", "1 Gi", "Gi", "1gi", "1K", "1mi", "e3", "1e", "--1", "1.2.3", "0x10", "1_000", "\u0661", "nan"],
)
def test_nonsense_is_refused_with_the_name_of_the_field(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"resources\.requests\.cpu"):
        parse_quantity(text, "resources.requests.cpu")


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "9" * 1000])
def test_a_quantity_cannot_be_made_to_fill_the_memory(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_quantity(text)


def test_fractions_of_a_unit_round_up_as_kubernetes_rounds_them() -> None:
    assert in_millis(parse_quantity("100u")) == 1
    assert in_millis(parse_quantity("1.5")) == 1500
    assert in_units(parse_quantity("100m")) == 1
    assert in_units(parse_quantity("1Gi")) == 2**30


@given(st.integers(-(10**12), 10**12))
def test_millis_survive_the_way_through_text(millis: int) -> None:
    assert in_millis(parse_quantity(f"{millis}m")) == millis


@pytest.mark.parametrize(
    ("text", "binary", "written"),
    [
        ("1500m", False, "1500m"),
        ("2000", False, "2k"),
        ("1024", False, "1024"),
        ("1024", True, "1Ki"),
        ("0", True, "0"),
    ],
)
def test_a_quantity_is_written_in_its_shortest_form(text: str, binary: bool, written: str) -> None:
    assert format_quantity(parse_quantity(text), binary=binary) == written
