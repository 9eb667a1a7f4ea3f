"""Leaked stamps: what a control plane that was killed in mid-dispatch leaves on its workers."""

from hawser.resources import PODS
from hawser.views import format_time
from mooring.model import names
from mooring.model.claim import EndCause, NewClaim, WorkerSlot
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour


async def leak(world: Harbour, count: int, *, ran: bool = False) -> None:
    """Stamps that no live claim stands behind; with `ran`, of claims that were running when they ended."""
    ledger = world.ledger
    unstamped = [pod for pod in await world.pods() if names.OWNER not in pod.metadata.labels]
    for pod in unstamped[:count]:
        now, meta = world.clock.now(), pod.metadata
        new = NewClaim(id=world.entropy.uuid(), namespace=NAMESPACE, pool="linux", owner="ghost", ttl_seconds=60)
        admission = await ledger.claims.insert_claimed(new, WorkerSlot(meta.name, meta.uid), now=now)
        claim = admission.require()
        annotations = {names.CLAIM: claim.id, names.EPOCH: str(claim.epoch), names.STAMPED_AT: format_time(now)}
        patch = {"metadata": {"labels": {names.OWNER: "ghost", names.BUSY: "true"}, "annotations": annotations}}
        await world.client.merge_patch(PODS, meta.name, patch, NAMESPACE)
        if ran:
            await ledger.claims.mark_running(claim.id, claim.epoch, now=now)
        cause = EndCause.EXPIRED if ran else EndCause.NOT_STARTED
        await ledger.claims.end(claim.id, claim.epoch, cause, now=now, reason="the dispatcher died")


async def stamped(world: Harbour) -> set[str]:
    """Names of the workers that carry a stamp."""
    return {pod.metadata.name for pod in await world.pods() if names.OWNER in pod.metadata.labels}
