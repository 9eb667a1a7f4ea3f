"""What people ask of a WorkerPool: create it, change it, scale it. Each is audited with its actor and reason."""

import msgspec

from hawser.errors import KubeError, ObjectNotFound
from mooring.engine.audit import DONE, Result
from mooring.engine.command_errors import explain_refusal
from mooring.engine.context import Context
from mooring.kinds.resources import WORKERPOOLS
from mooring.kinds.views import WorkerPool
from mooring.model.audit import Subject
from mooring.model.errors import Conflict, InvalidInput, NotFound, Unavailable
from mooring.model.evidence import clean_reason
from mooring.model.pool_order import KIND, PoolOrder
from mooring.planning.merge_patch import compute_patch
from mooring.planning.pools.change import PoolChange, plan_pool_change

FIELD_MANAGER = "mooring-api"
_MOST_ATTEMPTS = 5


class PoolCommands:
    """The stored spec becomes exactly the spec of the order: the same order again changes nothing."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._auditor = context.auditor

    async def preview(self, order: PoolOrder) -> PoolChange:
        """What `apply` would do, with a dry run of the API server. Nothing is written."""
        found = await self._find(order.namespace, order.name)
        change = _foresee(order, found)
        if change.action != "unchanged":
            await self._write(order, found, dry_run=True)
        return change

    async def apply(self, order: PoolOrder, *, actor: str, reason: str) -> PoolChange:
        """Create the pool, or change it. `Conflict` if it has changed since it was read."""
        found = await self._find(order.namespace, order.name)
        change = _foresee(order, found)
        if change.action == "unchanged":
            return change

        async def write() -> Result:
            await self._write_over_status(order, found)
            return DONE

        subject = Subject(KIND, order.namespace, order.name, found.metadata.uid if found is not None else "")
        await self._auditor.carry_out(
            write,
            actor=actor,
            action=change.action,
            subject=subject,
            reason=clean_reason(reason),
            evidence={"changes": list(change.changes)},
        )
        return change

    async def scale(self, namespace: str, name: str, warm: int, *, actor: str, reason: str) -> PoolChange:
        """Change `spec.warm` alone."""
        found = await self._find(namespace, name)
        if found is None:
            raise NotFound(f"there is no pool {namespace}/{name}", fix="mooring pools")
        if not 0 <= warm <= found.spec.max:
            raise InvalidInput("warm", warm, f"between 0 and spec.max ({found.spec.max})")
        body = msgspec.to_builtins(found.spec) | {"warm": warm}
        order = PoolOrder(namespace, name, msgspec.structs.replace(found.spec, warm=warm), body, found.metadata.uid)
        return await self.apply(order, actor=actor, reason=reason)

    async def _find(self, namespace: str, name: str) -> WorkerPool | None:
        try:
            found = await self._client.get(WORKERPOOLS, name, namespace)
        except ObjectNotFound:
            return None
        except KubeError as error:
            raise explain_refusal(error, "pool", namespace, name) from error
        if found.terminating:
            raise Conflict(f"the pool {namespace}/{name} is being deleted", fix="send it again in a moment")
        return found

    async def _write_over_status(self, order: PoolOrder, found: WorkerPool | None) -> None:
        """Write; again if only the status of the pool changed meanwhile, which happens all the time."""
        for _ in range(_MOST_ATTEMPTS):
            try:
                return await self._write(order, found)
            except Conflict:
                again = await self._find(order.namespace, order.name)
                if found is None or again is None or _version(again) != _version(found):
                    raise
                found = again
        raise Unavailable(f"the pool {order.key} changes too often to be written", fix="send it again")

    async def _write(self, order: PoolOrder, found: WorkerPool | None, *, dry_run: bool = False) -> None:
        try:
            if found is None:
                metadata = {"name": order.name, "namespace": order.namespace}
                body = {"metadata": metadata, "spec": order.body}
                await self._client.create(
                    WORKERPOOLS, body, order.namespace, dry_run=dry_run, field_manager=FIELD_MANAGER
                )
                return
            version = {"uid": found.metadata.uid, "resourceVersion": found.metadata.resource_version}
            patch = {"metadata": version, "spec": compute_patch(msgspec.to_builtins(found.spec), order.body)}
            await self._client.merge_patch(
                WORKERPOOLS, order.name, patch, order.namespace, field_manager=FIELD_MANAGER, dry_run=dry_run
            )
        except KubeError as error:
            creates = found is None
            raise explain_refusal(error, "pool", order.namespace, order.name, creates=creates) from error


def _version(pool: WorkerPool) -> tuple[str, int]:
    return pool.metadata.uid, pool.metadata.generation


def _foresee(order: PoolOrder, found: WorkerPool | None) -> PoolChange:
    if order.uid not in ("", found.metadata.uid if found is not None else ""):
        raise Conflict(f"the pool {order.key} is another one now", fix="read it again, or leave out uid")
    return plan_pool_change(order.spec, found.spec if found is not None else None)
