"""Busy pods are protected, idle ones are not, and no protection lasts for ever, in virtual time."""

import pytest

from drydock.faults import Crash, Crashed, Rule
from hawser.resources import EVENTS, PODS
from hawser.views import Pod
from mooring.ledger.records import AuditFilter
from mooring.model import names
from mooring.model.claim import ClaimState, EndCause
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

POOL = f"{NAMESPACE}/linux"
LOOKS = 6.0  # seconds: enough for two looks of the guard and their second tick
BARE = {"labels": {names.BUSY: None}, "annotations": {names.DO_NOT_DISRUPT: None, names.SAFE_TO_EVICT: None}}
PROTECTED = {
    "labels": {names.BUSY: "true"},
    "annotations": {names.DO_NOT_DISRUPT: "true", names.SAFE_TO_EVICT: "false"},
}


def shielded(pod: Pod) -> bool:
    meta = pod.metadata
    found = (
        meta.labels.get(names.BUSY) == "true",
        meta.annotations.get(names.DO_NOT_DISRUPT) == "true",
        meta.annotations.get(names.SAFE_TO_EVICT) == "false",
    )
    assert len(set(found)) == 1, "some marks are missing"
    return found[0]


async def read(world: Harbour, name: str) -> Pod:
    return await world.client.get(PODS, name, NAMESPACE)


async def write(world: Harbour, name: str, metadata: dict[str, object]) -> None:
    await world.client.merge_patch(PODS, name, {"metadata": metadata}, NAMESPACE)


async def bound(world: Harbour) -> tuple[str, str]:
    conditions = {condition["type"]: condition for condition in (await world.status())["conditions"]}
    return conditions["ProtectionBounded"]["status"], conditions["ProtectionBounded"]["reason"]


async def test_whoever_strips_a_working_pod_finds_it_protected_again_within_seconds(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=2, max=4, reuse="Always")
    await world.until_idle(2)
    claim = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await world.clock.sleep(5)
    await write(world, claim.pod_name, BARE)
    assert not shielded(await read(world, claim.pod_name))
    await world.clock.sleep(LOOKS)
    assert shielded(await read(world, claim.pod_name))


async def test_a_shield_that_nobody_needs_is_taken_down_and_the_trail_tells_why(world):
    replica = world.start()
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    await write(world, "linux-0", PROTECTED)
    await world.clock.sleep(LOOKS)
    assert not shielded(await read(world, "linux-0"))
    page = await replica.mooring.queries.fleet.audit(AuditFilter(action="unprotect"), 10, None)
    assert [record.outcome for record in page.items] == ["done"]
    assert len(page.items[0].entry.evidence["proofs"]) == 2
    await replica.mooring.switches.refresh()
    rule = replica.mooring.queries.fleet.invariant("busy-is-protected")
    assert (rule.enforced, rule.state, rule.broken, rule.healed) == (True, "holds", 0, 1)


async def test_a_settled_fleet_with_working_pods_is_not_even_asked(world):
    replica = world.start()
    await world.pool(warm=3, max=6, reuse="Always")
    await world.until_idle(3)
    await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await world.clock.sleep(30)
    before = len(replica.transport.calls)
    await world.clock.sleep(50)
    calls = replica.transport.calls[before:]
    now_and_then = ("/karpenter.sh/", "/version")  # whether it is installed, and whether the API server answers
    assert not [call for call in calls if not any(part in call.path for part in now_and_then)]


async def test_at_the_ceiling_protection_ends_with_a_warning_before_while_the_claim_lives_on(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=2, reuse="Always", protection={"ceilingSeconds": 100})
    await world.until_idle(1)
    claim = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    began = world.clock.monotonic()
    assert claim.protected_until is not None
    assert (claim.protected_until - claim.claimed_at).total_seconds() == pytest.approx(100, abs=1)
    await world.clock.sleep(85)
    assert shielded(await read(world, claim.pod_name))
    events = [event for event in (await world.client.list(EVENTS, NAMESPACE)).items if event.type == "Warning"]
    assert [event.reason for event in events] == ["CeilingNear"]
    assert events[0].involved_object.name == claim.pod_name and "acme" in events[0].message
    assert await bound(world) == ("True", "CeilingNear")

    async def let_go() -> bool:
        return not shielded(await read(world, claim.pod_name))

    await world.until(let_go, 30, "protection ends")
    assert 100 <= world.clock.monotonic() - began <= 103
    beaten = await desk.heartbeat(claim.id, claim.epoch)
    assert beaten.state is ClaimState.RUNNING and beaten.protected_until == claim.protected_until
    await world.clock.sleep(60)
    assert not shielded(await read(world, claim.pod_name))
    assert await bound(world) == ("True", "CeilingReached")
    await desk.release(claim.id, claim.epoch)
    await world.clock.sleep(5)
    assert await bound(world) == ("True", "Bounded")


async def test_a_second_session_on_the_worker_has_an_end_of_its_own(world):
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=1, slots=2, reuse="Always", protection={"ceilingSeconds": 100})
    await world.until_idle(1)
    first = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await world.clock.sleep(60)
    second = await desk.claim(POOL, ClaimRequest("globex", ttl_seconds=3600))
    assert first.pod_uid == second.pod_uid
    await world.clock.sleep(60)
    assert shielded(await read(world, first.pod_name))
    await world.clock.sleep(45)
    assert not shielded(await read(world, first.pod_name))


async def test_with_the_rule_switched_off_nothing_is_protected_and_switched_on_again_everything_is(world):
    await world.pause(["busy-is-protected"])
    replica = world.start()
    await world.pool(warm=2, max=2, reuse="Always")
    await world.until_idle(2)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await write(world, "linux-1" if claim.pod_name == "linux-0" else "linux-0", PROTECTED)
    await world.clock.sleep(60)
    pods = {pod.metadata.name: shielded(pod) for pod in await world.pods()}
    assert pods.pop(claim.pod_name) is False and list(pods.values()) == [True]
    await replica.mooring.switches.resume("busy-is-protected", actor="test")
    await world.clock.sleep(LOOKS)
    pods = {pod.metadata.name: shielded(pod) for pod in await world.pods()}
    assert pods.pop(claim.pod_name) is True and list(pods.values()) == [False]


async def test_with_the_ceiling_switched_off_protection_stays(world):
    await world.pause(["protection-bounded"])
    desk = world.start().mooring.claims.desk
    await world.pool(warm=1, max=2, reuse="Always", protection={"ceilingSeconds": 30})
    await world.until_idle(1)
    claim = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await world.clock.sleep(120)
    assert shielded(await read(world, claim.pod_name))
    assert not [e for e in (await world.client.list(EVENTS, NAMESPACE)).items if e.reason == "CeilingNear"]


async def test_a_ledger_that_lost_rows_takes_no_shield_away(world):
    replica = world.start()
    await world.pool(warm=2, max=4, reuse="Always")
    await world.until_idle(2)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await world.clock.sleep(5)
    await world.ledger.meta.observe_epoch(claim.epoch + 1000, now=world.clock.now())  # rows were lost
    await world.ledger.claims.end(
        claim.id,
        claim.epoch,
        EndCause.WORKER_LOST,
        now=world.clock.now(),
        reason="as if its row had never been",
    )
    await world.clock.sleep(60)
    assert shielded(await read(world, claim.pod_name))


async def test_the_successor_clears_what_a_dead_control_plane_left_and_protects_who_works(world):
    unstamp = Rule(Crash("before"), methods=frozenset({"PATCH"}), path=r"/pods/[^/]+$", nth=frozenset({3}))
    first = world.start("first", [unstamp])
    await world.pool(warm=3, max=6, reuse="Always")
    await world.until_idle(3)
    works = await first.mooring.claims.desk.claim(POOL, ClaimRequest("works", ttl_seconds=3600))
    ends = await first.mooring.claims.desk.claim(POOL, ClaimRequest("ends", ttl_seconds=3600))
    with pytest.raises(Crashed):
        await first.mooring.claims.desk.release(ends.id, ends.epoch)
    await first.kill()
    assert shielded(await read(world, ends.pod_name))
    await write(world, works.pod_name, BARE)
    second = world.start("second")

    async def healed() -> bool:
        return shielded(await read(world, works.pod_name)) and not shielded(await read(world, ends.pod_name))

    assert await world.until(healed, 60, "protection follows the sessions") <= 30
    kept = await second.ledger.claims.get(works.id)
    assert kept is not None and kept.state is ClaimState.RUNNING
