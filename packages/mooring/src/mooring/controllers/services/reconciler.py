"""The reconciler of ManagedServices: applies their objects and writes the status."""

from dataclasses import replace

import msgspec
import structlog

from mooring.controllers.services.apply import ServiceApply
from mooring.controllers.services.informer import ServiceInformer
from mooring.controllers.services.metrics import SERVICE_SERVING
from mooring.controllers.services.snapshot import UNREADABLE_SECONDS, ServiceSnapshots
from mooring.engine.context import Context
from mooring.engine.controller import Pass, Reconciler
from mooring.engine.status_writer import StatusWriter
from mooring.kinds.resources import MANAGEDSERVICES
from mooring.model.errors import MooringError
from mooring.model.evidence import clean_line
from mooring.model.service import Service, ServiceStatus
from mooring.planning.services.plan import ServicePlan, ServiceSnapshot, admit_failure, plan_service

log = structlog.get_logger()

ServicePass = Pass[Service, ServiceSnapshot, ServicePlan]


class ServiceReconciler(Reconciler[Service, ServiceSnapshot, ServicePlan]):
    """Keeps every service serving. All it remembers may be lost at any time."""

    def __init__(self, context: Context, informer: ServiceInformer, snapshots: ServiceSnapshots) -> None:
        self._clock = context.clock
        self._informer = informer
        self._snapshots = snapshots
        self._apply = ServiceApply(context.client, context.auditor)
        self._status: StatusWriter[ServiceStatus] = StatusWriter(
            context.client, MANAGEDSERVICES, context.clock, context.events
        )
        self._failing_since: dict[str, float] = {}

    def latest(self, key: str) -> Service | None:
        service = self._informer.service(key)
        if service is None or service.terminating:
            return None
        status = self._status.latest(key, service.status, self._informer.version(key))
        return service if status is service.status else msgspec.structs.replace(service, status=status)

    def forget(self, key: str) -> None:
        self._snapshots.forget(key)
        self._status.forget(key)
        self._failing_since.pop(key, None)
        SERVICE_SERVING.remove(key)

    async def snapshot(self, found: Service) -> ServiceSnapshot:
        return await self._snapshots.take(found)

    def plan(self, snapshot: ServiceSnapshot) -> ServicePlan:
        return plan_service(snapshot)

    async def create(self, current: ServicePass) -> ServicePass:
        """Apply; what stood in the way is part of the status, the caches will show the rest."""
        if current.plan.apply is None:
            return current
        obstacle = await self._apply.apply(current.found, current.plan.apply)
        if obstacle is None:
            return current
        snapshot = replace(current.snapshot, obstacle=obstacle)
        return replace(current, snapshot=snapshot, plan=self.plan(snapshot))

    async def conclude(self, current: ServicePass) -> ServicePass:
        await self._write(current.found, current.plan.status)
        self._failing_since.pop(current.found.key, None)
        return current.wake(current.plan.wake_at)

    async def fail(self, found: Service, error: Exception) -> None:
        """Take back what is not known any more: at once when it is a defect, after a while when it is an outage."""
        since = self._failing_since.setdefault(found.key, self._clock.monotonic())
        outage = isinstance(error, MooringError)
        if outage and self._clock.monotonic() - since < UNREADABLE_SECONDS:
            return
        message = error.message if isinstance(error, MooringError) else f"{type(error).__name__}: {error}"
        try:
            await self._write(found, admit_failure(found, clean_line(message), self._clock.now()))
        except MooringError as failure:
            log.info("a failure could not be written down", service=found.key, error=failure.message)

    async def _write(self, service: Service, status: ServiceStatus) -> None:
        SERVICE_SERVING.set(status.phase == "Serving", service.key)
        await self._status.write(service, service.status, status)
