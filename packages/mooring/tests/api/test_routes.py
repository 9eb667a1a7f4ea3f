"""The shapes of `/v1`: what other programs rely on."""

import re
from typing import Any

import httpx
import pytest

from packages.mooring.tests.acceptance.pools import own_pool
from packages.mooring.tests.acceptance.world import Up, until

POOL_STATUS = {"idle", "busy", "starting", "draining", "lost", "queued", "conditions"}
WORKER = {
    "namespace",
    "name",
    "uid",
    "pool",
    "node",
    "state",
    "reason",
    "owner",
    "claims",
    "protectedUntil",
    "address",
}
WHY = {"code", "message", "since", "blockers", "nextCheck", "fix"}
RULES = {
    "stamped-has-claim",
    "claim-has-pod",
    "claim-progresses",
    "claim-alive",
    "account-has-pod",
    "busy-is-protected",
    "protection-bounded",
    "warm-on-live-node",
    "leftover-jobs",
    "schedulable",
    "warm-floor",
    "adopted",
}
AUDIT = {"at", "actor", "action", "kind", "namespace", "name", "uid", "reason", "evidence", "outcome", "error"}
CLAIM = {"id", "epoch", "state", "worker", "payload", "cause"}


def items(api: httpx.Client, path: str) -> list[dict[str, Any]]:
    answer = api.get(path).raise_for_status().json()
    assert answer["total"] >= len(answer["items"])
    return list(answer["items"])


def test_pools_have_their_spec_and_their_counts(api: httpx.Client):
    pools = {(pool["namespace"], pool["name"]): pool for pool in items(api, "/v1/pools")}
    linux = pools["runners", "linux"]
    assert linux["spec"]["warm"] == 8 and linux["spec"]["max"] == 20
    assert linux["status"].keys() >= POOL_STATUS
    assert {condition["type"] for condition in linux["status"]["conditions"]} >= {"Ready", "Valid", "Schedulable"}


def test_a_pool_alone_is_the_same_as_in_the_list(api: httpx.Client):
    listed = next(pool for pool in items(api, "/v1/pools") if pool["name"] == "duck")
    assert api.get("/v1/pools/queries/duck").json() == listed


def test_workers_say_where_they_are_and_why_they_are_so(api: httpx.Client):
    workers = items(api, "/v1/workers?pool=runners/linux")
    assert len(workers) == 8
    for worker in workers:
        assert worker.keys() >= WORKER
        assert worker["why"].keys() >= WHY
        assert worker["state"] == "idle" and worker["reason"]
        assert worker["address"].startswith("127.")


@pytest.mark.parametrize("listing", ["pools", "workers", "nodes", "services", "warmups", "submissions", "invariants"])
def test_no_state_is_listed_without_its_why_and_since(api: httpx.Client, listing: str):
    for item in items(api, f"/v1/{listing}"):
        assert item["why"].keys() >= WHY
        assert item["why"]["code"] and item["why"]["message"] and item["why"]["since"], item


def test_who_waits_or_may_not_is_told_how_many_there_are_and_what_they_do(api: httpx.Client, up: Up):
    with own_pool(up, "full", warm=1, max=1, limits={"perOwner": 1}) as pool:
        path = f"/v1/pools/{pool.key}/claims"
        held = api.post(path, json={"owner": "holder"}).json()
        assert held["why"].keys() >= WHY and held["why"]["code"] == "running" and held["why"]["since"]
        for wish, status, code in (
            ({"owner": "other"}, 503, "no_idle_worker"),
            ({"owner": "other", "wait": 1}, 503, "wait_timed_out"),
            ({"owner": "holder", "wait": 1}, 429, "limit_reached"),
        ):
            answer = api.post(path, json=wish)
            assert (answer.status_code, answer.json()["code"]) == (status, code)
            why = answer.json()["detail"]["why"]
            assert why.keys() >= WHY and why["since"] and why["fix"]
            expected = f"claim/{held['id']} running" if code == "limit_reached" else "workers: 0 idle, 1 busy"
            assert why["blockers"][0].startswith(expected)
        ended = items(api, f"/v1/claims?pool={pool.key}&state=expired")
        assert [claim["why"]["code"] for claim in ended] == ["wait_over"]
        assert api.delete(f"/v1/claims/{held['id']}").json()["why"]["code"] == "revoked"


def test_workers_can_be_asked_for_by_pool_node_and_state(api: httpx.Client):
    everyone = items(api, "/v1/workers")
    node = everyone[0]["node"]
    assert items(api, f"/v1/workers?node={node}") == [worker for worker in everyone if worker["node"] == node]
    assert items(api, "/v1/workers?state=lost") == []
    assert items(api, "/v1/workers?pool=nobody/knows") == []


def test_nodes_count_their_workers_by_state(api: httpx.Client):
    nodes = {node["name"]: node for node in items(api, "/v1/nodes")}
    assert len(nodes) == 12
    assert nodes["system-1"]["system"] and "CriticalAddonsOnly=true:NoSchedule" in nodes["system-1"]["taints"]
    assert sum(sum(node["workers"].values()) for node in nodes.values()) == len(items(api, "/v1/workers"))


def test_every_rule_is_listed_and_none_that_is_not_checked_is_said_to_hold(api: httpx.Client):
    rules = {rule["id"]: rule for rule in items(api, "/v1/invariants")}
    assert rules.keys() == RULES
    assert {rule["state"] for rule in rules.values()} <= {"holds", "broken", "paused", "unknown"}
    assert all(rule["state"] == "unknown" for rule in rules.values() if not rule["enforced"])
    assert rules["warm-floor"]["state"] == "holds"


def test_a_switch_is_flipped_for_a_reason_and_answers_as_the_list_does(api: httpx.Client):
    paused = api.post("/v1/invariants/adopted/pause", json={"reason": "a deploy"}).raise_for_status().json()
    try:
        assert paused == next(rule for rule in items(api, "/v1/invariants") if rule["id"] == "adopted")
        assert (paused["state"], paused["pausedBy"], paused["pauseReason"]) == ("paused", "operator", "a deploy")
    finally:
        resumed = api.post("/v1/invariants/adopted/resume").raise_for_status().json()
    assert not resumed["paused"] and resumed["state"] != "paused"


def test_the_trail_keeps_who_flipped_a_switch_and_pages_backwards(api: httpx.Client):
    reasons = ["trail one", "trail two", "trail three"]
    for reason in reasons:
        api.post("/v1/invariants/adopted/pause", json={"reason": reason}).raise_for_status()
    api.post("/v1/invariants/adopted/resume").raise_for_status()
    rows: list[dict[str, Any]] = []
    before = ""
    while not {row["reason"] for row in rows} >= set(reasons):  # other tests flip switches, too
        page = api.get(f"/v1/audit?actor=operator&action=pause&limit=2{before}").json()
        rows += page["items"]
        before = f"&before={page['nextBefore']}"
    assert rows[0].keys() >= AUDIT
    assert [row["reason"] for row in rows if row["reason"] in reasons] == reasons[::-1]
    assert len({row["sequence"] for row in rows}) == len(rows)


def test_a_claim_is_made_seen_kept_and_given_back(api: httpx.Client, up: Up):
    with own_pool(up, "claimed", warm=1, max=2, reuse="Always") as pool:
        wish = {"owner": "shapes", "idempotencyKey": "shapes-1"}
        answer = api.post(f"/v1/pools/{pool.key}/claims", json=wish)
        claim = answer.json()
        assert answer.status_code == 201
        assert claim.keys() >= CLAIM and claim["state"] == "running"
        assert claim["worker"].keys() == {"name", "uid", "address"}
        assert api.post(f"/v1/pools/{pool.key}/claims", json=wish).json()["id"] == claim["id"]
        path = f"/v1/claims/{claim['id']}"
        assert api.get(path).json()["owner"] == "shapes"
        assert claim["id"] in {row["id"] for row in items(api, "/v1/claims?owner=shapes&state=running")}
        assert [row["id"] for row in items(api, f"/v1/claims?pool={pool.key}")] == [claim["id"]]
        busy = until(lambda: [worker for worker in pool.workers() if worker["state"] == "busy"], 5, "a busy worker")
        assert busy[0]["owner"] == "shapes" and busy[0]["claims"] == [claim["id"]]
        assert api.post(f"{path}/heartbeat", json={"epoch": claim["epoch"]}).status_code == 200
        stale = api.post(f"{path}/heartbeat", json={"epoch": claim["epoch"] + 1})
        assert (stale.status_code, stale.json()["code"]) == (409, "stale_epoch")
        assert claim["cause"] is None
        released = api.delete(path).json()
        assert (released["state"], released["cause"]) == ("released", "revoked"), "only a holder names the epoch"
        pool.until_settled(1)
        again = api.post(f"/v1/pools/{pool.key}/claims", json={"owner": "shapes"}).json()
        released = api.delete(f"/v1/claims/{again['id']}?epoch={again['epoch']}").json()
        assert (released["state"], released["cause"]) == ("released", "released")
        pool.until_settled(1)


def test_a_release_from_a_page_is_an_operator_s_act_in_the_trail(
    api: httpx.Client, browser_session: httpx.Client, up: Up
):
    with own_pool(up, "paged", warm=1, max=1, reuse="Always") as pool:
        claim = api.post(f"/v1/pools/{pool.key}/claims", json={"owner": "pages"}).json()
        answer = browser_session.post(f"/actions/claims/{claim['id']}/release", data={"reason": "it hangs"})
        assert answer.status_code == 303
        assert api.get(f"/v1/claims/{claim['id']}").json()["reason"] == "it hangs (by operator)"
        (row,) = items(api, f"/v1/audit?kind=Claim&name={claim['id']}")
        assert (row["actor"], row["action"], row["outcome"]) == ("operator", "release", "done")
        assert row["evidence"]["owner"] == "pages" and row["evidence"]["worker"] == claim["worker"]["name"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"])
def test_probes_scrapers_and_readers_need_no_token(stranger: httpx.Client, path: str):
    assert stranger.get(path).status_code == 200


def test_readiness_names_its_caches_and_who_leads(stranger: httpx.Client):
    described = stranger.get("/readyz").json()
    assert described["caches"].keys() >= {"pods", "nodes", "pools"}
    assert all(cache["synced"] and not cache["error"] for cache in described["caches"].values())
    assert described["leading"]


def test_metrics_are_in_the_format_of_prometheus(stranger: httpx.Client):
    answer = stranger.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert 'mooring_pool_workers{pool="runners/linux",state="idle"} 8.0' in answer.text


@pytest.mark.parametrize("metric", ["broken", "paused", "found_total", "healed_total"])
def test_every_rule_has_its_metrics(stranger: httpx.Client, metric: str):
    sample = re.compile(rf'^mooring_invariant_{metric}{{invariant="([\w-]+)"}} [\dN]', re.MULTILINE)
    told = sample.findall(stranger.get("/metrics").text)
    assert sorted(told) == sorted(RULES)


def test_the_doctor_has_a_line_for_everything_and_no_line_of_a_healthy_fleet_fails(api: httpx.Client):
    checkup = api.get("/v1/doctor").raise_for_status().json()
    assert all(check.keys() == {"id", "status", "message", "evidence", "fix"} for check in checkup["checks"])
    by_id = {check["id"]: check for check in checkup["checks"]}
    assert by_id["api"]["status"] == "ok" and by_id["ledger"]["evidence"]["armed"]
    assert {f"invariant/{rule}" for rule in RULES} <= by_id.keys()
    assert {"list", "watch"} <= set(by_id["permission/nodes"]["evidence"]["allowed"])


def test_any_pod_can_be_explained_and_one_that_is_not_there_is_404(api: httpx.Client):
    worker = items(api, "/v1/workers?pool=runners/linux&state=idle")[0]
    told = api.get(f"/v1/explain/pods/{worker['namespace']}/{worker['name']}").raise_for_status().json()
    assert (told["state"], told["node"], told["findings"]) == ("running", worker["node"], [])
    assert {"summary", "fix", "preflight", "events", "failure", "unread", "lookedAt"} <= told.keys()
    missing = api.get("/v1/explain/pods/default/nobody")
    assert missing.status_code == 404 and missing.json()["code"] == "not_found"


def test_workers_can_be_asked_for_by_their_pool_s_name_alone(api: httpx.Client):
    named = api.get("/v1/workers?pool=duck").json()["items"]
    assert named and {worker["pool"] for worker in named} == {"duck"}
