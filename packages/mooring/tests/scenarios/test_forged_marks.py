"""Marks of Mooring that somebody else wrote: they are refused, with an Event and a metric, and nothing else happens."""

from typing import Any

import pytest
from prometheus_client import REGISTRY

from hawser.resources import EVENTS, PODS
from mooring.controllers.claims.refusals import NoIdleWorker
from mooring.kinds.resources import WORKERPOOLS
from mooring.model import names
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica
from packages.testing.lanes import fast_first

POOL = f"{NAMESPACE}/linux"


def refused(reason: str) -> float:
    return REGISTRY.get_sample_value("mooring_marks_refused_total", {"reason": reason}) or 0.0


def bugs() -> float:
    """Passes of any loop that failed unexpectedly, so far."""
    return sum(
        sample.value
        for family in REGISTRY.collect()
        if family.name == "mooring_reconcile_errors"
        for sample in family.samples
        if sample.name.endswith("_total") and sample.labels["kind"] == "bug"
    )


async def forge(world: Harbour, pod: str, epoch: str, claim: str = "forged") -> None:
    """What anybody who may patch pods can do."""
    marks = {"labels": {names.OWNER: "mallory"}, "annotations": {names.CLAIM: claim, names.EPOCH: epoch}}
    await world.client.merge_patch(PODS, pod, {"metadata": marks}, NAMESPACE)


async def reasons(world: Harbour) -> list[str]:
    return [str(event["reason"]) for event in (await world.client.list(EVENTS.raw(), NAMESPACE)).items]


@pytest.mark.parametrize(
    ("epoch", "reason"),
    [
        (str(10**30), "unreadable-epoch"),
        (str(2**63 - 5), "unreadable-epoch"),
        (str(2**63 - 1_000_003), "unreadable-epoch"),
        ("٣", "unreadable-epoch"),
        ("²", "unreadable-epoch"),
        ("9" * 18, "implausible-epoch"),
        ("5000", "unsealed-epoch"),
    ],
)
async def test_a_forged_epoch_does_nothing_but_raise_a_metric(world: Harbour, epoch: str, reason: str) -> None:
    replica = world.start()
    await world.pool(warm=2, max=4, reuse="Always")
    await world.until_idle(2)
    before, counted, issued = bugs(), refused(reason), await world.ledger.meta.issued_epoch()
    victim = (await world.pods())[0].metadata.name
    await forge(world, victim, epoch)
    await world.clock.sleep(60)
    assert not replica.task.done() and bugs() == before
    assert refused(reason) == counted + 1, "once, not at every look"
    assert "MarkRefused" in await reasons(world)
    assert world.ledger.incarnation.armed and await world.ledger.meta.issued_epoch() == issued
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    assert claim.epoch == issued + 1 and claim.pod_name != victim


async def test_the_stamp_of_a_restored_ledger_still_disarms_it(world: Harbour) -> None:
    first = world.start("first")
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    store = world.ledger._session.store  # type: ignore[attr-defined]
    saved = store.backup()
    claim = await first.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await world.clock.sleep(5)
    await first.kill()
    store.restore(saved, elsewhere=False)  # the same files at an earlier time: only the pod knows better
    world.start("second")
    await world.clock.sleep(60)
    present = await world.ledger.meta.incarnation()
    assert (present.armed, present.cause) == (False, "went_back")
    assert await world.ledger.meta.issued_epoch() > claim.epoch


async def test_an_empty_ledger_believes_the_stamps_of_older_pods(world: Harbour) -> None:
    first = world.start("first")
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    await first.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await first.kill()
    store = world.ledger._session.store  # type: ignore[attr-defined]
    empty = type(store)()
    await world.clock.sleep(30)
    store.restore(empty, elsewhere=False)
    await start_with_new_ledger(world)
    await world.clock.sleep(60)
    assert not (await world.ledger.meta.incarnation()).armed


async def start_with_new_ledger(world: Harbour) -> Replica:
    world.ledger = world._open_ledger()
    return world.start("second")


async def test_the_seal_of_one_pod_is_worth_nothing_on_another(world: Harbour) -> None:
    replica = world.start()
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    source = next(pod for pod in await world.pods() if pod.metadata.name == claim.pod_name)
    target = next(pod for pod in await world.pods() if names.OWNER not in pod.metadata.labels)
    copied = {key: value for key, value in source.metadata.annotations.items() if key in (names.CLAIM, names.SEAL)}
    marks = {"labels": {names.OWNER: "acme"}, "annotations": {**copied, names.EPOCH: str(claim.epoch + 7)}}
    await world.client.merge_patch(PODS, target.metadata.name, {"metadata": marks}, NAMESPACE)
    await world.clock.sleep(60)
    assert world.ledger.incarnation.armed


def stranger(uid: str, name: str = "linux-stranger") -> dict[str, Any]:
    owner = {"apiVersion": names.API_VERSION, "kind": "WorkerPool", "name": "linux", "uid": uid, "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {names.POOL: "linux", names.WORKER: name, names.OWNER: "mallory", names.BUSY: "true"},
            "annotations": {names.CLAIM: "forged", names.EPOCH: "4000"},
            "ownerReferences": [owner],
            "finalizers": ["example.com/hold"],  # the garbage collector must not take it away meanwhile
        },
        "spec": {"containers": [{"name": "main", "image": "worker"}]},
    }


@pytest.mark.slow
async def test_a_pod_of_another_controller_is_not_counted_stamped_deleted_or_believed(world: Harbour) -> None:
    replica = world.start()
    await world.pool(warm=2, max=2, reuse="Always")
    await world.until_idle(2)
    counted = refused("foreign-pod")
    forged = await world.client.create(PODS.raw(), stranger("00000000-0000-4000-8000-000000000000"), NAMESPACE)
    await world.clock.sleep(30)
    assert refused("foreign-pod") == counted + 1
    assert {worker.name for worker in replica.mooring.fleet.workers(POOL)} == {
        pod.metadata.name for pod in await world.pods() if pod.metadata.name != "linux-stranger"
    }
    for _ in range(2):
        await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    with pytest.raises(NoIdleWorker):
        await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    await world.clock.sleep(1200)
    path = f"/pods/{forged['metadata']['name']}"
    assert not [call for call in replica.process.calls if path in call.path and call.method != "GET"]
    assert world.ledger.incarnation.armed
    assert await replica.mooring.fleet.look_up(NAMESPACE, "linux-stranger") is None


async def test_a_worker_whose_pool_label_is_changed_leaves_its_pool(world: Harbour) -> None:
    replica = world.start()
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    moved = (await world.pods())[0].metadata
    await world.client.merge_patch(PODS, moved.name, {"metadata": {"labels": {names.POOL: "other"}}}, NAMESPACE)
    await world.clock.sleep(5)
    assert replica.mooring.fleet.worker(POOL, moved.uid) is None


async def test_workers_are_believed_when_their_pool_is_seen_after_them(world: Harbour) -> None:
    first = world.start("first")
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    await first.kill()
    uid = (await world.client.get(WORKERPOOLS, "linux", NAMESPACE)).metadata.uid
    second = world.start("second")
    await second.mooring.wait_synced()
    assert {worker.pool_uid for worker in second.mooring.fleet.workers(POOL)} == {uid}
    assert second.mooring.fleet.strangers == ()


@pytest.mark.parametrize("mark", [names.UNPROVEN, names.STAMPED_AT, names.TENANT_SINCE])
@pytest.mark.parametrize(
    "moment", fast_first(["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-12-31T00:00:00Z"], 1)
)
async def test_a_time_that_nobody_could_have_written_stops_no_check(world: Harbour, mark: str, moment: str) -> None:
    replica = world.start()
    await world.pool(warm=2, max=4, reuse="Always")
    await world.until_idle(2)
    before, (forged, *_) = bugs(), await world.pods()
    marks = {"labels": {names.OWNER: "mallory"}, "annotations": {mark: moment, names.EPOCH: "1", names.CLAIM: "x"}}
    await world.client.merge_patch(PODS, forged.metadata.name, {"metadata": marks}, NAMESPACE)
    await world.clock.sleep(30)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600, wait=30))
    patch = {"metadata": {"annotations": {names.DO_NOT_DISRUPT: None}}}
    await world.client.merge_patch(PODS, claim.pod_name or "", patch, NAMESPACE)
    await world.clock.sleep(10)
    pod = await world.client.get(PODS, claim.pod_name or "", NAMESPACE)
    assert pod.metadata.annotations.get(names.DO_NOT_DISRUPT) == "true", "others are protected as before"
    assert bugs() == before and not replica.task.done()
