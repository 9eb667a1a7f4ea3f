"""Workers that poll for their sessions, in virtual time: who may ask, what they get, and how they report."""

import asyncio

import pytest

from drydock.faults import Refuse, Rule
from hawser.errors import KubeError
from hawser.resources import NODES, PODS, SERVICEACCOUNTS
from mooring.controllers.activity import PolledActivity
from mooring.controllers.claims.dispatch import NoResult, Result, WorkerDraining
from mooring.model import names
from mooring.model.claim import ClaimState, EndCause
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Conflict, Forbidden, NotFound, StaleEpoch, Unauthorized, Unavailable
from mooring.model.names import DISPATCH_AUDIENCE as AUDIENCE
from packages.mooring.tests.scenarios.harbour import NAMESPACE, harbour
from packages.testing.lanes import fast_first

POOL = f"{NAMESPACE}/linux"


async def token_of(world, pod_name, audience=AUDIENCE, account="default", bound=True):
    """A token as a kubelet would project it into the pod."""
    spec = {"audiences": [audience], "expirationSeconds": 3600}
    if bound:
        pod = await world.client.get(PODS, pod_name, NAMESPACE)
        spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod", "name": pod_name, "uid": pod.metadata.uid}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {"name": account}}
    made = await world.client.create(SERVICEACCOUNTS.raw(), {**body, "spec": spec}, NAMESPACE, subresource="token")
    return made["status"]["token"]


async def poll_pool(world, **spec):
    world.words = PolledActivity(world.clock)
    replica = world.start()
    await world.pool(**{"warm": 1, "max": 1, "dispatch": "Poll", "reuse": "Always", **spec})
    await world.until_idle(spec.get("warm", 1))
    for worker in replica.mooring.fleet.workers(POOL):
        await replica.mooring.polls.record(worker)
    return replica.mooring


async def worker_of(world, mooring, pod_name):
    return await mooring.claims.identity.identify(await token_of(world, pod_name))


async def only_worker(world, mooring):
    return await worker_of(world, mooring, (await world.pods())[0].metadata.name)


async def polling_worker(world, **spec):
    """A pool, and the one worker that it has."""
    mooring = await poll_pool(world, **spec)
    return mooring, await only_worker(world, mooring)


async def begin_session(mooring, worker, wish):
    """A claim whose session the worker has fetched."""
    claim = await mooring.claims.desk.claim(POOL, wish)
    await mooring.claims.dispatch.next_session(worker, 0, executing=False)
    return claim


@pytest.mark.parametrize("reuse", ["Always", "SameOwner"])
async def test_a_session_is_delivered_once_and_its_report_releases_the_claim(world, reuse):
    mooring, worker = await polling_worker(world, reuse=reuse)
    claim = await mooring.claims.desk.claim(POOL, ClaimRequest("acme", payload={"command": ["true"]}))
    dispatching = mooring.claims.dispatch
    session = await dispatching.next_session(worker, 0, executing=False)
    assert (session.id, session.epoch, session.payload) == (claim.id, claim.epoch, {"command": ["true"]})
    assert await dispatching.next_session(worker, 5, executing=True) is None
    with pytest.raises(NoResult):
        await dispatching.result(claim.id)
    assert await dispatching.finish(worker, claim.id, claim.epoch, Result(3, "boom\x00")) is True
    released = await mooring.claims.desk.get(claim.id)
    assert released.state is ClaimState.RELEASED and "exit code 3" in released.reason
    evidence = (await dispatching.result(claim.id)).entry.evidence
    assert (evidence["exitCode"], evidence["output"]) == (3, "boom")
    pod = await world.client.get(PODS, worker.name, NAMESPACE)
    assert names.OWNER not in pod.metadata.labels


async def test_a_report_may_be_repeated_and_the_first_one_stays(world):
    mooring, worker = await polling_worker(world)
    claim = await begin_session(mooring, worker, ClaimRequest("acme"))
    await mooring.claims.dispatch.finish(worker, claim.id, claim.epoch, Result(0, "first"))
    await mooring.claims.dispatch.finish(worker, claim.id, claim.epoch, Result(1, "second"))
    record = await mooring.claims.dispatch.result(claim.id)
    assert record.entry.evidence["output"] == "first" and record.entry.evidence["exitCode"] == 0


async def test_a_worker_that_waits_is_woken_by_a_claim_at_another_replica(world):
    mooring = await poll_pool(world)
    other = world.start("b").mooring
    await other.wait_synced()
    await world.clock.sleep(6)
    worker = await only_worker(world, mooring)
    polling = asyncio.create_task(mooring.claims.dispatch.next_session(worker, 30, executing=False))
    await world.clock.sleep(7)
    asked_at = world.clock.monotonic()
    claim = await other.claims.desk.claim(POOL, ClaimRequest("acme", wait=5))
    session = await polling
    assert session.id == claim.id and world.clock.monotonic() - asked_at < 0.5


async def test_nothing_within_the_wait_is_none_and_the_wait_is_bounded(world):
    mooring, worker = await polling_worker(world)
    started = world.clock.monotonic()
    assert await mooring.claims.dispatch.next_session(worker, 3600, executing=False) is None
    assert world.clock.monotonic() - started == pytest.approx(30, abs=0.1)


async def test_a_worker_that_polls_again_gets_its_session_on_the_new_poll_only(world):
    mooring, worker = await polling_worker(world)
    given_up = asyncio.create_task(mooring.claims.dispatch.next_session(worker, 30, executing=False))
    await world.clock.sleep(1)
    current = asyncio.create_task(mooring.claims.dispatch.next_session(worker, 30, executing=False))
    await world.clock.sleep(1)
    assert given_up.done() and given_up.result() is None
    claim = await mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    assert (await current).id == claim.id


@pytest.mark.parametrize("seed", fast_first(range(8), 2))
async def test_of_many_polls_at_once_exactly_one_gets_the_session(seed):
    async with harbour(seed) as world:
        mooring = await poll_pool(world)
        replicas = [mooring, world.start("b").mooring]
        await replicas[1].wait_synced()
        worker = await only_worker(world, mooring)
        polls = [
            asyncio.create_task(replicas[n % 2].claims.dispatch.next_session(worker, 10, executing=False))
            for n in range(6)
        ]
        await mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
        got = [session for session in await asyncio.gather(*polls) if session is not None]
        assert len(got) == 1


async def test_a_replica_that_stops_sends_waiting_workers_away_without_a_session(world):
    mooring, worker = await polling_worker(world)
    polling = asyncio.create_task(mooring.claims.dispatch.next_session(worker, 30, executing=False))
    await world.clock.sleep(1)
    mooring.claims.dispatch.close()
    with pytest.raises(Unavailable):
        await polling
    claim = await mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    with pytest.raises(Unavailable):
        await mooring.claims.dispatch.next_session(worker, 30, executing=False)
    assert (await mooring.claims.desk.get(claim.id)).delivered_epoch is None


async def test_tokens_that_are_not_a_workers_are_refused(world):
    mooring = await poll_pool(world)
    identity = mooring.claims.identity
    pod = (await world.pods())[0].metadata.name
    stranger = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stranger"}}
    spec = {"containers": [{"name": "main", "image": "worker"}]}
    await world.client.create(PODS, {**stranger, "spec": spec}, NAMESPACE)
    for bad in ("", "nonsense", world.sandbox.token, await token_of(world, pod, audience="vault")):
        with pytest.raises(Unauthorized):
            await identity.identify(bad)
    with pytest.raises(Forbidden):
        await identity.identify(await token_of(world, pod, bound=False))
    with pytest.raises(Forbidden):
        await identity.identify(await token_of(world, "stranger"))
    assert (await identity.identify(await token_of(world, pod))).name == pod


async def test_a_good_token_is_reviewed_once_in_a_while_and_not_after_its_pod_is_gone(world):
    mooring = await poll_pool(world)
    process = world.replicas[0].process

    def reviews():
        return sum(call.path.endswith("/tokenreviews") for call in process.calls)

    pod = (await world.pods())[0].metadata.name
    token = await token_of(world, pod)
    for _ in range(5):
        await mooring.claims.identity.identify(token)
    assert reviews() == 1
    await world.clock.sleep(61)
    await mooring.claims.identity.identify(token)
    assert reviews() == 2
    await world.client.delete(PODS, pod, NAMESPACE, grace_seconds=0)
    await world.clock.sleep(61)
    with pytest.raises(Unauthorized):
        await mooring.claims.identity.identify(token)


async def test_a_review_that_fails_is_neither_yes_nor_no(world):
    world.words = PolledActivity(world.clock)
    rule = Rule(Refuse(), methods=frozenset({"POST"}), path=r"/tokenreviews$", nth=frozenset({1}))
    mooring = world.start(rules=[rule]).mooring
    await world.pool(warm=1, max=1, dispatch="Poll")
    await world.until_idle(1)
    token = await token_of(world, (await world.pods())[0].metadata.name)
    with pytest.raises(KubeError):
        await mooring.claims.identity.identify(token)
    await mooring.claims.identity.identify(token)


@pytest.mark.world(nodes=1)
async def test_a_draining_worker_is_told_to_exit_at_once_even_while_it_waits(world):
    mooring, worker = await polling_worker(world)
    polling = asyncio.create_task(mooring.claims.dispatch.next_session(worker, 30, executing=False))
    await world.clock.sleep(1)
    await world.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    cordoned_at = world.clock.monotonic()
    with pytest.raises(WorkerDraining, match="cordoned"):
        await polling
    assert world.clock.monotonic() - cordoned_at < 1


@pytest.mark.world(nodes=1)
async def test_a_session_that_is_due_is_delivered_although_the_worker_drains(world):
    mooring, worker = await polling_worker(world)
    claim = await mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    await world.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    await world.clock.sleep(1)
    assert (await mooring.claims.dispatch.next_session(worker, 0, executing=False)).id == claim.id
    with pytest.raises(WorkerDraining):
        await mooring.claims.dispatch.next_session(worker, 0, executing=False)


async def test_a_worker_reports_only_its_own_sessions_under_their_present_epoch(world):
    mooring = await poll_pool(world, warm=2, max=2)
    claim = await mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    pods = {pod.metadata.uid: pod.metadata.name for pod in await world.pods()}
    mine = await worker_of(world, mooring, pods.pop(claim.pod_uid))
    other = await worker_of(world, mooring, pods.popitem()[1])
    with pytest.raises(Forbidden):
        await mooring.claims.dispatch.heartbeat(other, claim.id, claim.epoch)
    with pytest.raises(Forbidden):
        await mooring.claims.dispatch.finish(other, claim.id, claim.epoch, Result(0, ""))
    with pytest.raises(StaleEpoch):
        await mooring.claims.dispatch.heartbeat(mine, claim.id, claim.epoch - 1)
    with pytest.raises(NotFound):
        await mooring.claims.dispatch.heartbeat(mine, "no-such-claim", 1)
    before = (await mooring.claims.desk.get(claim.id)).heartbeat_at
    await world.clock.sleep(2)
    assert (await mooring.claims.dispatch.heartbeat(mine, claim.id, claim.epoch)).heartbeat_at > before
    await mooring.claims.desk.release(claim.id, claim.epoch)
    with pytest.raises(Conflict):
        await mooring.claims.dispatch.heartbeat(mine, claim.id, claim.epoch)


async def test_the_report_of_a_session_whose_claim_is_over_leaves_no_result(world):
    mooring, worker = await polling_worker(world)
    claim = await begin_session(mooring, worker, ClaimRequest("acme", ttl_seconds=5))
    await world.clock.sleep(30)
    assert (await mooring.claims.desk.get(claim.id)).state is ClaimState.EXPIRED
    with pytest.raises(Conflict):
        await mooring.claims.dispatch.finish(worker, claim.id, claim.epoch, Result(0, "too late"))
    with pytest.raises(NoResult):
        await mooring.claims.dispatch.result(claim.id)


async def test_a_worker_that_is_not_reused_is_told_to_exit_and_deleted(world):
    mooring, worker = await polling_worker(world, reuse="Never", protection={"graceSeconds": 5})
    claim = await begin_session(mooring, worker, ClaimRequest("acme"))
    assert await mooring.claims.dispatch.finish(worker, claim.id, claim.epoch, Result(0, "")) is False
    await world.clock.sleep(0.1)
    with pytest.raises(WorkerDraining):
        await mooring.claims.dispatch.next_session(worker, 0, executing=False)
    await world.until_idle(1)
    assert worker.uid not in {pod.metadata.uid for pod in await world.pods()}


async def test_what_workers_say_is_evidence_for_a_minute_and_reaches_every_replica(world):
    mooring = await poll_pool(world)
    mine = world.words
    leader = world.words = PolledActivity(world.clock)
    other = world.start("b").mooring
    await other.wait_synced()
    worker = await only_worker(world, mooring)
    assert mine.executing(worker) is None
    await mooring.claims.dispatch.next_session(worker, 0, executing=False)
    assert mine.executing(worker) is False and leader.executing(worker) is None
    claim = await begin_session(mooring, worker, ClaimRequest("acme"))
    assert mine.executing(worker) is True
    await world.clock.sleep(61)
    assert mine.executing(worker) is None
    await mooring.claims.dispatch.heartbeat(worker, claim.id, claim.epoch)
    assert mine.executing(worker) is True
    stamped = await only_worker(world, mooring)
    assert stamped.stamp is not None
    await mooring.claims.dispatch.next_session(stamped, 0, executing=False)
    await world.clock.sleep(0.1)
    assert mine.executing(worker) is False and leader.executing(worker) is False


@pytest.mark.parametrize("reuse", ["Always", "Never"])
async def test_a_session_that_its_restarted_worker_forgot_is_started_over_when_it_may_be(world, reuse):
    mooring, worker = await polling_worker(world, reuse=reuse, protection={"graceSeconds": 1})
    claim = await begin_session(mooring, worker, ClaimRequest("acme", retryable=True, payload={"n": 1}))
    await world.clock.sleep(20)
    await mooring.claims.dispatch.heartbeat(worker, claim.id, claim.epoch)
    started = world.clock.monotonic()
    session = None
    while session is None:
        try:
            session = await mooring.claims.dispatch.next_session(worker, 20, executing=False)
        except WorkerDraining:
            await world.clock.sleep(4)
            worker = await only_worker(world, mooring)
    assert 44 <= world.clock.monotonic() - started <= 50
    assert session.id == claim.id and session.epoch > claim.epoch and session.payload == {"n": 1}
    assert (session.pod_uid == claim.pod_uid) == (reuse == "Always")
    with pytest.raises(StaleEpoch):
        await mooring.claims.dispatch.heartbeat(worker, claim.id, claim.epoch)
    await mooring.claims.dispatch.finish(worker, claim.id, session.epoch, Result(0, "second"))
    assert (await mooring.claims.dispatch.result(claim.id)).entry.evidence["output"] == "second"


async def test_a_session_that_was_forgotten_and_may_not_be_repeated_is_lost_long_before_its_ttl(world):
    mooring, worker = await polling_worker(world)
    claim = await begin_session(mooring, worker, ClaimRequest("acme", ttl_seconds=3600))
    for _ in range(3):
        await mooring.claims.dispatch.next_session(worker, 20, executing=False)
    lost = await mooring.claims.desk.get(claim.id)
    assert (lost.state, lost.cause) == (ClaimState.LOST, EndCause.FORGOTTEN)
    assert names.OWNER not in (await world.client.get(PODS, worker.name, NAMESPACE)).metadata.labels


async def test_a_session_that_is_kept_alive_or_worked_on_is_never_taken_for_forgotten(world):
    mooring, worker = await polling_worker(world)
    claim = await begin_session(mooring, worker, ClaimRequest("acme", ttl_seconds=3600, retryable=True))
    for _ in range(6):
        await mooring.claims.dispatch.next_session(worker, 20, executing=True)
    for _ in range(12):
        await mooring.claims.desk.heartbeat(claim.id, claim.epoch)
        await mooring.claims.dispatch.next_session(worker, 20, executing=False)
    held = await mooring.claims.desk.get(claim.id)
    assert held.state is ClaimState.RUNNING and held.epoch == claim.epoch


async def test_with_several_slots_only_the_forgotten_session_is_lost(world):
    mooring, worker = await polling_worker(world, slots=2)
    forgotten = await begin_session(mooring, worker, ClaimRequest("acme", ttl_seconds=3600))
    kept = await mooring.claims.desk.claim(POOL, ClaimRequest("globex", ttl_seconds=3600))
    for _ in range(4):
        await mooring.claims.desk.heartbeat(kept.id, kept.epoch)
        await mooring.claims.dispatch.next_session(worker, 20, executing=False)
    assert (await mooring.claims.desk.get(forgotten.id)).state is ClaimState.LOST
    assert (await mooring.claims.desk.get(kept.id)).state is ClaimState.RUNNING
    pod = await world.client.get(PODS, worker.name, NAMESPACE)
    assert pod.metadata.annotations[names.CLAIM] == kept.id
