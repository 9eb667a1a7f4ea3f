"""Each kill switch stops every act of its invariant: all of them are provoked, and nothing is written.

Each play is run twice: paused, and not paused. The second half shows that the play provokes the act at all.
"""

from collections.abc import Awaitable, Callable

import pytest

from hawser.resources import PODS
from mooring.model import names
from mooring.model.claim import ClaimState, EndCause, NewClaim, WorkerSlot
from mooring.model.claim_request import ClaimRequest
from mooring.model.protection import PROTECTION_ANNOTATIONS, PROTECTION_LABELS
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour
from packages.mooring.tests.scenarios.leaks import leak, stamped
from packages.testing.lanes import fast_first

POOL = f"{NAMESPACE}/linux"
Provoked = Callable[[], Awaitable[bool]]
Play = Callable[[Harbour, Replica], Awaitable[Provoked]]
HELD = ClaimRequest("acme", ttl_seconds=80_000)


def written(replica: Replica, method: str, part: str) -> Provoked:
    """Whether such a request was sent from now on."""
    since = len(replica.process.calls)

    async def holds() -> bool:
        calls = replica.process.calls[since:]
        return any(call.method == method and part in call.path for call in calls)

    return holds


async def leaked(world: Harbour, _: Replica) -> Provoked:
    await leak(world, 1)
    world.words.otherwise = False  # type: ignore[attr-defined]

    async def healed() -> bool:
        return not await stamped(world)

    return healed


async def misnamed(world: Harbour, replica: Replica) -> Provoked:
    """Two sessions on one worker; that which the stamp names ends behind the back of the control plane."""
    claims = [await replica.mooring.claims.desk.claim(POOL, HELD) for _ in range(4)]
    pods = {pod.metadata.uid: pod for pod in await world.pods()}
    named = next(c for c in claims if pods[c.pod_uid].metadata.annotations[names.CLAIM] == c.id)
    acts = written(replica, "PATCH", f"/pods/{named.pod_name}")
    await world.ledger.claims.end(named.id, named.epoch, EndCause.RELEASED, now=world.clock.now(), reason="a test")
    return acts


async def unprotected(world: Harbour, replica: Replica) -> Provoked:
    claim = await replica.mooring.claims.desk.claim(POOL, HELD)
    await world.clock.sleep(5)
    acts = written(replica, "PATCH", f"/pods/{claim.pod_name}")
    marks = {"labels": dict.fromkeys(PROTECTION_LABELS), "annotations": dict.fromkeys(PROTECTION_ANNOTATIONS)}
    await world.client.merge_patch(PODS, claim.pod_name, {"metadata": marks}, NAMESPACE)
    return acts


async def protected_for_nobody(world: Harbour, replica: Replica) -> Provoked:
    idle = (await world.pods())[0].metadata.name
    acts = written(replica, "PATCH", f"/pods/{idle}")
    marks = {"labels": PROTECTION_LABELS, "annotations": PROTECTION_ANNOTATIONS}
    await world.client.merge_patch(PODS, idle, {"metadata": marks}, NAMESPACE)
    return acts


async def past_the_ceiling(world: Harbour, replica: Replica) -> Provoked:
    await world.change({"protection": {"ceilingSeconds": 60}})
    await world.clock.sleep(2)
    claim = await replica.mooring.claims.desk.claim(POOL, HELD)
    await world.clock.sleep(5)
    return written(replica, "PATCH", f"/pods/{claim.pod_name}")


async def surplus(world: Harbour, replica: Replica) -> Provoked:
    acts = written(replica, "DELETE", "/pods/")
    await world.change({"warm": 1, "idleSeconds": 5})
    return acts


async def silent_holder(world: Harbour, replica: Replica) -> Provoked:
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=30))
    return ended(world, claim.id, ClaimState.EXPIRED)


async def lost_worker(world: Harbour, replica: Replica) -> Provoked:
    claim = await replica.mooring.claims.desk.claim(POOL, HELD)
    await world.client.delete(PODS, claim.pod_name, NAMESPACE, grace_seconds=0)
    return ended(world, claim.id, ClaimState.LOST)


async def stuck(world: Harbour, replica: Replica) -> Provoked:
    """Claimed, and never running: the control plane that claimed it is gone."""
    meta = (await world.pods())[0].metadata
    new = NewClaim(id=world.entropy.uuid(), namespace=NAMESPACE, pool="linux", owner="acme", ttl_seconds=3600)
    slot = WorkerSlot(meta.name, meta.uid)
    claim = (await world.ledger.claims.insert_claimed(new, slot, now=world.clock.now())).require()
    return ended(world, claim.id, ClaimState.FAILED)


async def orphaned_account(world: Harbour, replica: Replica) -> Provoked:
    pod = (await world.pods())[0].metadata
    acts = written(replica, "DELETE", f"/serviceaccounts/{pod.name}")
    await world.change({"warm": 0, "max": 0})
    await world.client.delete(PODS, pod.name, NAMESPACE, grace_seconds=0)
    return acts


def ended(world: Harbour, claim_id: str, state: ClaimState) -> Provoked:
    async def holds() -> bool:
        claim = await world.ledger.claims.get(claim_id)
        return claim is not None and claim.state is state

    return holds


PLAYS: list[tuple[str, Play]] = [
    ("stamped-has-claim", leaked),
    ("stamped-has-claim", misnamed),
    ("busy-is-protected", unprotected),
    ("busy-is-protected", protected_for_nobody),
    ("protection-bounded", past_the_ceiling),
    ("warm-floor", surplus),
    ("claim-alive", silent_holder),
    ("claim-has-pod", lost_worker),
    ("claim-progresses", stuck),
    ("account-has-pod", orphaned_account),
]


@pytest.mark.parametrize("paused", fast_first([False, True], 1), ids=["on", "paused"])
@pytest.mark.parametrize(("invariant", "play"), PLAYS, ids=[f"{one}-{play.__name__}" for one, play in PLAYS])
async def test_a_paused_invariant_writes_nothing_and_one_that_is_on_acts(invariant: str, play: Play, paused: bool):
    async with harbour() as world:
        if paused:
            await world.pause([invariant])
        replica = world.start()
        slots = 2 if play is misnamed else 1
        account = "PerWorker" if play is orphaned_account else "default"
        grace = {"graceSeconds": 1}
        await world.pool(warm=2, max=2, slots=slots, serviceAccount=account, protection=grace, reuse="Always")
        await world.until_idle(2)
        await world.clock.sleep(5)
        acts = await play(world, replica)
        if paused:
            await world.clock.sleep(800)
            assert not await acts()
        else:
            await world.until(acts, 800, f"{invariant} acts")
