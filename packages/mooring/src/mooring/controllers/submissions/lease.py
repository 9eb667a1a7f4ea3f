"""One lease a namespace: submissions are admitted one after another, by any replica.

A holder is unique to one admission and releases only its own lease. A lease that was not renewed for its whole
duration, as measured here by a clock that only rises, is taken over.
"""

import contextlib
from collections.abc import AsyncIterator

import structlog

from hawser.errors import AlreadyExists, KubeError, ObjectConflict, ObjectNotFound
from hawser.resources import LEASES
from hawser.views import format_micro_time
from hawser.views.coordination import Lease
from mooring.engine.context import Context
from mooring.engine.creator import Creator, NameTaken

log = structlog.get_logger()

LEASE = "mooring-submit"
LEASE_SECONDS = 15


class NamespaceLease:
    """Hands out the right to admit."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._clock = context.clock
        self._entropy = context.entropy
        self._creator = Creator(context.client, context.clock, context.entropy, attempts=1)
        self._replica_id = context.replica_id
        self._held_here: set[str] = set()
        self._seen: dict[str, tuple[str, float]] = {}  # namespace -> the lease's version, and since when

    @contextlib.asynccontextmanager
    async def hold(self, namespace: str) -> AsyncIterator[bool]:
        """Yields True while this replica has the lease, and False at once when another replica has it."""
        if namespace in self._held_here:
            yield False
            return
        self._held_here.add(namespace)
        try:
            holder = f"{self._replica_id}/{self._entropy.uuid()}"
            if not await self._acquire(namespace, holder):
                yield False
                return
            try:
                yield True
            finally:
                await self._release(namespace, holder)
        finally:
            self._held_here.discard(namespace)

    async def _acquire(self, namespace: str, holder: str) -> bool:
        try:
            lease = await self._client.get(LEASES, LEASE, namespace)
        except ObjectNotFound:
            return await self._create(namespace, holder)
        if lease.spec.holder_identity and not self._is_expired(namespace, lease):
            return False
        patch = {
            "metadata": {"resourceVersion": lease.metadata.resource_version},
            "spec": {**self._spec(holder), "leaseTransitions": lease.spec.lease_transitions + 1},
        }
        try:
            await self._client.merge_patch(LEASES, LEASE, patch, namespace)
        except (ObjectConflict, ObjectNotFound):
            return False
        return True

    async def _create(self, namespace: str, holder: str) -> bool:
        """The first lease of a namespace. Later ones are taken over by a patch, as nobody deletes it."""
        body = {"metadata": {"name": LEASE, "namespace": namespace}, "spec": self._spec(holder)}
        try:
            await self._creator.create(LEASES, body, namespace, lambda found: found.spec.holder_identity == holder)
        except (NameTaken, AlreadyExists):
            return False
        return True

    def _spec(self, holder: str) -> dict[str, object]:
        now = format_micro_time(self._clock.now())
        return {
            "holderIdentity": holder,
            "leaseDurationSeconds": LEASE_SECONDS,
            "acquireTime": now,
            "renewTime": now,
        }

    def _is_expired(self, namespace: str, lease: Lease) -> bool:
        """Unchanged for its whole duration since we first saw it so: clocks of other machines do not matter."""
        version, now = lease.metadata.resource_version, self._clock.monotonic()
        seen, since = self._seen.get(namespace, ("", now))
        if seen != version:
            self._seen[namespace] = (version, now)
            return False
        return now - since > (lease.spec.lease_duration_seconds or LEASE_SECONDS)

    async def _release(self, namespace: str, holder: str) -> None:
        operations = [
            {"op": "test", "path": "/spec/holderIdentity", "value": holder},
            {"op": "remove", "path": "/spec/holderIdentity"},
        ]
        try:
            await self._client.json_patch(LEASES, LEASE, operations, namespace)
        except KubeError as error:  # it is not ours any more, or it will expire
            log.info("a lease was not released", namespace=namespace, error=error.message)
