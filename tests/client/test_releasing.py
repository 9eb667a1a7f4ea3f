"""Who gave a claim back: its holder, who is not written down, or an operator, who is and whose reason is told."""

import asyncio
import time

import pytest

from mooring.client import AsyncMooring, Mooring
from mooring.client.connection import Connection, Endpoint
from mooring.client.errors import LeaseLost, LossCause, RemoteError
from mooring.client.leases import withdraw
from mooring.client.leasing import claim_path, read_grant
from mooring.ledger.records import AuditFilter
from mooring.model.claim import EndCause
from tests.client.dock import TOKEN


@pytest.fixture
def ours(dock):
    return Connection(Endpoint(dock.url, TOKEN))


def trail(dock, claim_id):
    return [record.entry for record in dock.call(dock.ledger.audit.list(AuditFilter(name=claim_id))).items]


def only_claim(ours, pool):
    (claim,) = ours.get("/v1/claims", {"pool": pool})["items"]
    return claim


def lost(lease):
    deadline = time.monotonic() + 15
    while lease.lost is None:
        assert time.monotonic() < deadline, "the lease is lost"
        time.sleep(0.05)
    return lease.lost


def test_a_holder_is_told_the_reason_of_the_operator_who_took_its_worker(dock, ours):
    pool = dock.pool()
    with pytest.raises(LeaseLost) as raised, Mooring(dock.url, TOKEN).claim(pool, owner="acme", ttl="1s") as lease:
        answer = ours.request("DELETE", claim_path(lease.id), {"reason": "node work-07 is needed", "actor": "cli/ana"})
        assert (answer["cause"], answer["reason"]) == ("revoked", "node work-07 is needed")
        raise lost(lease)
    assert raised.value.cause is LossCause.REVOKED and "node work-07 is needed" in raised.value.message
    (entry,) = trail(dock, lease.id)
    assert (entry.actor, entry.action, entry.reason) == ("cli/ana", "release", "node work-07 is needed")
    assert entry.evidence["owner"] == "acme" and entry.evidence["pool"] == pool


def test_a_reason_without_end_is_refused_before_anything_happens(dock, ours):
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme") as lease:
        for query in ({"reason": "x" * 501}, {"actor": "x" * 254}):
            with pytest.raises(RemoteError) as raised:
                ours.request("DELETE", claim_path(lease.id), query)
            assert raised.value.status == 400
        lease.check()
    assert trail(dock, lease.id) == []


def test_a_lease_that_is_closed_was_released_by_its_holder(dock, ours):
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme"):
        pass
    claim = only_claim(ours, pool)
    assert (claim["cause"], claim["reason"], trail(dock, claim["id"])) == ("released", "released by its holder", [])


def test_the_sdk_can_take_a_claim_away_with_a_reason(dock, ours):
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme") as lease:
        lease.detach()
    asyncio.run(AsyncMooring(dock.url, TOKEN).release(lease.id, reason="left behind"))
    assert only_claim(ours, pool)["reason"] == "left behind"
    assert [entry.actor for entry in trail(dock, lease.id)] == ["api"]


@pytest.mark.parametrize("wanted", ["blocking", "awaited"])
def test_a_run_that_gives_up_in_time_is_its_holder_s_own_end_and_not_an_operator_s(dock, ours, wanted):
    pool = dock.pool(dispatch="Poll")
    asked = {"owner": "acme", "payload": {}, "timeout": "1s"}
    with pytest.raises(TimeoutError):
        if wanted == "blocking":
            Mooring(dock.url, TOKEN).run(pool, **asked)
        else:
            asyncio.run(AsyncMooring(dock.url, TOKEN).run(pool, **asked))
    claim = only_claim(ours, pool)
    assert (claim["cause"], trail(dock, claim["id"])) == ("released", [])


def test_a_claim_that_changed_hands_while_it_is_given_up_is_given_up_all_the_same(dock, ours):
    pool = dock.pool()
    made = ours.request("POST", f"/v1/pools/{pool}/claims", body={"owner": "acme", "retryable": True})
    before = read_grant(made)

    async def move():
        claim = await dock.ledger.claims.get(before.id)
        now, cause = dock.clock.now(), EndCause.WORKER_LOST
        await dock.ledger.claims.requeue(claim.id, claim.epoch, cause, now=now, reason="moved", wait_until=None)

    dock.call(move())
    withdraw(ours, before)
    claim = only_claim(ours, pool)
    assert claim["epoch"] != before.epoch and (claim["state"], claim["cause"]) == ("released", "released")
