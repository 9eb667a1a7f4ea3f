"""Tables fit the terminal: ages, no columns of zeros, texts cut with an ellipsis."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mooring.cli.remote import listings
from mooring.cli.table import Column, describe_age, print_table

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LONG = "waits for a node with four free CPUs, of which there is none in this cluster at the moment"
COLUMNS = (
    Column("ID", lambda row: row["id"], beginning=8),
    Column("COUNT", lambda row: row["count"]),
    Column("ADDRESS", lambda row: row["address"], optional=True),
    Column("SINCE", lambda row: row["since"]),
    Column("WHY", lambda row: row["why"], text=True),
    Column("UID", lambda row: "uid", wide=True),
)


def row(**fields: Any) -> dict[str, Any]:
    basic = {"id": "a12ff13b-a0de-4157-a395-a3a53482268b", "count": 1, "address": "10.0.0.1"}
    return {**basic, "since": "2026-03-01T11:48:00.123456Z", "why": LONG, **fields}


def printed(capsys: pytest.CaptureFixture[str], *rows: dict[str, Any], wide: bool = False) -> list[str]:
    print_table(rows, COLUMNS, NOW, wide=wide)
    return capsys.readouterr().out.splitlines()


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")


@pytest.mark.parametrize(
    ("span", "text"),
    [
        ({"seconds": 0}, "0s"),
        ({"seconds": 59}, "59s"),
        ({"seconds": 150}, "2m30s"),
        ({"minutes": 12, "seconds": 9}, "12m"),
        ({"hours": 3, "minutes": 5}, "3h5m"),
        ({"hours": 30}, "1d6h"),
        ({"days": 40, "hours": 3}, "40d"),
    ],
)
def test_an_age_has_at_most_two_units(span: dict[str, int], text: str):
    assert describe_age(timedelta(**span).total_seconds()) == text


def test_times_are_ages_and_with_wide_times(capsys):
    assert "11m59s" not in printed(capsys, row())[1]
    assert " 11m " in printed(capsys, row())[1]
    assert "2026-03-01T11:48:00Z" in printed(capsys, row(), wide=True)[1]
    assert "in 5m" in printed(capsys, row(since="2026-03-01T12:05:00Z"))[1]


def test_a_column_of_zeros_is_left_out_and_shown_with_wide(capsys):
    assert "COUNT" not in printed(capsys, row(count=0), row(count=0))[0]
    assert "COUNT" in printed(capsys, row(count=0), row(count=1))[0]
    assert "COUNT" in printed(capsys, row(count=0), wide=True)[0]
    assert "COUNT" in printed(capsys)[0], "an empty table shows its titles"


def test_in_a_pipe_nothing_is_cut(capsys):
    assert printed(capsys, row())[1].endswith(LONG)


def test_a_narrow_terminal_cuts_texts_with_an_ellipsis_and_keeps_titles_whole(narrow, capsys):
    title, line = printed(capsys, row())
    assert title.split() == ["ID", "COUNT", "ADDRESS", "SINCE", "WHY"]
    assert len(line) == 60 and line.endswith("…") and line.startswith("a12ff13b  ")


def test_optional_columns_give_way_to_the_text(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "50")
    title, line = printed(capsys, row())
    assert title.split() == ["ID", "COUNT", "SINCE", "WHY"]
    assert len(line) == 50


def test_a_long_name_leaves_room_for_the_reason(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "70")
    columns = (Column("NAME", lambda row: row["name"]), *COLUMNS)
    print_table([row(name="runners-of-the-regression-suite-with-a-long-name")], columns, NOW, wide=False)
    line = capsys.readouterr().out.splitlines()[1]
    assert len(line) == 70 and line.startswith("runners-of-the-regre") and line.endswith("waits for a node wi…")


def test_wide_is_whole_on_a_narrow_terminal(narrow, capsys):
    assert LONG in printed(capsys, row(), wide=True)[1]


def test_what_cannot_be_made_narrower_keeps_its_titles(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "10")
    assert printed(capsys, row())[0].split() == ["ID", "COUNT", "SINCE", "WHY"]


@pytest.mark.parametrize("name", ["POOLS", "WORKERS", "NODES", "CLAIMS", "AUDIT", "INVARIANTS", "SERVICES", "WARMUPS"])
def test_the_titles_of_every_listing_fit_80_columns(name: str, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    print_table([], getattr(listings, name).columns, NOW, wide=False)
    assert len(capsys.readouterr().out.rstrip("\n")) <= 80
