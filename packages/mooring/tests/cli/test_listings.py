"""The listings: the same rows in every format, data on stdout, everything else on stderr."""

import json
import re
from typing import Any

import pytest
import yaml

from packages.mooring.tests.acceptance.world import Up, run_command, until

LISTINGS = {"pools": "PoolList", "workers": "WorkerList", "nodes": "NodeList", "invariants": "InvariantList"}
HEADINGS = {
    "pools": "NAMESPACE NAME WARM MAX IDLE BUSY STARTING DRAINING LOST QUEUED READY SINCE WHY",
    "workers": "NAMESPACE NAME STATE NODE OWNER ADDRESS SINCE PROTECTED WHY",
    "nodes": "NAME READY WORKERS IDLE BUSY STATE SINCE TAINTS",
    "invariants": "ID STATE BROKEN FOUND HEALED SINCE CONDITION",
    "audit": "AT ACTOR ACTION OBJECT OUTCOME REASON",
}
COUNTS = {"WARM", "IDLE", "BUSY", "STARTING", "DRAINING", "LOST", "QUEUED", "WORKERS", "BROKEN", "FOUND", "HEALED"}
EMPTY = "nothing found\n"
WHOLE = {"audit": ("--limit", "1000")}  # so that nothing is said of rows that were left out


def out(up: Up, *arguments: str) -> str:
    done = up.command(*arguments)
    assert done.code == 0 and done.err in ("", EMPTY)  # nothing may be in the audit yet
    return done.out


def assert_empty(up: Up, *arguments: str) -> None:
    """A table with headings alone, and a word about it on stderr."""
    done = up.command(*arguments)
    assert (done.code, len(done.out.splitlines()), done.err) == (0, 1, EMPTY)


@pytest.mark.parametrize("listing", HEADINGS)
def test_a_table_is_plain_text_when_stdout_is_not_a_terminal(up: Up, listing: str):
    lines = out(up, listing, *WHOLE.get(listing, ())).splitlines()
    titles = lines[0].split()
    assert titles == [title for title in HEADINGS[listing].split() if title in titles], "in this order"
    assert set(HEADINGS[listing].split()) - set(titles) <= COUNTS, "only columns of zeros are left out"
    assert all(line == line.rstrip() and line.isprintable() for line in lines)
    assert not any(re.search(r"T\d\d:\d\d:\d\d", line) for line in lines), "ages, not times"
    wide = out(up, listing, *WHOLE.get(listing, ()), "-o", "wide").splitlines()
    assert set(HEADINGS[listing].split()) <= set(wide[0].split())
    assert all(re.search(r"T\d\d:\d\d:\d\dZ", line) for line in wide[1:]), "times, not ages"


@pytest.mark.parametrize("listing", HEADINGS)
def test_a_table_fits_80_columns(up: Up, listing: str):
    done = up.command(listing, *WHOLE.get(listing, ()), COLUMNS="80")
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize("listing", HEADINGS)
def test_wide_shows_more_columns_of_the_same_rows(up: Up, listing: str):
    table, wide = (out(up, listing, *WHOLE.get(listing, ()), "-o", form).splitlines() for form in ("table", "wide"))
    assert len(wide[0].split()) > len(table[0].split())
    column = 1 if table[0].startswith("AT ") else 0  # an age in one, a time in the other
    assert [line.split()[column] for line in wide] == [line.split()[column] for line in table]


@pytest.mark.parametrize("listing", LISTINGS)
def test_json_and_yaml_hold_what_the_api_answers(up: Up, listing: str):
    def agree() -> bool:
        document = json.loads(out(up, listing, "-o", "json"))
        assert (document["apiVersion"], document["kind"]) == ("mooring.dev/v1", LISTINGS[listing])
        same = yaml.safe_load(out(up, listing, "-o", "yaml")) == document
        return same and document["items"] == up.get(f"/v1/{listing}")["items"]

    until(agree, 60, "all three looks fall between two checks of the rules")


@pytest.mark.parametrize("listing", LISTINGS)
def test_ndjson_is_one_row_a_line(up: Up, listing: str):
    def agree() -> bool:
        rows = [json.loads(line) for line in out(up, listing, "-o", "ndjson").splitlines()]
        return bool(rows == up.get(f"/v1/{listing}")["items"])

    until(agree, 60, "both looks fall between two checks of the rules")


def test_names_are_arguments_of_other_commands(up: Up):
    assert out(up, "pools", "-o", "name").split() == ["pool/queries/duck", "pool/runners/linux"]
    assert "worker/runners/linux-0" in out(up, "workers", "-o", "name").split()
    assert "node/work-01" in out(up, "nodes", "-o", "name").split()
    assert "invariant/warm-floor" in out(up, "invariants", "-o", "name").split()


def names(up: Up, *arguments: str) -> list[str]:
    return out(up, "workers", *arguments, "-o", "name").split()


def test_workers_are_filtered_by_pool_node_and_state(up: Up):
    everyone: list[dict[str, Any]] = up.get("/v1/workers")["items"]
    node = everyone[0]["node"]
    assert names(up, "--pool", "queries/duck") == [
        name for name in names(up) if name.startswith("worker/queries/duck-")
    ]
    assert len(names(up, "--node", node)) == sum(worker["node"] == node for worker in everyone)
    assert names(up, "--only", "lost") == []


def test_a_pool_may_be_called_by_its_name_alone(up: Up):
    assert names(up, "--pool", "duck") == names(up, "--pool", "queries/duck")


@pytest.mark.parametrize(
    ("asked", "missing", "meant"),
    [
        (("workers", "--pool", "runners/linus"), "pool 'runners/linus'", "did you mean 'runners/linux'?"),
        (("workers", "--pool", "nope/nope"), "pool 'nope/nope'", "pools that exist: queries/duck, runners/linux"),
        (("workers", "--pool", "linus", "-o", "json"), "pool 'linus'", "did you mean 'runners/linux'?"),
        (("workers", "--pool", "runners/linus", "--watch"), "pool 'runners/linus'", "did you mean 'runners/linux'?"),
        (("workers", "--node", "work-001"), "node 'work-001'", "did you mean 'work-01'?"),
        (("claims", "--pool", "runners/linus"), "pool 'runners/linus'", "did you mean 'runners/linux'?"),
        (("services", "harbour/tide"), "service 'harbour/tide'", "did you mean 'harbour/tides'?"),
    ],
)
def test_a_filter_that_names_nothing_is_an_error_and_not_an_empty_list(
    up: Up, asked: tuple[str, ...], missing: str, meant: str
):
    done = up.command(*asked)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith(f"mooring: not_found: there is no {missing}\n")
    assert meant in done.err


def test_an_empty_table_says_so_beside_its_titles(up: Up):
    done = up.command("pools", "-n", "nosuch")
    assert (done.code, done.out.startswith("NAMESPACE")) == (0, True)
    assert done.err == "nothing found in namespace nosuch; without -n those of all namespaces are listed\n"


def test_an_empty_list_of_an_existing_pool_is_an_answer(up: Up):
    for listing in ("workers", "claims"):
        assert_empty(up, listing, "--pool", "queries/duck", "--only", "lost")


def test_the_audit_trail_is_filtered_by_actor_and_limited(up: Up):
    for _ in range(2):
        up.command("resume", "adopted", "--reason", "for the trail")
    cut = up.command("audit", "--name", "adopted", "--limit", "1")
    assert len(cut.out.splitlines()) == 2 and "for the trail" in cut.out
    assert cut.err.startswith("1 of ") and "--limit" in cut.err
    assert_empty(up, "audit", "--actor", "nobody")


def test_the_address_may_come_from_the_environment(up: Up):
    done = run_command("pools", "-o", "name", MOORING_URL=up.url, MOORING_TOKEN=up.token)
    assert done.code == 0 and "pool/runners/linux" in done.out
    done = run_command("pools", "-o", "name", MOORING_STATE=str(up.state))
    assert done.code == 0 and "pool/runners/linux" in done.out


def test_an_argument_wins_over_the_environment(up: Up):
    done = up.command("pools", "-o", "name", "--url", up.url, MOORING_URL="http://127.0.0.1:1")
    assert done.code == 0
