"""A claim in flight while its node is drained: the worker is handed out protected, or it is not handed out at all.

Every round lets a claim and a drain run against each other in an order that a seed decides: the row, the stamp and its
answer on one side, the taint, the evictions and what the watches tell of them on the other.

`MOORING_INTERLEAVINGS` says how many rounds (default 100; 10000 is the promise).
"""

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from drydock import Drain, DrainPolicy
from drydock.faults import Delay, LagEvents, Rule
from hawser.errors import ObjectNotFound
from hawser.resources import NODES, PODS
from hawser.views import Pod
from mooring.controllers.claims.refusals import NoIdleWorker
from mooring.model import names
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour, play

POOL = f"{NAMESPACE}/linux"
ROUNDS = int(os.environ.get("MOORING_INTERLEAVINGS", "100"))
ROUNDS_A_WORLD = 50
LONGEST_SECONDS = 0.05
PlayRound = Callable[[Harbour, Replica], Awaitable[str]]


async def claim_one(world: Harbour, control: Replica) -> Claim | None:
    await world.clock.sleep(world.entropy.between(0, LONGEST_SECONDS))
    try:
        return await control.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    except NoIdleWorker:
        return None


async def drain_for_a_while(world: Harbour, node: str) -> None:
    """As Karpenter or as kubectl would, by chance. It goes on when the claim is long there."""
    await world.clock.sleep(world.entropy.between(0, LONGEST_SECONDS))
    policy = DrainPolicy(
        settle_seconds=world.entropy.between(0, LONGEST_SECONDS / 2),
        deadline_seconds=None,
        retry_seconds=0.02,
        waits_for_protected=world.entropy.below(2) == 0,
    )
    try:
        async with asyncio.timeout(0.1):
            await Drain(world.client, world.clock, node, policy).run()
    except TimeoutError:
        return


async def play_round(world: Harbour, control: Replica) -> str:
    """One interleaving; answers what became of it."""
    busiest = Counter(pod.spec.node_name for pod in world.watch.cache.values() if pod.ready and not pod.terminating)
    node = busiest.most_common(1)[0][0]
    claim, _ = await asyncio.gather(claim_one(world, control), drain_for_a_while(world, node))
    if claim is None:
        assert not (await world.ledger.claims.live()).claims, "a claim that was refused holds a worker"
        outcome = "refused"
    else:
        pod = await _read(world, claim)
        assert claim.state is ClaimState.RUNNING
        assert pod is not None and not pod.terminating, "a worker was handed out that is on its way out"
        assert _is_protected(pod), "a worker was handed out unprotected"
        outcome = "protected there" if pod.spec.node_name == node else "elsewhere"
        outcome = "moved" if claim.previous_epoch is not None else outcome
        await control.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.client.merge_patch(NODES, node, {"spec": {"taints": None}})
    await _settle(world, control)
    return outcome


async def play_shared_round(world: Harbour, control: Replica) -> str:
    """A session runs already where the claim and the drain meet; answers what became of the claim."""
    desk = control.mooring.claims.desk
    sessions = [await desk.claim(POOL, ClaimRequest("globex", ttl_seconds=3600)) for _ in range(2)]
    await world.clock.sleep(3)
    first = await _read(world, sessions[0])
    assert first is not None
    claim, _ = await asyncio.gather(claim_one(world, control), drain_for_a_while(world, first.spec.node_name))
    for session in sessions:
        pod = await _read(world, session)
        assert pod is not None and not pod.terminating, "a session was ended because a neighbour came or went"
        assert _is_protected(pod), "a session lost its protection to a neighbour"
    for held in (*sessions, claim):
        if held is not None:
            await desk.release(held.id, held.epoch)
    await world.client.merge_patch(NODES, first.spec.node_name, {"spec": {"taints": None}})
    await _settle(world, control)
    return "refused" if claim is None else "moved" if claim.previous_epoch is not None else "served"


async def _settle(world: Harbour, control: Replica) -> None:
    async def calm() -> bool:
        idle = [pod for pod in world.watch.cache.values() if pod.ready and not pod.terminating]
        return len(idle) >= 2 and control.mooring.claims.ready.idle(POOL) >= 2

    await world.until(calm, 120, "idle workers for the next round")


async def _read(world: Harbour, claim: Claim) -> Pod | None:
    assert claim.pod_name is not None
    try:
        pod = await world.client.get(PODS, claim.pod_name, NAMESPACE)
    except ObjectNotFound:
        return None
    return pod if pod.metadata.uid == claim.pod_uid else None


def _is_protected(pod: Pod) -> bool:
    meta = pod.metadata
    return meta.labels.get(names.BUSY) == "true" and meta.annotations.get(names.DO_NOT_DISRUPT) == "true"


def _play_world(seed: int, rounds: int, play_one: PlayRound, **spec: object) -> Counter[str]:
    async def scenario() -> Counter[str]:
        async with harbour(seed, nodes=2) as world:
            slow = [
                Rule(Delay(0.0, 0.02), methods=frozenset({"PATCH"}), resource="pods"),
                Rule(LagEvents(0.02), resource="nodes", watch=True),
            ]
            control = world.start(rules=slow)
            await world.pool(warm=2, reuse="Always", protection={"graceSeconds": 1}, **spec)
            await world.until_idle(2)
            await world.clock.sleep(2)
            return Counter([await play_one(world, control) for _ in range(rounds)])

    return play(scenario, seed)


@pytest.mark.slow
def test_a_claim_during_a_drain_is_protected_or_not_handed_out():
    outcomes: Counter[str] = Counter()
    for seed in range(max(1, ROUNDS // ROUNDS_A_WORLD)):
        outcomes += _play_world(seed + 1, min(ROUNDS, ROUNDS_A_WORLD), play_round, max=6)
    assert sum(outcomes.values()) >= ROUNDS
    assert all(outcomes[one] for one in ("protected there", "elsewhere")), outcomes
    assert outcomes["moved"] + outcomes["refused"], outcomes


@pytest.mark.slow
def test_sessions_on_a_shared_worker_survive_a_claim_and_a_drain_that_meet_there():
    outcomes: Counter[str] = Counter()
    for seed in range(max(1, ROUNDS // ROUNDS_A_WORLD)):
        outcomes += _play_world(seed + 1, min(ROUNDS, ROUNDS_A_WORLD), play_shared_round, max=2, slots=4)
    assert sum(outcomes.values()) >= ROUNDS
    assert outcomes["served"] and outcomes["moved"] + outcomes["refused"], outcomes
