"""Cron expressions: the minutes that they match."""

from datetime import UTC, datetime

import pytest

from mooring.model.cron import CronError, parse_cron

MONDAY = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("* * * * *", True),
        ("30 9 * * *", True),
        ("*/15 8-10 * * mon-fri", True),
        ("*/20 * * * *", False),
        ("* * * * 0", False),
        ("* * * * 1,3", True),
        ("* * 2 3 *", True),
        ("* * 3 * mon", True),  # one of two days is enough
        ("* * 3 * tue", False),
        ("0-29 9 * * *", False),
        ("* * * mar *", True),
    ],
)
def test_an_expression_matches_a_minute(text: str, matches: bool) -> None:
    assert parse_cron(text).matches(MONDAY) is matches


def test_sunday_is_0_and_7() -> None:
    sunday = datetime(2026, 3, 1, tzinfo=UTC)
    assert parse_cron("* * * * 0").matches(sunday) and parse_cron("* * * * 7").matches(sunday)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "60 * * * *",
        "* 24 * * *",
        "x * * * *",
        "1a * * * *",
        "5-1 * * * *",
        "*/0 * * * *",
        "*/00 * * * *",
    ],
)
def test_a_wrong_expression_says_what_is_expected(text: str) -> None:
    with pytest.raises(CronError):
        parse_cron(text)
