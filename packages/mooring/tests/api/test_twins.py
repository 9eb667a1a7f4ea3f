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


LISTS = ("workers", "pools", "nodes", "claims", "warmups", "submissions", "services", "invariants", "audit", "doctor")


@pytest.mark.parametrize("name", LISTS)
def test_every_list_has_its_twins_and_its_page_links_them(stranger: httpx.Client, name: str):
    listed, table = stranger.get(f"/{name}.json"), stranger.get(f"/{name}.csv")
    assert (listed.status_code, table.status_code) == (200, 200)
    assert table.headers["content-type"].startswith("text/csv")
    assert len(rows(table.text)) == len(listed.json()["items"])
    page = stranger.get("/" if name in ("workers", "pools", "nodes") else f"/{name}").text
    assert f'href="/{name}.json' in page and f'href="/{name}.csv' in page


@pytest.mark.parametrize(("name", "key"), [("pools", "name"), ("nodes", "name"), ("invariants", "id")])
def test_a_twin_holds_what_the_api_lists(api: httpx.Client, name: str, key: str):
    listed = [item[key] for item in api.get(f"/v1/{name}").json()["items"]]
    assert [item[key] for item in api.get(f"/{name}.json").json()["items"]] == listed
    assert [row[key] for row in rows(api.get(f"/{name}.csv").text)] == listed


def test_the_twin_of_the_nodes_is_filtered_as_the_map_is(stranger: httpx.Client):
    assert [item["name"] for item in stranger.get("/nodes.json?node=work-01&q=x").json()["items"]] == ["work-01"]
    assert rows(stranger.get("/nodes.csv?node=nowhere").text) == []


@pytest.mark.parametrize("path", ["/workers.csv?q=nobody", "/audit.csv?q=nobody", "/claims.csv?q=nobody"])
def test_an_empty_table_still_has_its_headings(stranger: httpx.Client, path: str):
    text = stranger.get(path).text
    assert rows(text) == []
    assert "," in text.splitlines()[0]


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_spreadsheet_does_not_run_what_somebody_wrote(api: httpx.Client, stranger: httpx.Client, formula: str):
    api.post("/v1/invariants/adopted/pause", json={"reason": formula}).raise_for_status()
    api.post("/v1/invariants/adopted/resume").raise_for_status()
    kept = formula.strip()
    written = next(row for row in rows(stranger.get("/audit.csv?q=adopted").text) if row["reason"].endswith(kept))
    assert written["reason"] == f"'{kept}"
