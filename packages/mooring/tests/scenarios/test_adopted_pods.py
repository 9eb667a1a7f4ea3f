"""Running pods that a pool adopts: busy until proven idle, counted in max, and replaced under a slot name."""

import asyncio
from typing import Any

import pytest

from drydock.faults import Delay, Rule
from hawser.errors import ObjectNotFound
from hawser.resources import PODS
from mooring.controllers.claims.refusals import WaitTimedOut
from mooring.controllers.pools.adoption import AdoptRequest
from mooring.kinds.resources import WORKERPOOLS
from mooring.ledger.records import AuditFilter
from mooring.model import names
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Conflict, InvalidInput, NotFound, WorkerClaimed
from mooring.model.worker import Worker
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica

POOL = f"{NAMESPACE}/linux"
SELECTOR = "app=runner"


async def run_pod(world: Harbour, name: str, **changes: Any) -> str:
    """A pod that another tool made and that runs for ever; its uid."""
    meta = {"name": name, "labels": {"app": "runner"}, **changes}
    spec = {"containers": [{"name": "main", "image": "runner"}]}
    pod = await world.client.create(
        PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}, NAMESPACE
    )
    return pod.metadata.uid


async def adopt(replica: Replica, selector: str = SELECTOR, **how: bool) -> dict[str, tuple[str, str]]:
    request = AdoptRequest(selector, "taken over from the old runners", "ann", **how)
    found = await replica.mooring.pools.adoption.adopt(NAMESPACE, "linux", request)
    return {pod.name: (pod.result, pod.why) for pod in found}


def worker(replica: Replica, uid: str) -> Worker:
    found = replica.mooring.fleet.worker(POOL, uid)
    assert found is not None
    return found


async def audited(replica: Replica, action: str) -> list[tuple[str, str, str]]:
    page = await replica.mooring.queries.fleet.audit(AuditFilter(action=action), 50, None)
    return [(row.entry.actor, row.entry.subject.name, row.outcome.value) for row in page.items]


async def started(world: Harbour, **spec: Any) -> tuple[Replica, str]:
    replica = world.start()
    await world.pool(**{"warm": 0, "max": 3, "reuse": "Always", **spec})
    uid = await run_pod(world, "old-runner-abc")
    await world.clock.sleep(20)
    return replica, uid


async def test_an_adopted_pod_is_protected_and_handed_to_nobody(world):
    replica, uid = await started(world, max=1)
    assert await adopt(replica) == {"old-runner-abc": ("adopted", "it counts as busy until it is proven to be idle")}
    await world.clock.sleep(5)
    found = worker(replica, uid)
    assert found.marks.complete and found.pool_uid and found.unproven_since is not None
    status = await world.status()
    assert (status["busy"], status["idle"], status["replicas"]) == (1, 0, 1)
    with pytest.raises(WaitTimedOut):  # it counts in max, and nobody gets it
        await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", wait=30))
    assert await audited(replica, "adopt") == [("ann", "old-runner-abc", "done")]
    with pytest.raises(WorkerClaimed):
        await replica.mooring.claims.retirement.retire(NAMESPACE, "old-runner-abc", actor="ann", reason="x")


async def test_a_poll_workers_own_word_proves_it_idle(world):
    replica, uid = await started(world, dispatch="Poll")
    await adopt(replica)
    await world.clock.sleep(2)
    await replica.mooring.claims.dispatch.next_session(worker(replica, uid), 1, executing=True)
    assert worker(replica, uid).unproven_since is not None
    await replica.mooring.claims.dispatch.next_session(worker(replica, uid), 1, executing=False)
    await world.clock.sleep(2)
    found = worker(replica, uid)
    assert found.unproven_since is None and found.marks.absent
    assert await audited(replica, "prove-idle") == [(f"worker/{NAMESPACE}/old-runner-abc", "old-runner-abc", "done")]


async def test_the_operator_states_that_it_is_idle_and_claims_get_it(world):
    replica, uid = await started(world)
    await adopt(replica)
    await world.clock.sleep(2)
    assert (await adopt(replica, f"{names.WORKER}=old-runner-abc", idle=True))["old-runner-abc"][0] == "proven-idle"
    await world.until_idle(1)
    assert worker(replica, uid).marks.absent
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", wait=30))
    await world.clock.sleep(1)
    assert claim.pod_uid == uid and worker(replica, uid).marks.complete
    assert await audited(replica, "prove-idle") == [("ann", "old-runner-abc", "done")]
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.until_idle(1)


async def test_an_adopted_worker_that_goes_is_replaced_under_a_slot_name(world):
    replica, _ = await started(world, warm=1, max=2)
    await adopt(replica, idle=True)
    await world.clock.sleep(5)
    await replica.mooring.claims.retirement.retire(NAMESPACE, "old-runner-abc", actor="ann", reason="replace it")

    async def replaced() -> bool:
        return [pod.metadata.name for pod in await world.pods() if not pod.terminating] == ["linux-0"]

    await world.until(replaced, 900, "a worker with a slot name")


async def test_a_dry_run_changes_nothing_and_names_what_others_manage(world):
    replica, _ = await started(world)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "s", "controller": True}
    await run_pod(world, "managed", ownerReferences=[owner])
    await run_pod(world, "unrelated", labels={"app": "web"})
    found = await adopt(replica, dry_run=True)
    assert {name: result for name, (result, _) in found.items()} == {"managed": "skipped", "old-runner-abc": "adopted"}
    assert found["managed"][1] == "StatefulSet db manages it"
    assert all(names.POOL not in pod.metadata.labels for pod in await world.pods())
    assert await audited(replica, "adopt") == []


async def test_a_pod_that_changes_between_the_look_and_the_write_is_not_adopted(world):
    slow = Rule(Delay(5), methods=frozenset({"PATCH"}), resource="pods")
    replica = world.start(rules=[slow])
    await world.pool(warm=0, max=3, reuse="Always")
    await run_pod(world, "old-runner-abc")
    await world.clock.sleep(20)
    adopting = asyncio.create_task(adopt(replica))
    await world.clock.sleep(1)
    await world.client.merge_patch(PODS, "old-runner-abc", {"metadata": {"labels": {"app": "other"}}}, NAMESPACE)
    assert (await adopting)["old-runner-abc"][0] == "skipped"
    [pod] = await world.pods()
    assert names.POOL not in pod.metadata.labels


async def test_nothing_is_adopted_beyond_max(world):
    replica, _ = await started(world, max=2)
    for name in ("x-1", "x-2"):
        await run_pod(world, name)
    await world.clock.sleep(20)
    found = await adopt(replica)
    assert [result for result, _ in found.values()] == ["adopted", "adopted", "skipped"]
    assert "spec.max" in found["x-2"][1]
    await world.clock.sleep(60)
    assert len([pod for pod in await world.pods() if names.POOL in pod.metadata.labels]) == 2


async def test_its_protection_ends_at_the_ceiling_and_it_still_counts_as_busy(world):
    replica, uid = await started(world, protection={"ceilingSeconds": 100})
    await adopt(replica)
    await world.clock.sleep(60)
    assert worker(replica, uid).marks.complete
    await world.clock.sleep(60)
    assert worker(replica, uid).marks.absent and (await world.status())["busy"] == 1


async def test_a_replaced_control_plane_knows_the_adopted_worker_as_well(world):
    replica, uid = await started(world)
    await adopt(replica)
    await world.clock.sleep(2)
    await replica.kill()
    second = world.start("b")
    await world.clock.sleep(60)
    assert worker(second, uid).unproven_since is not None and worker(second, uid).marks.complete


async def test_a_pool_that_is_gone_or_a_selector_that_takes_all_is_refused(world):
    replica, _ = await started(world)
    for selector in ("!app", "app!=x", " "):
        with pytest.raises(InvalidInput):
            await adopt(replica, selector)
    with pytest.raises(NotFound):
        await replica.mooring.pools.adoption.adopt(NAMESPACE, "linus", AdoptRequest(SELECTOR, "why", "ann"))
    await world.client.merge_patch(WORKERPOOLS, "linux", {"metadata": {"finalizers": ["example.com/hold"]}}, NAMESPACE)
    await world.client.delete(WORKERPOOLS, "linux", NAMESPACE)
    with pytest.raises((Conflict, NotFound, ObjectNotFound)):
        await adopt(replica)
