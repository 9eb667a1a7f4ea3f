"""`mooring drain-check` and its route, on a running fleet with real workers and health checks."""

import json

import httpx
import pytest

from packages.mooring.tests.acceptance.pools import own_pool
from packages.mooring.tests.acceptance.world import Up, until


@pytest.fixture
def held(up: Up):
    """A session on a pool of its own: its worker, its node and its claim."""
    with own_pool(up, "drain-check", warm=1, max=2) as pool, up.http() as api:
        claim = api.post(f"/v1/pools/{pool.key}/claims", json={"owner": "acme", "ttlSeconds": 600}).json()
        worker = until(
            lambda: next((w for w in pool.workers() if w["name"] == claim["worker"]["name"] and w["claims"]), None),
            20,
            "the worker shows its claim",
        )
        try:
            yield api, worker, claim
        finally:
            api.delete(f"/v1/claims/{claim['id']}")


def test_each_session_is_printed_with_its_outcome(up: Up, held):
    _, worker, claim = held
    done = up.command("drain-check", worker["node"], "-o", "json")
    answer = json.loads(done.out)
    (at_stake,) = [item for item in answer["claims"] if item["claim"] == claim["id"]]
    assert (done.code, answer["apiVersion"], answer["kind"]) == (0, "mooring.dev/v1", "DrainCheck")
    assert answer["verdict"] == "waits" and answer["heldUntil"] >= at_stake["protectedUntil"]
    assert at_stake["wouldBe"] == "waits" and at_stake["worker"] == worker["name"] and at_stake["owner"] == "acme"
    table = up.command("drain-check", worker["node"])
    assert table.code == 0 and claim["id"] in table.out and f"kubectl drain {worker['node']}" in table.err


def test_an_unknown_node_is_answered_with_a_suggestion(up: Up):
    done = up.command("drain-check", "worrk-07")
    assert done.code == 3 and "did you mean 'work-07'?" in done.err and done.out == ""


def test_a_worker_s_closer_look_has_its_health_its_session_and_its_timeline(held):
    api, worker, claim = held
    path = f"/v1/workers/{worker['namespace']}/{worker['name']}"

    def checked() -> dict | None:
        found = api.get(path).raise_for_status().json()
        return found if found["health"] else None

    detail = until(checked, 20, "its health was checked")
    assert detail["worker"]["uid"] == worker["uid"] and detail["worker"]["health"] == "healthy: 200 OK"
    assert detail["health"]["recent"][-1]["executing"] is False
    assert [session["claim"] for session in detail["sessions"]] == [claim["id"]]
    assert "payload" not in detail["sessions"][0]
    assert [moment["what"] for moment in detail["timeline"]][-1] == "made"
    assert "claimed" in {moment["what"] for moment in detail["timeline"]}


def test_a_worker_that_does_not_exist_is_a_404_with_a_hint(up: Up):
    with up.http() as api:
        answer = api.get("/v1/workers/runners/linux-999")
    assert answer.status_code == 404 and isinstance(answer.json()["message"], str)


def test_protection_is_printed_with_the_time_left(up: Up, held):
    _, worker, _ = held

    def checked() -> str:
        done = up.command("workers", "--node", worker["node"], "-o", "wide")
        (line,) = [line for line in done.out.splitlines() if worker["name"] in line]
        return line if "healthy: 200 OK" in line else ""

    assert "min left" in until(checked, 20, "its health was checked", every=1.0)


def test_the_pages_of_a_worker_and_of_its_node_say_the_same(up: Up, held):
    _, worker, claim = held
    with httpx.Client(base_url=up.url, timeout=30) as browser:
        page = browser.get(f"/workers/{worker['namespace']}/{worker['name']}").raise_for_status()
        assert claim["id"] in page.text and "protected until" in page.text.lower()
        assert f'href="/nodes/{worker["node"]}"' in page.text
        node = browser.get(f"/nodes/{worker['node']}").raise_for_status()
        assert claim["id"] in node.text and "waits" in node.text
        assert browser.get("/nodes/no-such-node").status_code == 404
