"""Retiring a worker by hand, in virtual time."""

import pytest

from drydock.faults import Delay, Rule
from mooring.ledger.records import AuditFilter
from mooring.model.claim import EndCause
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Conflict, InvalidInput, NotFound, WorkerClaimed
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica

POOL = f"{NAMESPACE}/linux"


async def uids(world: Harbour) -> dict[str, str]:
    return {pod.metadata.name: pod.metadata.uid for pod in await world.pods() if not pod.terminating}


async def acts(replica: Replica) -> list[tuple[str, str, str]]:
    page = await replica.mooring.queries.fleet.audit(AuditFilter(action="retire"), 10, None)
    return [(row.entry.actor, row.entry.reason, row.outcome.value) for row in page.items]


async def test_a_retired_worker_is_replaced_and_the_trail_says_who_and_why(world):
    replica = world.start()
    await world.pool(warm=2, max=2)
    await world.until_idle(2)
    before = await uids(world)
    await replica.mooring.claims.retirement.retire(NAMESPACE, "linux-0", actor="ann", reason="it hangs")
    assert await acts(replica) == [("ann", "it hangs", "done")]

    async def replaced() -> bool:
        now = await uids(world)
        return now.get("linux-0", before["linux-0"]) != before["linux-0"]

    await world.until(replaced, 700, "another linux-0")
    assert (await uids(world))["linux-1"] == before["linux-1"]


async def test_a_claimed_worker_is_refused_with_its_claim_and_released_first_by_force(world):
    replica = world.start()
    await world.pool(warm=1, max=1, reuse="Always", protection={"graceSeconds": 1})
    await world.until_idle(1)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    retirement, before = replica.mooring.claims.retirement, await uids(world)
    with pytest.raises(WorkerClaimed) as refused:
        await retirement.retire(NAMESPACE, "linux-0", actor="ann", reason="it hangs")
    assert claim.id in refused.value.message and f"mooring release {claim.id}" in refused.value.fix
    assert await uids(world) == before and not await acts(replica)
    await retirement.retire(NAMESPACE, "linux-0", actor="ann", reason="it hangs", force=True)
    ended = await replica.mooring.claims.desk.get(claim.id)
    assert (ended.cause, ended.reason) == (EndCause.REVOKED, "it hangs (by ann)")
    assert await acts(replica) == [("ann", "it hangs", "done")]
    await world.until_idle(1)
    assert await uids(world) != before


async def test_force_on_a_worker_that_is_used_once_leaves_its_delete_to_the_release(world):
    replica = world.start()
    await world.pool(warm=1, max=1, protection={"graceSeconds": 1})
    await world.until_idle(1)
    before = await uids(world)
    await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    await replica.mooring.claims.retirement.retire(NAMESPACE, "linux-0", actor="ann", reason="stop", force=True)
    await world.until_idle(1)
    assert await uids(world) != before


async def test_a_worker_that_is_claimed_at_the_same_moment_is_kept(world):
    slow = Rule(Delay(2.0, 2.0), methods=frozenset({"DELETE"}), path=r"/pods/[^/]+$")
    replica = world.start(rules=[slow])
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    retiring = world.enter(_retire(replica))
    await world.clock.sleep(1)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    await retiring
    assert (await uids(world))["linux-0"] == claim.pod_uid
    assert [outcome for _, _, outcome in await acts(replica)] == ["skipped"]


async def _retire(replica: Replica) -> None:
    with pytest.raises(Conflict):
        await replica.mooring.claims.retirement.retire(NAMESPACE, "linux-0", actor="ann", reason="it hangs")


async def test_only_workers_are_retired_and_only_for_a_reason(world):
    replica = world.start()
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    retirement = replica.mooring.claims.retirement
    with pytest.raises(NotFound, match="there is no worker"):
        await retirement.retire(NAMESPACE, "linux-9", actor="ann", reason="it hangs")
    with pytest.raises(InvalidInput, match="reason"):
        await retirement.retire(NAMESPACE, "linux-0", actor="ann", reason=" ")
