"""`mooring retire` against a Mooring behind a real port."""

import json

import httpx

from mooring.client import Mooring
from packages.mooring.tests.client.dock import NAMESPACE, TOKEN


def test_a_worker_is_shown_in_a_dry_run_and_then_deleted(dock, mooring):
    pool = dock.pool(warm=1, max=1)
    [pod] = dock.pods(pool)
    name = f"{NAMESPACE}/{pod.metadata.name}"
    code, out, _ = mooring("retire", name, "--reason", "it hangs", "--dry-run")
    assert code == 0 and f"worker/{name} of pool" in out and "nothing was changed" in out
    assert [one.metadata.uid for one in dock.pods(pool)] == [pod.metadata.uid]
    code, out, _ = mooring("retire", name, "--reason", "it hangs", "--yes", "-o", "json")
    assert code == 0 and json.loads(out)["uid"] == pod.metadata.uid
    assert all(one.metadata.uid != pod.metadata.uid or one.terminating for one in dock.pods(pool))


def test_a_claimed_worker_is_refused_with_the_next_command(dock, mooring):
    pool = dock.pool(warm=1, max=1)
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme") as claim:
        name = f"{NAMESPACE}/{claim.worker.name}"
        code, _, err = mooring("retire", name, "--reason", "it hangs")
        assert code == 1 and "worker_claimed" in err and f"mooring release {claim.id}" in err
        answer = httpx.post(
            f"{dock.url}/v1/workers/{name}/retire",
            json={"reason": "it hangs"},
            headers={"Authorization": f"Bearer {TOKEN}"},
        )
        assert (answer.status_code, answer.json()["code"]) == (409, "worker_claimed")
        assert answer.json()["detail"]["claim"] == claim.id
        claim.detach()
    code, out, _ = mooring("retire", name, "--reason", "it hangs", "--force", "--yes")
    assert code == 0 and "retired" in out
    assert dock.claim(claim.id).cause.value == "revoked"


def test_a_reason_is_asked_for_and_an_unknown_worker_is_not_found(dock, mooring):
    code, _, err = mooring("retire", f"{NAMESPACE}/nobody")
    assert code == 2 and "--reason" in err
    code, _, err = mooring("retire", f"{NAMESPACE}/nobody", "--reason", "it hangs")
    assert code == 3 and "there is no worker" in err
