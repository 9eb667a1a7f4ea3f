"""Every object changes just before Mooring's delete of it arrives: nothing is deleted that was not seen as it is.

Each play wants one thing deleted. While somebody writes on it, or puts another one in its place, nothing happens to it;
afterwards it goes.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from drydock import Script
from hawser.resources import BUDGETS, JOBS, PODS, SERVICEACCOUNTS, SERVICES, Resource
from mooring.kinds.resources import MANAGEDSERVICES
from mooring.model.claim import EndCause
from mooring.model.claim_request import ClaimRequest
from mooring.model.names import STEP
from mooring.model.protection import PROTECTION_ANNOTATIONS, PROTECTION_LABELS
from mooring.model.submission import Cancel
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour
from packages.mooring.tests.scenarios.meddling import MeddlingTransport, meddle_with, swap, touch
from packages.mooring.tests.scenarios.submits import spec, submit, until_phase

POOL = f"{NAMESPACE}/linux"
TIMES = 2  # a release tries three times
Play = Callable[[Harbour, Replica], Awaitable[None]]


def for_ever(run: Any) -> Script | None:
    """The first batch of a submission never ends."""
    return Script() if run.pod["metadata"]["labels"].get(STEP, "").startswith("batch") else None


async def fleet(world: Harbour, **wanted: Any) -> None:
    spec_of_pool = {"warm": 2, "max": 6, "idleSeconds": 5, "protection": {"graceSeconds": 1}, **wanted}
    await world.pool(**spec_of_pool)
    await world.until_idle(spec_of_pool["warm"])


async def retire(world: Harbour, _: Replica) -> None:
    """More idle workers than are wanted."""
    await fleet(world)
    await world.change({"warm": 1})


async def release(world: Harbour, replica: Replica) -> None:
    """A session that is over, in a pool that does not reuse workers."""
    await fleet(world)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)


async def reap(world: Harbour, replica: Replica) -> None:
    """A stamp without a claim, on a worker that has run something."""
    await fleet(world)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    world.words.otherwise = False  # type: ignore[attr-defined]
    await world.ledger.claims.end(claim.id, claim.epoch, EndCause.EXPIRED, now=world.clock.now(), reason="a test")


async def account(world: Harbour, _: Replica) -> None:
    """A ServiceAccount whose pod was taken away."""
    await fleet(world, serviceAccount="PerWorker", warm=1, max=1)
    await world.change({"warm": 0, "max": 0})


async def budget(world: Harbour, _: Replica) -> None:
    await fleet(world)
    await world.clock.sleep(5)
    await world.change({"protection": {"budget": False}})


async def cancelled(world: Harbour, replica: Replica) -> None:
    view = await submit(replica, spec())
    await until_phase(world, "Running")
    await world.clock.sleep(20)
    await replica.mooring.submissions.commands.cancel(NAMESPACE, view.metadata.name, Cancel(reason="a test"))


async def unexposed(world: Harbour, _: Replica) -> None:
    body = {"metadata": {"name": "api"}, "spec": {"image": "api:1", "port": 8080}}
    await world.client.create(MANAGEDSERVICES, body, NAMESPACE)
    await world.clock.sleep(30)
    await world.client.merge_patch(MANAGEDSERVICES, "api", {"spec": {"expose": "None"}}, NAMESPACE)


PLAYS: list[tuple[Play, Resource[Any]]] = [
    (retire, PODS), (release, PODS), (reap, PODS), (account, SERVICEACCOUNTS), (budget, BUDGETS), (cancelled, JOBS),
    (unexposed, SERVICES),
]  # fmt: skip
EACH = pytest.mark.parametrize(("play", "resource"), PLAYS, ids=[play.__name__ for play, _ in PLAYS])


async def until_done(world: Harbour, meddler: MeddlingTransport) -> None:
    """Until the delete was tried as often as somebody meddles."""
    while not meddler.done and world.seconds < 1500:
        await world.clock.sleep(0.25)
    assert meddler.done, f"a delete was tried {len(meddler.statuses)} times"


async def alive(world: Harbour, resource: Resource[Any]) -> set[str]:
    found = (await world.client.list(resource, NAMESPACE)).items
    return {one.metadata.uid for one in found if one.metadata.deletion_timestamp is None}


@EACH
async def test_an_object_that_somebody_writes_on_is_not_deleted_until_they_stop(play: Play, resource: Resource[Any]):
    touched: list[str] = []
    async with harbour(scripts=for_ever) as world:
        meddler = meddle_with(world, resource, touch(world.client, resource, touched), times=TIMES)
        await play(world, world.start())
        await until_done(world, meddler)
        assert set(meddler.statuses) == {409}

        async def goes() -> bool:
            return touched[0] not in await alive(world, resource)

        await world.until(goes, 700, "it goes when nobody writes on it")


@pytest.mark.parametrize(
    ("play", "resource"),
    [(retire, PODS), (reap, PODS), (budget, BUDGETS), (account, SERVICEACCOUNTS)],
    ids=["retire", "reap", "budget", "account"],
)
async def test_another_object_under_the_same_name_is_not_deleted_in_place_of_the_one_that_was_seen(
    play: Play, resource: Resource[Any]
):
    made: list[str] = []
    async with harbour(scripts=for_ever) as world:
        meddler = meddle_with(world, resource, swap(world.client, resource, made))
        await play(world, world.start())
        await until_done(world, meddler)
        assert set(meddler.statuses) == {409}
        assert made


async def test_a_stamp_that_changed_hands_is_not_removed_by_the_one_before():
    """The epoch on the pod changes between the look and the removal."""
    async with harbour() as world:
        replica = world.start()
        await fleet(world, reuse="Always")
        claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
        stamps = replica.mooring.claims.stamps
        pod = await world.client.get(PODS, claim.pod_name, NAMESPACE)
        assert not await stamps.unstamp(NAMESPACE, claim.pod_name, pod.metadata.uid, claim.epoch - 1)
        assert not await stamps.unstamp(NAMESPACE, claim.pod_name, "another-uid", claim.epoch)
        assert not await stamps.pass_on(NAMESPACE, claim.pod_name, "another-uid", claim.epoch, claim)
        assert not await stamps.pass_on(NAMESPACE, claim.pod_name, pod.metadata.uid, claim.epoch + 1, claim)
        after = await world.client.get(PODS, claim.pod_name, NAMESPACE)
        assert after.metadata.resource_version == pod.metadata.resource_version


async def test_marks_are_not_removed_from_a_worker_that_changed_since_it_was_seen():
    touched: list[str] = []
    async with harbour() as world:
        meddler = meddle_with(world, PODS, touch(world.client, PODS, touched), method="PATCH", times=TIMES)
        world.start()
        await fleet(world)
        marks = {"labels": PROTECTION_LABELS, "annotations": PROTECTION_ANNOTATIONS}
        idle = (await world.pods())[0].metadata.name
        await world.client.merge_patch(PODS, idle, {"metadata": marks}, NAMESPACE)
        await until_done(world, meddler)
        assert set(meddler.statuses) == {409}
