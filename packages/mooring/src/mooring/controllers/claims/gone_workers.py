"""Requests that are repeated: no answer sends a client to a worker that is known to be gone."""

from hawser.resources import PODS
from mooring.controllers.claims.release import ClaimRelease
from mooring.controllers.fleet import Fleet
from mooring.engine.absence import live_uid
from mooring.engine.context import Context
from mooring.model.claim import Claim, ClaimState, EndCause
from mooring.model.errors import Conflict, Unavailable


class GoneWorkers:
    """Looks for the worker of a claim that ran before its client asked. Two proofs: the cache, and a live look."""

    def __init__(self, context: Context, fleet: Fleet, release: ClaimRelease) -> None:
        self._client = context.client
        self._fleet = fleet
        self._release = release

    async def leave(self, claim: Claim) -> None:
        """Have a retryable claim wait for another worker; raise `Conflict` for another one, which the invariants end.

        `Unavailable` while only one of the proofs is there. A worker that the cache shows is believed in if the API
        server cannot be asked.
        """
        if claim.state is not ClaimState.RUNNING or claim.pod_name is None or claim.pod_uid is None:
            return
        found = await live_uid(self._client, PODS, claim.pod_name, claim.namespace)
        shown = not self._fleet.synced or self._fleet.worker(f"{claim.namespace}/{claim.pool}", claim.pod_uid)
        if found == claim.pod_uid or (found is None and shown):
            return
        if found is None or shown:
            raise Unavailable(
                f"the worker {claim.pod_name} of claim {claim.id} may be gone", fix="ask again in a moment"
            )
        if not claim.retryable:
            raise Conflict(f"claim {claim.id} is lost: its worker {claim.pod_name} is gone", detail={"claim": claim.id})
        await self._release.requeue(claim, EndCause.WORKER_LOST, f"its worker {claim.pod_name} is gone")
