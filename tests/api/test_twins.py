"""The `.json` and `.csv` twins of the lists."""

import csv
import io

import httpx
import pytest


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_table_of_workers_as_csv_and_json_has_the_same_rows(stranger: httpx.Client):
    listed = stranger.get("/workers.json?pool=runners/linux").json()["items"]
    table = rows(stranger.get("/workers.csv?pool=runners/linux").text)
    assert [row["name"] for row in table] == [row["name"] for row in listed]
    assert [row["reason"] for row in table] == [row["reason"] for row in listed]


@pytest.mark.parametrize("path", ["/workers.csv?q=nobody", "/audit.csv?q=nobody", "/claims.csv?q=nobody"])
def test_an_empty_table_still_has_its_headings(stranger: httpx.Client, path: str):
    text = stranger.get(path).text
    assert rows(text) == []
    assert "," in text.splitlines()[0]


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_spreadsheet_does_not_run_what_somebody_wrote(api: httpx.Client, stranger: httpx.Client, formula: str):
    api.post("/v1/invariants/adopted/pause", json={"reason": formula, "actor": "sheet"}).raise_for_status()
    api.post("/v1/invariants/adopted/resume").raise_for_status()
    written = next(row for row in rows(stranger.get("/audit.csv?q=adopted").text) if row["actor"] == "sheet")
    assert written["reason"] == f"'{formula}"
