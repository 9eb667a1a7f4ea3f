"""What people ask of a ManagedService: create it, change it, delete it. Each is audited with its actor and reason."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import msgspec

from hawser.client import KubeClient
from hawser.errors import KubeError, ObjectChanged, ObjectConflict, ObjectNotFound
from mooring.controllers.services.apply import ServiceApply
from mooring.controllers.services.snapshot import ServiceSnapshots
from mooring.controllers.services.translation import service_from_view
from mooring.engine.audit import DONE, Result
from mooring.engine.command_errors import explain_refusal
from mooring.engine.context import Context
from mooring.kinds.resources import MANAGEDSERVICES
from mooring.kinds.views import ManagedService
from mooring.model import command_checks
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.errors import Conflict, MooringError, NotFound, Unavailable
from mooring.model.evidence import clean_reason
from mooring.model.service import Service
from mooring.model.service_order import KIND, ServiceOrder, annotations_to_write
from mooring.planning.merge_patch import compute_patch
from mooring.planning.services.change import ServiceChange, plan_change, plan_removal

FIELD_MANAGER = "mooring-api"
_MOST_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Ordered:
    """The service as it is stored, or as it would be, and what changed."""

    service: Service
    change: ServiceChange


@dataclass(frozen=True, slots=True)
class _Asker:
    """Who asks, and why."""

    actor: str
    reason: str


class ServiceCommands:
    """The stored spec becomes exactly the spec of the order: the same order again changes nothing."""

    def __init__(self, context: Context, snapshots: ServiceSnapshots) -> None:
        self._client: KubeClient = context.client
        self._auditor = context.auditor
        self._snapshots = snapshots
        self._apply = ServiceApply(context.client, context.auditor)

    async def preview(self, order: ServiceOrder) -> Ordered:
        """What `apply` would do, by the plan of the controller and a dry run of the API server. Nothing is written."""
        found = await self._find(order.namespace, order.name)
        ordered = await self._foresee(order, found)
        if ordered.change.action != "unchanged":
            with_rules = await self._write(order, found, dry_run=True)
            return replace(ordered, service=service_from_view(with_rules))
        return ordered

    async def apply(self, order: ServiceOrder, *, actor: str, reason: str) -> Ordered:
        """Create the service, or change it. What changed in between is read again, unless the order names a version."""
        asker = _Asker(actor, reason)
        for _ in range(_MOST_ATTEMPTS):
            found = await self._find(order.namespace, order.name)
            ordered = await self._foresee(order, found)
            if ordered.change.action == "unchanged":
                return ordered
            try:
                view = await self._audited(order, found, ordered.change, asker)
            except _Moved:
                continue
            return replace(ordered, service=service_from_view(view))
        raise Unavailable(f"the service {order.key} changes too often to be written", fix="send it again")

    async def preview_removal(self, namespace: str, name: str, uid: str = "") -> Ordered:
        """What `remove` would delete."""
        service = service_from_view(await self._require(namespace, name, uid))
        return Ordered(service, plan_removal(service))

    async def remove(self, namespace: str, name: str, uid: str, *, actor: str, reason: str) -> Ordered:
        """Delete the service; Kubernetes deletes its Deployment, its Service and its budget, which it owns."""
        view = await self._require(namespace, name, uid)
        service = service_from_view(view)

        async def delete() -> Result:
            try:
                await self._client.delete(
                    MANAGEDSERVICES, name, namespace, uid=view.metadata.uid, propagation="Background"
                )
            except ObjectNotFound:
                return DONE
            except KubeError as error:
                raise _explain(error, namespace, name) from error
            return DONE

        await self._carry_out(delete, "delete", service, _Asker(actor, reason), ())
        return Ordered(msgspec.structs.replace(service, terminating=True), plan_removal(service))

    async def _foresee(self, order: ServiceOrder, found: ManagedService | None) -> Ordered:
        before = service_from_view(found) if found is not None else None
        if before is None:
            after = Service(order.namespace, order.name, "", 1, order.spec)
        else:
            after = msgspec.structs.replace(before, spec=order.spec, defects=(), generation=before.generation + 1)
        snapshot = self._snapshots.foresee(after)
        try:
            snapshot = replace(snapshot, obstacle=await self._apply.find_obstacle(after))
        except KubeError as error:
            raise _explain(error, order.namespace, order.name) from error
        same = found is not None and not found.defects and found.spec == order.spec and _has_metadata(found, order)
        return Ordered(before if before is not None and same else after, plan_change(snapshot, before, same))

    async def _audited(
        self, order: ServiceOrder, found: ManagedService | None, change: ServiceChange, asker: _Asker
    ) -> ManagedService:
        written: list[ManagedService] = []

        async def write() -> Result:
            try:
                written.append(await self._write(order, found))
            except _Moved as moved:
                return AuditOutcome.SKIPPED, moved.message
            return DONE

        absent = Service(order.namespace, order.name, "", 0, order.spec)
        subject = service_from_view(found) if found is not None else absent
        await self._carry_out(write, change.action, subject, asker, change.changes)
        if not written:
            raise _Moved(f"the service {order.key} changed")
        return written[0]

    async def _carry_out(
        self,
        act: Callable[[], Awaitable[Result]],
        action: str,
        service: Service,
        asker: _Asker,
        changes: tuple[str, ...],
    ) -> None:
        await self._auditor.carry_out(
            act,
            actor=asker.actor,
            action=action,
            subject=Subject(KIND, service.namespace, service.name, service.uid),
            reason=clean_reason(asker.reason),
            evidence={"changes": list(changes), "generation": service.generation},
        )

    async def _write(
        self, order: ServiceOrder, found: ManagedService | None, *, dry_run: bool = False
    ) -> ManagedService:
        """Create or patch it. `_Moved` if it is another object or version now, and the order does not say which."""
        asked = order.metadata
        labels, annotations = asked.labels, annotations_to_write(asked)
        metadata = {"name": order.name, "namespace": order.namespace, "labels": labels, "annotations": annotations}
        try:
            if found is None:
                if asked.uid or asked.resource_version:
                    raise NotFound(f"there is no service {order.key} with that uid", fix="leave out uid to create it")
                body = {"metadata": metadata, "spec": order.body}
                return await self._client.create(
                    MANAGEDSERVICES, body, order.namespace, dry_run=dry_run, field_manager=FIELD_MANAGER
                )
            _require_version(found, order)
            spec = compute_patch(msgspec.to_builtins(found.spec), order.body)
            version = {"uid": found.metadata.uid, "resourceVersion": found.metadata.resource_version}
            patch = {"metadata": {**version, "labels": labels, "annotations": annotations}, "spec": spec}
            return await self._client.merge_patch(
                MANAGEDSERVICES, order.name, patch, order.namespace, field_manager=FIELD_MANAGER, dry_run=dry_run
            )
        except (ObjectConflict, ObjectChanged, ObjectNotFound) as error:
            if found is None and isinstance(error, ObjectNotFound):  # its namespace
                raise _explain(error, order.namespace, order.name, creates=True) from error
            if asked.resource_version or asked.uid:
                raise Conflict(f"the service {order.key} has changed since it was read", fix="read it again") from error
            raise _Moved(f"the service {order.key} changed") from error
        except KubeError as error:
            raise _explain(error, order.namespace, order.name) from error

    async def _find(self, namespace: str, name: str) -> ManagedService | None:
        try:
            found = await self._client.get(MANAGEDSERVICES, name, namespace)
        except ObjectNotFound:
            return None
        except KubeError as error:
            raise _explain(error, namespace, name) from error
        if found.terminating:
            raise Conflict(f"the service {namespace}/{name} is being deleted", fix="send it again in a moment")
        return found

    async def _require(self, namespace: str, name: str, uid: str) -> ManagedService:
        problems = [*command_checks.check_name("namespace", namespace), *command_checks.check_name("name", name)]
        found = await self._find(namespace, name) if not problems else None
        if found is None:
            raise NotFound(f"there is no service {namespace}/{name}", fix="mooring services")
        if uid and found.metadata.uid != uid:
            raise Conflict(f"the service {namespace}/{name} is another one now", fix="read it again")
        return found


class _Moved(Conflict):
    """The object is another version now: read it again."""


def _has_metadata(found: ManagedService, order: ServiceOrder) -> bool:
    _require_version(found, order)
    meta = found.metadata
    wanted = annotations_to_write(order.metadata)
    return order.metadata.labels.items() <= meta.labels.items() and wanted.items() <= meta.annotations.items()


def _require_version(found: ManagedService, order: ServiceOrder) -> None:
    asked, meta = order.metadata, found.metadata
    if asked.uid not in ("", meta.uid) or asked.resource_version not in ("", meta.resource_version):
        raise Conflict(
            f"the service {order.key} is another one now: its uid or resourceVersion differs from the order",
            fix="read it again, or leave out uid and resourceVersion",
        )


def _explain(error: KubeError, namespace: str, name: str, *, creates: bool = False) -> MooringError:
    return explain_refusal(error, "service", namespace, name, creates=creates)
