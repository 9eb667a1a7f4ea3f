"""Workers that poll for their sessions, in virtual time: who may ask, what they get, and how they report."""

import asyncio

import pytest

from mooring.control.claiming.activity import PolledActivity
from mooring.control.claiming.dispatching import NoResult, Result, WorkerDraining
from mooring.control.claiming.identity import AUDIENCE
from mooring.kube.errors import KubeError
from mooring.kube.resources import NODES, PODS, SERVICEACCOUNTS
from mooring.model import names
from mooring.model.claim import ClaimState, EndCause
from mooring.model.errors import Conflict, Forbidden, NotFound, StaleEpoch, Unauthorized, Unavailable
from mooring.model.wish import Wish
from mooring.sandbox.faults import Refuse, Rule
from tests.scenarios.harbour import NAMESPACE, harbour, play, plays_in

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
    return replica.mooring


async def worker_of(world, mooring, pod_name):
    return await mooring.identity.identify(await token_of(world, pod_name))


async def only_worker(world, mooring):
    return await worker_of(world, mooring, (await world.pods())[0].metadata.name)


async def polling_worker(world, **spec):
    """A pool, and the one worker that it has."""
    mooring = await poll_pool(world, **spec)
    return mooring, await only_worker(world, mooring)


async def begin_session(mooring, worker, wish):
    """A claim whose session the worker has fetched."""
    claim = await mooring.desk.claim(POOL, wish)
    await mooring.dispatching.next_session(worker, 0, executing=False)
    return claim


@plays_in(harbour)
async def test_a_session_is_delivered_once_and_its_report_releases_the_claim(world):
    mooring, worker = await polling_worker(world)
    claim = await mooring.desk.claim(POOL, Wish("acme", payload={"command": ["true"]}))
    dispatching = mooring.dispatching
    session = await dispatching.next_session(worker, 0, executing=False)
    assert (session.id, session.epoch, session.payload) == (claim.id, claim.epoch, {"command": ["true"]})
    assert await dispatching.next_session(worker, 5, executing=True) is None
    with pytest.raises(NoResult):
        await dispatching.result(claim.id)
    assert await dispatching.finish(worker, claim.id, claim.epoch, Result(3, "boom\x00")) is True
    released = await mooring.desk.get(claim.id)
    assert released.state is ClaimState.RELEASED and "exit code 3" in released.reason
    evidence = (await dispatching.result(claim.id)).entry.evidence
    assert (evidence["exitCode"], evidence["output"]) == (3, "boom\ufffd")
    pod = await world.client.get(PODS, worker.name, NAMESPACE)
    assert names.OWNER not in pod.metadata.labels


@plays_in(harbour)
async def test_a_report_may_be_repeated_and_the_first_one_stays(world):
    mooring, worker = await polling_worker(world)
    claim = await begin_session(mooring, worker, Wish("acme"))
    await mooring.dispatching.finish(worker, claim.id, claim.epoch, Result(0, "first"))
    await mooring.dispatching.finish(worker, claim.id, claim.epoch, Result(1, "second"))
    record = await mooring.dispatching.result(claim.id)
    assert record.entry.evidence["output"] == "first" and record.entry.evidence["exitCode"] == 0


@plays_in(harbour)
async def test_a_worker_that_waits_is_woken_by_a_claim_at_another_replica(world):
    mooring = await poll_pool(world)
    other = world.start("b").mooring
    await other.fleet.wait_synced()
    await world.clock.sleep(6)
    worker = await only_worker(world, mooring)
    polling = asyncio.create_task(mooring.dispatching.next_session(worker, 30, executing=False))
    await world.clock.sleep(7)
    asked_at = world.clock.monotonic()
    claim = await other.desk.claim(POOL, Wish("acme", wait=5))
    session = await polling
    assert session.id == claim.id and world.clock.monotonic() - asked_at < 0.5


@plays_in(harbour)
async def test_nothing_within_the_wait_is_none_and_the_wait_is_bounded(world):
    mooring, worker = await polling_worker(world)
    started = world.clock.monotonic()
    assert await mooring.dispatching.next_session(worker, 3600, executing=False) is None
    assert world.clock.monotonic() - started == pytest.approx(30, abs=0.1)


@plays_in(harbour)
async def test_a_worker_that_polls_again_gets_its_session_on_the_new_poll_only(world):
    mooring, worker = await polling_worker(world)
    given_up = asyncio.create_task(mooring.dispatching.next_session(worker, 30, executing=False))
    await world.clock.sleep(1)
    current = asyncio.create_task(mooring.dispatching.next_session(worker, 30, executing=False))
    await world.clock.sleep(1)
    assert given_up.done() and given_up.result() is None
    claim = await mooring.desk.claim(POOL, Wish("acme"))
    assert (await current).id == claim.id


@pytest.mark.parametrize("seed", range(8))
def test_of_many_polls_at_once_exactly_one_gets_the_session(seed):
    async def scenario():
        async with harbour(seed) as world:
            mooring = await poll_pool(world)
            replicas = [mooring, world.start("b").mooring]
            await replicas[1].fleet.wait_synced()
            worker = await only_worker(world, mooring)
            polls = [
                asyncio.create_task(replicas[n % 2].dispatching.next_session(worker, 10, executing=False))
                for n in range(6)
            ]
            await mooring.desk.claim(POOL, Wish("acme"))
            got = [session for session in await asyncio.gather(*polls) if session is not None]
            assert len(got) == 1

    play(scenario, seed)


@plays_in(harbour)
async def test_a_replica_that_stops_sends_waiting_workers_away_without_a_session(world):
    mooring, worker = await polling_worker(world)
    polling = asyncio.create_task(mooring.dispatching.next_session(worker, 30, executing=False))
    await world.clock.sleep(1)
    mooring.dispatching.close()
    with pytest.raises(Unavailable):
        await polling
    claim = await mooring.desk.claim(POOL, Wish("acme"))
    with pytest.raises(Unavailable):
        await mooring.dispatching.next_session(worker, 30, executing=False)
    assert (await mooring.desk.get(claim.id)).delivered_epoch is None


@plays_in(harbour)
async def test_tokens_that_are_not_a_workers_are_refused(world):
    mooring = await poll_pool(world)
    identity = mooring.identity
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


@plays_in(harbour)
async def test_a_good_token_is_reviewed_once_in_a_while_and_not_after_its_pod_is_gone(world):
    mooring = await poll_pool(world)
    process = world.replicas[0].process

    def reviews():
        return sum(call.path.endswith("/tokenreviews") for call in process.calls)

    pod = (await world.pods())[0].metadata.name
    token = await token_of(world, pod)
    for _ in range(5):
        await mooring.identity.identify(token)
    assert reviews() == 1
    await world.clock.sleep(31)
    await mooring.identity.identify(token)
    assert reviews() == 2
    await world.client.delete(PODS, pod, NAMESPACE, grace_seconds=0)
    await world.clock.sleep(31)
    with pytest.raises(Unauthorized):
        await mooring.identity.identify(token)


@plays_in(harbour)
async def test_a_review_that_fails_is_neither_yes_nor_no(world):
    world.words = PolledActivity(world.clock)
    rule = Rule(Refuse(), methods=frozenset({"POST"}), path=r"/tokenreviews$", nth=frozenset({1}))
    mooring = world.start(rules=[rule]).mooring
    await world.pool(warm=1, max=1, dispatch="Poll")
    await world.until_idle(1)
    token = await token_of(world, (await world.pods())[0].metadata.name)
    with pytest.raises(KubeError):
        await mooring.identity.identify(token)
    await mooring.identity.identify(token)


@plays_in(harbour, nodes=1)
async def test_a_draining_worker_is_told_to_exit_at_once_even_while_it_waits(world):
    mooring, worker = await polling_worker(world)
    polling = asyncio.create_task(mooring.dispatching.next_session(worker, 30, executing=False))
    await world.clock.sleep(1)
    await world.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    cordoned_at = world.clock.monotonic()
    with pytest.raises(WorkerDraining, match="cordoned"):
        await polling
    assert world.clock.monotonic() - cordoned_at < 1


@plays_in(harbour, nodes=1)
async def test_a_session_that_is_due_is_delivered_although_the_worker_drains(world):
    mooring, worker = await polling_worker(world)
    claim = await mooring.desk.claim(POOL, Wish("acme"))
    await world.client.merge_patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    await world.clock.sleep(1)
    assert (await mooring.dispatching.next_session(worker, 0, executing=False)).id == claim.id
    with pytest.raises(WorkerDraining):
        await mooring.dispatching.next_session(worker, 0, executing=False)


@plays_in(harbour)
async def test_a_worker_reports_only_its_own_sessions_under_their_present_epoch(world):
    mooring = await poll_pool(world, warm=2, max=2)
    claim = await mooring.desk.claim(POOL, Wish("acme"))
    pods = {pod.metadata.uid: pod.metadata.name for pod in await world.pods()}
    mine = await worker_of(world, mooring, pods.pop(claim.pod_uid))
    other = await worker_of(world, mooring, pods.popitem()[1])
    with pytest.raises(Forbidden):
        await mooring.dispatching.heartbeat(other, claim.id, claim.epoch)
    with pytest.raises(Forbidden):
        await mooring.dispatching.finish(other, claim.id, claim.epoch, Result(0, ""))
    with pytest.raises(StaleEpoch):
        await mooring.dispatching.heartbeat(mine, claim.id, claim.epoch - 1)
    with pytest.raises(NotFound):
        await mooring.dispatching.heartbeat(mine, "no-such-claim", 1)
    before = (await mooring.desk.get(claim.id)).heartbeat_at
    await world.clock.sleep(2)
    assert (await mooring.dispatching.heartbeat(mine, claim.id, claim.epoch)).heartbeat_at > before
    await mooring.desk.release(claim.id, claim.epoch)
    with pytest.raises(Conflict):
        await mooring.dispatching.heartbeat(mine, claim.id, claim.epoch)


@plays_in(harbour)
async def test_the_report_of_a_session_whose_claim_is_over_leaves_no_result(world):
    mooring, worker = await polling_worker(world)
    claim = await begin_session(mooring, worker, Wish("acme", ttl_seconds=5))
    await world.clock.sleep(30)
    assert (await mooring.desk.get(claim.id)).state is ClaimState.EXPIRED
    with pytest.raises(Conflict):
        await mooring.dispatching.finish(worker, claim.id, claim.epoch, Result(0, "too late"))
    with pytest.raises(NoResult):
        await mooring.dispatching.result(claim.id)


@plays_in(harbour)
async def test_a_worker_that_is_not_reused_is_told_to_exit_and_deleted(world):
    mooring, worker = await polling_worker(world, reuse="Never", protection={"graceSeconds": 5})
    claim = await begin_session(mooring, worker, Wish("acme"))
    assert await mooring.dispatching.finish(worker, claim.id, claim.epoch, Result(0, "")) is False
    await world.clock.sleep(0.1)
    with pytest.raises(WorkerDraining):
        await mooring.dispatching.next_session(worker, 0, executing=False)
    await world.until_idle(1)
    assert worker.uid not in {pod.metadata.uid for pod in await world.pods()}


@plays_in(harbour)
async def test_what_workers_say_is_evidence_for_a_minute_and_reaches_every_replica(world):
    mooring = await poll_pool(world)
    mine = world.words
    leader = world.words = PolledActivity(world.clock)
    other = world.start("b").mooring
    await other.fleet.wait_synced()
    worker = await only_worker(world, mooring)
    assert mine.executing(worker) is None
    await mooring.dispatching.next_session(worker, 0, executing=False)
    assert mine.executing(worker) is False and leader.executing(worker) is None
    claim = await begin_session(mooring, worker, Wish("acme"))
    assert mine.executing(worker) is True
    await world.clock.sleep(61)
    assert mine.executing(worker) is None
    await mooring.dispatching.heartbeat(worker, claim.id, claim.epoch)
    assert mine.executing(worker) is True
    stamped = await only_worker(world, mooring)
    assert stamped.stamp is not None
    await mooring.dispatching.next_session(stamped, 0, executing=False)
    await world.clock.sleep(0.1)
    assert mine.executing(worker) is False and leader.executing(worker) is False


@pytest.mark.parametrize("reuse", ["Always", "Never"])
@plays_in(harbour)
async def test_a_session_that_its_restarted_worker_forgot_is_started_over_when_it_may_be(world, reuse):
    mooring, worker = await polling_worker(world, reuse=reuse, protection={"graceSeconds": 1})
    claim = await begin_session(mooring, worker, Wish("acme", retryable=True, payload={"n": 1}))
    await world.clock.sleep(20)
    await mooring.dispatching.heartbeat(worker, claim.id, claim.epoch)
    started = world.clock.monotonic()
    session = None
    while session is None:
        try:
            session = await mooring.dispatching.next_session(worker, 20, executing=False)
        except WorkerDraining:
            await world.clock.sleep(4)
            worker = await only_worker(world, mooring)
    assert 44 <= world.clock.monotonic() - started <= 50
    assert session.id == claim.id and session.epoch > claim.epoch and session.payload == {"n": 1}
    assert (session.pod_uid == claim.pod_uid) == (reuse == "Always")
    with pytest.raises(StaleEpoch):
        await mooring.dispatching.heartbeat(worker, claim.id, claim.epoch)
    await mooring.dispatching.finish(worker, claim.id, session.epoch, Result(0, "second"))
    assert (await mooring.dispatching.result(claim.id)).entry.evidence["output"] == "second"


@plays_in(harbour)
async def test_a_session_that_was_forgotten_and_may_not_be_repeated_is_lost_long_before_its_ttl(world):
    mooring, worker = await polling_worker(world)
    claim = await begin_session(mooring, worker, Wish("acme", ttl_seconds=3600))
    for _ in range(3):
        await mooring.dispatching.next_session(worker, 20, executing=False)
    lost = await mooring.desk.get(claim.id)
    assert (lost.state, lost.cause) == (ClaimState.LOST, EndCause.FORGOTTEN)
    assert names.OWNER not in (await world.client.get(PODS, worker.name, NAMESPACE)).metadata.labels


@plays_in(harbour)
async def test_a_session_that_is_kept_alive_or_worked_on_is_never_taken_for_forgotten(world):
    mooring, worker = await polling_worker(world)
    claim = await begin_session(mooring, worker, Wish("acme", ttl_seconds=3600, retryable=True))
    for _ in range(6):
        await mooring.dispatching.next_session(worker, 20, executing=True)
    for _ in range(12):
        await mooring.desk.heartbeat(claim.id, claim.epoch)
        await mooring.dispatching.next_session(worker, 20, executing=False)
    held = await mooring.desk.get(claim.id)
    assert held.state is ClaimState.RUNNING and held.epoch == claim.epoch


@plays_in(harbour)
async def test_with_several_slots_only_the_forgotten_session_is_lost(world):
    mooring, worker = await polling_worker(world, slots=2)
    forgotten = await begin_session(mooring, worker, Wish("acme", ttl_seconds=3600))
    kept = await mooring.desk.claim(POOL, Wish("globex", ttl_seconds=3600))
    for _ in range(4):
        await mooring.desk.heartbeat(kept.id, kept.epoch)
        await mooring.dispatching.next_session(worker, 20, executing=False)
    assert (await mooring.desk.get(forgotten.id)).state is ClaimState.LOST
    assert (await mooring.desk.get(kept.id)).state is ClaimState.RUNNING
    pod = await world.client.get(PODS, worker.name, NAMESPACE)
    assert pod.metadata.annotations[names.CLAIM] == kept.id
