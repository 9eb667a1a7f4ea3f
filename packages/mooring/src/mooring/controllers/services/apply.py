"""Server-side apply of a service's objects: only ever our own ones, never by force.

A field that another manager took is theirs: a person or an autoscaler that scales the Deployment keeps `replicas`,
and everything else is applied without it.
"""

from typing import Any

from hawser.client import KubeClient
from hawser.errors import KubeError, NotPermitted, ObjectChanged, ObjectConflict, ObjectInvalid, ObjectNotFound
from hawser.resources import BUDGETS, DEPLOYMENTS, SERVICEACCOUNTS, SERVICES, Resource
from hawser.views import Meta
from mooring.controllers.services.manifests import budget_manifest, deployment_manifest, service_manifest
from mooring.engine.audit import DONE, Auditor, Result
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.errors import Conflict
from mooring.model.evidence import clean_line
from mooring.model.service import Service
from mooring.planning.services.diagnosis import REPLICAS_TAKEN, Diagnosis, account_missing
from mooring.planning.services.fixes import kubectl
from mooring.planning.services.plan import Desired

FIELD_MANAGER = "mooring-services"
_REPLICAS = ".spec.replicas"
Body = dict[str, Any]


class _Taken(Conflict):
    """The name belongs to an object that Mooring did not make."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"a {kind} of that name belongs to another owner")
        self.kind = kind


class ServiceApply:
    """Brings the objects of one service to what they are to be."""

    def __init__(self, client: KubeClient, auditor: Auditor) -> None:
        self._client = client
        self._auditor = auditor

    async def apply(self, service: Service, desired: Desired) -> Diagnosis | None:
        """Apply all of them; answers what stands in the way. Outages of the API server are raised, to be retried."""
        if missing := await self._find_missing(service):
            return missing
        try:
            obstacle = await self._apply_deployment(service, deployment_manifest(service, desired))
            await self._apply(service, BUDGETS, budget_manifest(service))
            if service.spec.expose == "None":
                return await self._remove_service(service) or obstacle
            await self._apply(service, SERVICES, service_manifest(service))
        except _Taken as taken:
            return _explain_taken(service, taken)
        except (ObjectConflict, ObjectInvalid, NotPermitted) as refusal:
            if isinstance(refusal, ObjectConflict) and not refusal.causes:
                raise  # it changed since it was read; a field that somebody else owns is named as a cause
            return _explain(service, refusal)
        return obstacle

    async def _find_missing(self, service: Service) -> Diagnosis | None:
        account = service.spec.pod_template.service_account_name
        if account and await self._is_missing(SERVICEACCOUNTS, account, service.namespace):
            return account_missing(service, account)
        return None

    async def _is_missing(self, resource: Resource[Any], name: str, namespace: str) -> bool:
        try:
            await self._client.get(resource, name, namespace)
        except ObjectNotFound:
            return True
        return False

    async def find_obstacle(self, service: Service) -> Diagnosis | None:
        """What would stand in the way of an apply: an account that is missing, a name that somebody else has."""
        if missing := await self._find_missing(service):
            return missing
        kinds: tuple[Resource[Any], ...] = (DEPLOYMENTS, BUDGETS)
        try:
            for resource in (*kinds, SERVICES) if service.spec.expose != "None" else kinds:
                await self._find(service, resource)
        except _Taken as taken:
            return _explain_taken(service, taken)
        return None

    async def _apply_deployment(self, service: Service, body: Body) -> Diagnosis | None:
        """All of it; or all but the number of replicas, when somebody else sets that."""
        try:
            await self._apply(service, DEPLOYMENTS, body)
        except ObjectConflict as conflict:
            if {cause.field for cause in conflict.causes} != {_REPLICAS}:
                raise
            rest = {name: value for name, value in body["spec"].items() if name != "replicas"}
            await self._apply(service, DEPLOYMENTS, {**body, "spec": rest})
            return _explain_scaled(service, conflict)
        return None

    async def _apply(self, service: Service, resource: Resource[Any], body: Body) -> None:
        found = await self._find(service, resource)
        if found is not None:
            # With its uid an apply changes what is there, and cannot bring back what was deleted meanwhile. With its
            # version it cannot overwrite what another leader has applied since.
            fence = {"uid": found.uid, "resourceVersion": found.resource_version}
            body = {**body, "metadata": {**body["metadata"], **fence}}
        try:
            await self._client.apply(resource, body, service.namespace, field_manager=FIELD_MANAGER)
        except ObjectChanged:
            return  # another one stands there now: the next pass looks again

    async def _find(self, service: Service, resource: Resource[Any]) -> Meta | None:
        """The live object of that name, if it is ours."""
        try:
            found = await self._client.get(resource, service.name, service.namespace)
        except ObjectNotFound:
            return None
        meta: Meta = found.metadata
        if meta.controller is None or meta.controller.uid != service.uid:
            raise _Taken(resource.kind)
        return meta

    async def _remove_service(self, service: Service) -> Diagnosis | None:
        try:
            found = await self._find(service, SERVICES)
        except _Taken:
            return None
        if found is None:
            return None
        version = found.resource_version

        async def remove() -> Result:
            await self._client.delete(
                SERVICES, service.name, service.namespace, uid=found.uid, resource_version=version
            )
            return DONE

        outcome, _ = await self._auditor.carry_out(
            remove,
            actor=f"service/{service.key}",
            action="delete",
            subject=Subject("Service", service.namespace, service.name, found.uid),
            reason="its service is not to be exposed (expose is None)",
            evidence={"service": service.key, "generation": service.generation},
        )
        if outcome is AuditOutcome.FAILED:
            return Diagnosis("ServiceNotRemoved", "its Service could not be deleted", "mooring audit")
        return None


def _explain_taken(service: Service, taken: _Taken) -> Diagnosis:
    reason = f"there is a {taken.kind} {service.name} already, and it does not belong to this service"
    return Diagnosis("NameTaken", reason, kubectl(service.namespace, "delete", taken.kind.lower(), service.name))


def _explain_scaled(service: Service, conflict: ObjectConflict) -> Diagnosis:
    wanted = service.spec.replicas
    message = clean_line(conflict.causes[0].message)
    reason = f"another client sets the replicas of its Deployment, and the spec says {wanted}: {message}"
    fix = kubectl(service.namespace, "scale", "deployment", service.name, f"--replicas={wanted}")
    return Diagnosis(REPLICAS_TAKEN, reason, fix)


def _explain(service: Service, refusal: KubeError) -> Diagnosis:
    message = clean_line(refusal.message)
    match refusal:
        case ObjectConflict():
            fix = kubectl(service.namespace, "get", "deployment", service.name, "-o", "yaml", "--show-managed-fields")
            return Diagnosis("FieldsTaken", f"another client changed its objects: {message}", fix)
        case NotPermitted():
            return Diagnosis("NotPermitted", f"Mooring may not: {message}", "mooring install | kubectl apply -f -")
        case _:
            fix = kubectl(service.namespace, "edit", "managedservice", service.name)
            return Diagnosis("Rejected", f"the API server refuses it: {message}", fix)
