"""What must not be done in doubt: with a view that hangs, is empty, or is half of the truth, nothing is taken away.

Each scenario wants something deleted all the while, and shows at its end that it happens as soon as the doubt is over.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from drydock.faults import EmptyList, FailStream, Hang, Rule, SilenceStream
from hawser.resources import PODS, SERVICEACCOUNTS
from mooring.ledger.faults import Fault
from mooring.model import names
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from mooring.model.doctor_report import Check
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica
from packages.mooring.tests.scenarios.leaks import leak, stamped
from packages.testing.lanes import fast_first

POOL = f"{NAMESPACE}/linux"
HELD = ClaimRequest("acme", ttl_seconds=80_000)
GET = frozenset({"GET"})


def touched(replica: Replica, since: int) -> list[tuple[str, str]]:
    """What it did to workers and their accounts from that call on, apart from making them."""
    return [
        (call.method, call.path)
        for call in replica.process.calls[since:]
        if call.mutation and ("/pods/" in call.path or "/serviceaccounts/" in call.path)
    ]


async def line(replica: Replica, check_id: str) -> Check:
    """What the doctor says of it."""
    return next(check for check in (await replica.mooring.queries.doctor.examine()).checks if check.id == check_id)


async def open_pool(world: Harbour, idle: int, **spec: Any) -> None:
    await world.pool(**{"warm": idle, "max": idle + 3, "idleSeconds": 5, "protection": {"graceSeconds": 1}, **spec})
    await world.until_idle(idle)


async def hold_one_and_leak_one(world: Harbour, replica: Replica, wish: ClaimRequest) -> Claim:
    """Three more stay idle."""
    claim = await replica.mooring.claims.desk.claim(POOL, wish)
    await leak(world, 1)
    world.words.otherwise = False  # type: ignore[attr-defined]
    await world.until(left(world, 5), 60, "both are replaced")
    await world.until_idle(3)
    return claim


def left(world: Harbour, count: int) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        return len([pod for pod in await world.pods() if not pod.terminating]) == count

    return holds


@pytest.mark.slow
async def test_behind_a_hanging_watch_nothing_is_deleted_once_it_counts_as_silent_and_the_doctor_warns(world):
    hung = [
        Rule(SilenceStream(), resource="pods", watch=True, since_seconds=60, until_seconds=1500),
        Rule(Hang(), resource="pods", watch=False, methods=GET, since_seconds=60, until_seconds=1500),
    ]
    replica = world.start(rules=hung)
    await open_pool(world, 3)
    pods = replica.mooring.fleet.reflectors["pods"]

    async def noticed() -> bool:
        return not pods.health.fresh

    await world.until(noticed, 800, "the silence is noticed")
    since = len(replica.process.calls)
    await world.change({"warm": 1})
    await world.clock.sleep(600)
    assert touched(replica, since) == []
    told = await line(replica, "cache/pods")
    assert told.status == "warn" and "is behind" in told.message
    await world.clock.sleep(1500 - world.seconds)
    # The last silent watch is given up after 150 s, and asked for again within 30.
    await world.until(left(world, 1), 240, "the idle ones go when the watch is back")


@pytest.mark.slow
@pytest.mark.parametrize("held", fast_first([True, False], 1), ids=["claimed", "idle"])
async def test_an_empty_list_of_pods_deletes_neither_workers_nor_accounts_nor_claims(world, held):
    rules = [
        Rule(EmptyList(), resource="pods", since_seconds=60, until_seconds=1400),
        Rule(FailStream(), resource="pods", since_seconds=60, until_seconds=700),  # so that it lists again
        Rule(FailStream(), resource="pods", since_seconds=1400, until_seconds=2000),
    ]
    replica = world.start(rules=rules)
    await open_pool(world, 3, serviceAccount="PerWorker")
    claim = await replica.mooring.claims.desk.claim(POOL, HELD) if held else None
    pods = replica.mooring.fleet.reflectors["pods"]
    await world.clock.sleep(710)
    alive, since = set(world.witness.alive), len(replica.process.calls)
    await world.change({"warm": 1})
    await world.clock.sleep(600)
    assert len(pods.cache) == 0 and pods.health.fresh
    assert touched(replica, since) == []
    assert world.witness.alive == alive
    if claim is not None:
        assert (await replica.mooring.claims.desk.get(claim.id)).state is ClaimState.RUNNING
    await world.clock.sleep(700)
    await world.until(left(world, 2 if held else 1), 120, "the idle ones go when they are seen again")


@pytest.mark.slow
async def test_while_no_node_is_ready_nothing_is_killed_and_no_claim_ends(world):
    replica = world.start()
    await open_pool(world, 3)
    claim = await hold_one_and_leak_one(world, replica, HELD)
    fleet = world.sandbox.fleet
    for node in fleet.node_names:
        await fleet.pause(node)

    async def dark() -> bool:
        return not any(node.ready for node in replica.mooring.nodes.by_name.values())

    await world.until(dark, 120, "no node is Ready")
    since = len(replica.process.calls)
    await world.change({"warm": 1})
    await world.clock.sleep(1200)
    assert touched(replica, since) == []
    assert (await replica.mooring.claims.desk.get(claim.id)).state is ClaimState.RUNNING
    for node in fleet.node_names:
        await fleet.resume(node)
    await world.until(left(world, 2), 300, "one idle worker and the claimed one are left")
    assert claim.pod_uid in world.witness.alive and await stamped(world) == {claim.pod_name}


@pytest.mark.slow
@pytest.mark.parametrize("nouns", fast_first(["claims", "all"], 1))
async def test_without_the_ledger_no_worker_is_taken_for_an_orphan_and_the_doctor_fails(world, nouns):
    away = False
    replica = world.start(fault=lambda call: Fault.AWAY if away and nouns in (call.noun, "all") else Fault.NONE)
    await open_pool(world, 3, serviceAccount="PerWorker")
    claim = await hold_one_and_leak_one(world, replica, ClaimRequest("acme", ttl_seconds=60))
    away, since = True, len(replica.process.calls)
    await world.change({"warm": 1})
    await world.clock.sleep(1800)
    assert touched(replica, since) == []
    assert nouns == "claims" or (await line(replica, "ledger")).status == "fail"
    away = False
    await world.clock.sleep(15)
    await replica.mooring.claims.desk.heartbeat(claim.id, claim.epoch)  # a holder that could not beat is not a dead one
    await world.until(left(world, 2), 300, "one idle worker and the claimed one are left")
    assert claim.pod_uid in world.witness.alive and await stamped(world) == {claim.pod_name}


async def test_workers_held_by_finalizers_count_against_max_and_the_doctor_fails(world):
    replica = world.start()
    await open_pool(world, 2, max=3)
    hold = {"metadata": {"finalizers": ["example.com/hold"]}}
    stuck = [pod.metadata.name for pod in await world.pods()]
    for name in stuck:
        await world.client.merge_patch(PODS, name, hold, NAMESPACE)
        await world.client.delete(PODS, name, NAMESPACE)
    await world.clock.sleep(600)
    assert world.witness.most == 3
    assert (await world.status())["terminating"] == 2
    told = await line(replica, "finalizers")
    assert told.status == "fail" and sorted(told.evidence) == [f"{NAMESPACE}/{name}" for name in sorted(stuck)]
    for name in stuck:
        await world.client.merge_patch(PODS, name, {"metadata": {"finalizers": None}}, NAMESPACE)
    await world.until_idle(2)
    assert world.witness.most == 3


@pytest.mark.slow
async def test_a_stranger_that_carries_our_labels_and_looks_like_a_leak_is_not_touched(world):
    replica = world.start()
    await open_pool(world, 2)
    claim = await replica.mooring.claims.desk.claim(POOL, HELD)
    world.words.otherwise = False
    labels = {names.POOL: "linux", names.WORKER: "stranger", names.OWNER: "acme"}
    annotations = {names.CLAIM: "none", names.EPOCH: str(claim.epoch), names.STAMPED_AT: "2020-01-01T00:00:00Z"}
    container = {"name": "main", "image": "theirs"}
    for resource, spec in ((PODS, {"spec": {"containers": [container]}}), (SERVICEACCOUNTS, {})):
        body = {"metadata": {"name": "stranger", "labels": labels, "annotations": annotations}, **spec}
        await world.client.create(resource, body, NAMESPACE)
    await world.clock.sleep(5)
    lonely = {"metadata": {"name": "lonely", "labels": {names.POOL: "linux", names.WORKER: "lonely"}}}
    await world.client.create(SERVICEACCOUNTS, lonely, NAMESPACE)
    since = len(replica.process.calls)
    await world.clock.sleep(1500)
    assert touched(replica, since) == []
    kept = await world.client.get(PODS, "stranger", NAMESPACE)
    assert (kept.metadata.labels, kept.metadata.annotations) == (labels, annotations)
    accounts = (await world.client.list(SERVICEACCOUNTS, NAMESPACE)).items
    assert {"stranger", "lonely"} <= {account.metadata.name for account in accounts}


async def test_a_strangers_account_under_the_name_of_a_worker_is_neither_used_nor_deleted(world):
    theirs = await world.client.create(SERVICEACCOUNTS, {"metadata": {"name": "linux-0"}}, NAMESPACE)
    world.start()
    await open_pool(world, 2, serviceAccount="PerWorker")
    assert sorted(pod.metadata.name for pod in await world.pods()) == ["linux-1", "linux-2"]
    await world.change({"warm": 0})
    await world.until(left(world, 0), 120, "all workers are gone")
    assert (await world.client.get(SERVICEACCOUNTS, "linux-0", NAMESPACE)).metadata.uid == theirs.metadata.uid
