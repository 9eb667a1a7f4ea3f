"""Durations as people write them."""

from datetime import timedelta

import pytest

from mooring.client.durations import parse_seconds
from mooring.model.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("5m", 300),
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("2d", 172_800),
        ("45", 45),
        (" 1.5h ", 5400),
        (10, 10),
        (0.25, 0.25),
        (timedelta(minutes=2), 120),
    ],
)
def test_a_duration_may_be_text_a_number_or_a_timedelta(text, seconds):
    assert parse_seconds("ttl", text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "soon", "-5s", "5 m", "m5", "1h-30m", -1, float("inf"), float("nan"), "1e3s", None, True, [5]]
)
def test_an_invalid_duration_is_refused_with_the_name_of_its_field(text):
    with pytest.raises(InvalidInput, match="ttl"):
        parse_seconds("ttl", text)
