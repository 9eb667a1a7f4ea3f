"""`mooring adopt` against a Mooring behind a real port."""

import json
import time

import httpx
import pytest

from hawser.resources import PODS
from mooring.client import Mooring
from mooring.kinds.resources import WORKERPOOLS
from packages.mooring.tests.client.dock import NAMESPACE, TOKEN
from packages.mooring.tests.client.processes import eventually


@pytest.fixture
def runner(dock):
    """A running pod that another tool made."""
    meta = {"name": "old-runner", "labels": {"app": "old-runner"}}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [{"name": "main", "image": "x"}]},
    }
    dock.call(dock.client.create(PODS, body, NAMESPACE))
    for _ in range(200):
        if dock.call(dock.client.get(PODS, "old-runner", NAMESPACE)).status.phase == "Running":
            break
        time.sleep(0.05)
    yield "old-runner"
    dock.call(dock.client.delete(PODS, "old-runner", NAMESPACE, grace_seconds=0))


def test_a_pod_is_adopted_as_busy_and_claimed_after_the_operator_says_that_it_is_idle(dock, mooring, runner):
    pool = dock.pool(warm=0, max=1)
    ask = ("adopt", "--pool", pool, "--selector", "app=old-runner", "--reason", "taken over")
    code, out, _ = mooring(*ask, "--dry-run")
    assert code == 0 and f"pod/{runner} adopted" in out and "nothing was changed" in out
    assert dock.pods(pool) == []
    code, out, _ = mooring(*ask, "--yes", "-o", "json")
    assert code == 0 and json.loads(out)["items"][0]["result"] == "adopted"
    assert [pod.metadata.name for pod in dock.pods(pool)] == [runner]
    code, out, _ = mooring("workers", "--pool", pool.split("/")[1], "-o", "json")
    (found,) = json.loads(out)["items"]
    assert found["state"] == "busy" and "may still run" in found["reason"]
    code, out, _ = mooring("workers", "--pool", pool.split("/")[1], "-o", "wide")
    assert f"mooring adopt --pool {pool} --selector mooring.dev/worker={runner} --idle" in out
    code, out, _ = mooring("drain-check", found["node"])
    assert code == 1 and f"{NAMESPACE}/{runner} busy: adopted" in out
    code, out, _ = mooring(*ask, "--idle", "--yes")
    assert code == 0 and out.splitlines()[1].startswith(f"pod/{runner} proven-idle: ")
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme", wait=10) as claim:
        assert claim.worker.name == runner


def test_nothing_to_adopt_a_missing_reason_and_an_unknown_pool_each_fail_in_their_way(dock, mooring):
    pool = dock.pool(warm=0, max=1)
    code, _, err = mooring("adopt", "--pool", pool, "--selector", "app=nobody", "--reason", "why")
    assert code == 1 and "no pod in" in err
    assert f"fix: kubectl get pods -n {NAMESPACE} --show-labels" in err
    code, _, err = mooring("adopt", "--pool", pool, "--selector", "app=nobody")
    assert code == 2 and "--reason" in err
    code, _, err = mooring("adopt", "--pool", pool, "--selector", " ", "--reason", "why")
    assert code == 2 and "--selector must be a label selector such as app=runner" in err
    code, _, err = mooring("adopt", "--pool", f"{NAMESPACE}/none", "--selector", "app=nobody", "--reason", "why")
    assert code == 3
    answer = httpx.post(
        f"{dock.url}/v1/pools/{pool}/adopt",
        json={"selector": "!app", "reason": "why"},
        headers={"Authorization": f"Bearer {TOKEN}"},
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


def test_the_printed_fix_of_a_full_pool_makes_room_for_the_pods(dock, mooring, runner):
    pool = dock.pool(warm=1, max=1)
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme") as claim:
        claim.detach()
    eventually(lambda: dock.mooring.fleet.pool(pool).status.idle == 0)
    ask = ("adopt", "--pool", pool, "--selector", "app=old-runner", "--reason", "taken over", "--yes")
    code, _, err = mooring(*ask)
    assert code == 1 and "spec.max allows (1)" in err
    namespace, name = pool.split("/")
    fix = err.partition("fix: ")[2].strip()
    command, _, patch = fix.partition(" -p ")
    assert command == f"kubectl -n {namespace} patch workerpool {name} --type merge"
    dock.call(dock.client.merge_patch(WORKERPOOLS, name, json.loads(patch.strip("'")), namespace))
    code, out, err = mooring(*ask)
    assert code == 0, err
    eventually(lambda: len(dock.pods(pool)) == 3, "the held worker, the pool's own next one, and the adopted pod")
    code, _, err = mooring(*ask)
    again = f"mooring adopt --pool {pool} --selector mooring.dev/worker={runner} --idle --reason WHY"
    assert code == 1 and f"fix: {again}" in err
    code, out, _ = mooring(*again.split()[1:], "--yes")
    assert code == 0 and "proven-idle" in out
