"""Releases by the holder, which are not audited, and by an operator, which are, with their reason."""

import time

import pytest

from mooring.client import AsyncMooring, Mooring
from mooring.client.blocking_runtime import BlockingRuntime, complete
from mooring.client.claims_api import claim_path, withdraw
from mooring.client.connection import Connection, Endpoint
from mooring.client.errors import LeaseLost, LossCause, RemoteError
from mooring.client.records import read_claim
from mooring.ledger.records import AuditFilter
from mooring.model.claim import EndCause
from packages.mooring.tests.client.dock import TOKEN, Front


@pytest.fixture
def ours(dock):
    return Connection(Endpoint(dock.url, TOKEN))


def trail(dock, claim_id):
    return [record.entry for record in dock.call(dock.ledger.audit.list(AuditFilter(name=claim_id))).items]


def only_claim(ours, pool):
    (claim,) = ours.get("/v1/claims", {"pool": pool})["items"]
    return claim


def lost(claim):
    deadline = time.monotonic() + 15
    while claim.lost is None:
        assert time.monotonic() < deadline, "the claim is lost"
        time.sleep(0.05)
    return claim.lost


def test_the_holder_gets_the_reason_of_the_operator_who_released_its_claim(dock, ours):
    pool = dock.pool()
    with pytest.raises(LeaseLost) as raised, Mooring(dock.url, TOKEN).claim(pool, owner="acme", ttl="1s") as claim:
        answer = ours.request("DELETE", claim_path(claim.id), {"reason": "node work-07 is needed"})
        assert (answer["cause"], answer["reason"]) == ("revoked", "node work-07 is needed (by operator)")
        raise lost(claim)
    assert raised.value.cause is LossCause.REVOKED and "node work-07 is needed" in raised.value.message
    (entry,) = trail(dock, claim.id)
    assert (entry.actor, entry.action, entry.reason) == ("operator", "release", "node work-07 is needed")
    assert entry.evidence["owner"] == "acme" and entry.evidence["pool"] == pool


def test_a_reason_that_is_too_long_is_refused_and_changes_nothing(dock, ours):
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme") as claim:
        with pytest.raises(RemoteError) as raised:
            ours.request("DELETE", claim_path(claim.id), {"reason": "x" * 501})
        assert raised.value.status == 400
        claim.check()
    assert trail(dock, claim.id) == []


def test_a_claim_that_is_closed_was_released_by_its_holder(dock, ours):
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme"):
        pass
    claim = only_claim(ours, pool)
    assert (claim["cause"], claim["reason"], trail(dock, claim["id"])) == ("released", "released by its holder", [])


def test_a_release_at_a_replica_that_hangs_is_sent_again_before_the_time_is_over(dock):
    pool = dock.pool()
    with Front(dock.url, hang=1, only=b"DELETE") as front:
        with Mooring(front.url, TOKEN).claim(pool, owner="acme"):
            pass
        assert sum(line.startswith(b"DELETE") for line in front.seen) == 2
    assert dock.open_claims(pool) == 0


async def test_a_release_without_an_epoch_is_audited_with_its_reason(dock, ours):
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme") as claim:
        claim.detach()
    await AsyncMooring(dock.url, TOKEN).release(claim.id, reason="left behind")
    assert only_claim(ours, pool)["reason"] == "left behind (by operator)"
    assert [entry.actor for entry in trail(dock, claim.id)] == ["operator"]


@pytest.mark.parametrize("wanted", ["blocking", "awaited"])
async def test_a_run_that_times_out_is_released_by_its_holder_and_not_audited(dock, ours, wanted):
    pool = dock.pool(dispatch="Poll")
    asked = {"owner": "acme", "payload": {}, "timeout": "1s"}
    with pytest.raises(TimeoutError):
        if wanted == "blocking":
            Mooring(dock.url, TOKEN).run(pool, **asked)
        else:
            await AsyncMooring(dock.url, TOKEN).run(pool, **asked)
    claim = only_claim(ours, pool)
    assert (claim["cause"], trail(dock, claim["id"])) == ("released", [])


def test_a_claim_that_moves_while_it_is_withdrawn_is_released_under_its_new_epoch(dock, ours):
    pool = dock.pool()
    made = ours.request("POST", f"/v1/pools/{pool}/claims", body={"owner": "acme", "retryable": True})
    before = read_claim(made)

    async def move():
        claim = await dock.ledger.claims.get(before.id)
        now, cause = dock.clock.now(), EndCause.WORKER_LOST
        await dock.ledger.claims.requeue(claim.id, claim.epoch, cause, now=now, reason="moved", wait_until=None)

    dock.call(move())
    complete(withdraw(BlockingRuntime(Endpoint(dock.url, TOKEN)), before))
    claim = only_claim(ours, pool)
    assert claim["epoch"] != before.epoch and (claim["state"], claim["cause"]) == ("released", "released")
