"""The reconciler of ManagedServices: look, plan, apply, say how it stands."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import structlog

from mooring.clock import Clock
from mooring.control.auditing import Auditor
from mooring.control.fleet import Fleet
from mooring.control.metrics import SERVICE_SERVING
from mooring.control.serving.applying import Applying
from mooring.control.serving.evidence import EvidenceRoom
from mooring.control.serving.watch import ServiceWatch
from mooring.kube.client import KubeClient
from mooring.kube.errors import ObjectNotFound
from mooring.kube.resources import MANAGEDSERVICES
from mooring.model.errors import MooringError
from mooring.model.evidence import clean_line
from mooring.model.service import Service, ServiceStatus, find_problems
from mooring.model.serving import Answer, Outcome, PodEvidence, ServicePod
from mooring.planning.services.diagnosis import find_suspect
from mooring.planning.services.preflight import plan_berth
from mooring.planning.services.service import (
    SCHEDULABLE,
    ServicePlan,
    ServiceSnapshot,
    admit_failure,
    desired_state,
    plan_service,
)

log = structlog.get_logger()

ANSWER_SECONDS = 25.0  # that a document is believed without asking again
UNREADABLE_SECONDS = 15.0  # a shorter trouble with the API server is a hiccup
_HICCUP_SECONDS = 1.0
_MOST_ASKED = 3  # pods for one document


@dataclass(frozen=True, slots=True)
class _Asked:
    """The last document that was read, of which pod, and when."""

    uid: str
    at: float
    answer: Answer


@dataclass(frozen=True, slots=True)
class _Written:
    """The status this process wrote last, and the version it got: the cache may lag behind it."""

    status: ServiceStatus
    version: int


class ServiceReconciler:
    """Keeps every service serving. All it remembers may be lost at any time."""

    def __init__(
        self,
        client: KubeClient,
        fleet: Fleet,
        watch: ServiceWatch,
        room: EvidenceRoom,
        auditor: Auditor,
        clock: Clock,
        why_paused: Callable[[str], str],
    ) -> None:
        self._client = client
        self._fleet = fleet
        self._watch = watch
        self._room = room
        self._clock = clock
        self._why_paused = why_paused
        self._applying = Applying(client, auditor)
        self._asked: dict[str, _Asked] = {}
        self._written: dict[str, _Written] = {}
        self._failing_since: dict[str, float] = {}
        self._troubled_since: float | None = None

    async def reconcile(self, key: str) -> datetime | None:
        """One pass over one service; answers when to look again."""
        service = self._service(key)
        if service is None or service.terminating:
            self._forget(key)
            return None
        try:
            wake_at = await self._look_after(service)
        except Exception as error:
            await self._admit(service, error)
            raise
        self._failing_since.pop(key, None)
        return wake_at

    async def _look_after(self, service: Service) -> datetime | None:
        unreadable = self._unreadable()
        if unreadable is None:
            return self._clock.now() + timedelta(seconds=_HICCUP_SECONDS)
        snapshot = await self._snapshot(service, unreadable)
        plan = plan_service(snapshot)
        if plan.apply is not None:
            plan = await self._apply(snapshot, plan)
        await self._write_status(service, plan.status)
        return plan.wake_at

    async def _admit(self, service: Service, error: Exception) -> None:
        """Take back what is not known any more: at once when it is a defect, after a while when it is an outage."""
        since = self._failing_since.setdefault(service.key, self._clock.monotonic())
        passing = isinstance(error, MooringError)
        if passing and self._clock.monotonic() - since < UNREADABLE_SECONDS:
            return
        told = error.message if isinstance(error, MooringError) else f"{type(error).__name__}: {error}"
        try:
            await self._write_status(service, admit_failure(service, clean_line(told), self._clock.now()))
        except MooringError as failure:
            log.info("a failure could not be written down", service=service.key, error=failure.message)

    def _service(self, key: str) -> Service | None:
        """With the status this process wrote last, where the cache does not show it yet."""
        service, written = self._watch.service(key), self._written.get(key)
        if service is None or written is None or self._watch.version(key) >= written.version:
            return service
        return msgspec.structs.replace(service, status=written.status)

    def _unreadable(self) -> str | None:
        """What cannot be read for too long; empty when everything can; None while it may be a hiccup."""
        trouble = self._watch.trouble or ("" if self._fleet.synced else "the nodes have not been read yet")
        if not trouble:
            self._troubled_since = None
            return ""
        now = self._clock.monotonic()
        if self._troubled_since is None:
            self._troubled_since = now
        return trouble if now - self._troubled_since >= UNREADABLE_SECONDS else None

    async def _snapshot(self, service: Service, unreadable: str) -> ServiceSnapshot:
        placed = self._fleet.place(service.spec.placement, service.namespace)
        berth = plan_berth(service, placed, self._fleet.nodes.values(), self._fleet.node_templates)
        seen = ServiceSnapshot(
            now=self._clock.now(),
            service=service,
            berth=berth,
            problems=find_problems(service),
            unreadable=unreadable,
            preflight_paused=self._why_paused(SCHEDULABLE),
        )
        if unreadable or seen.problems:
            return seen
        rollout = self._watch.rollout(service)
        pods = self._watch.pods(service.key)
        wanted = desired_state(service, berth).spec_hash
        current = tuple(pod for pod in pods if pod.spec_hash == wanted)
        done = rollout is not None and rollout.complete and rollout.spec_hash == wanted
        return replace(
            seen,
            rollout=rollout,
            attached=self._watch.attached(service),
            pods=pods,
            endpoints=self._watch.ready_endpoints(service),
            evidence=None if done else await self._suspect(service, current),
            answer=await self._ask(service, current) if done else None,
            url=self._url(service, pods),
        )

    async def _suspect(self, service: Service, current: tuple[ServicePod, ...]) -> PodEvidence | None:
        pod = find_suspect(current, self._clock.now())
        view = next((one for one in self._watch.pod_views(service.key) if pod and one.metadata.uid == pod.uid), None)
        return await self._room.about(service, pod, view) if pod is not None and view is not None else None

    async def _ask(self, service: Service, current: tuple[ServicePod, ...]) -> Answer | None:
        """The document, from whichever ready pod has it; a pod that gave it a moment ago is not asked again."""
        ready = [pod for pod in current if pod.ready and not pod.terminating and pod.address]
        asked = self._asked.get(service.key)
        now = self._clock.monotonic()
        if asked is not None and any(pod.uid == asked.uid for pod in ready) and now - asked.at < ANSWER_SECONDS:
            return asked.answer
        self._asked.pop(service.key, None)
        answer = None
        for pod in ready[:_MOST_ASKED]:
            answer = await self._room.answer(service, pod)
            if answer.outcome is Outcome.DOCUMENT:
                self._asked[service.key] = _Asked(pod.uid, now, replace(answer, body=b""))
                break
        return answer

    def _url(self, service: Service, pods: tuple[ServicePod, ...]) -> str:
        """Where callers find it. Process pods live on this machine, where no cluster name is resolved."""
        local = next((pod.address for pod in pods if pod.ready and pod.address.startswith("127.")), "")
        port = self._watch.port(service)
        outside = next((one.ip or one.hostname for one in port.status.load_balancer.ingress), "") if port else ""
        host = outside or local or f"{service.name}.{service.namespace}.svc"
        return f"http://{host}:{service.spec.port}"

    async def _apply(self, snapshot: ServiceSnapshot, plan: ServicePlan) -> ServicePlan:
        """Apply, and say what stood in the way; the caches will show the rest."""
        assert plan.apply is not None
        obstacle = await self._applying.apply(snapshot.service, plan.apply)
        return plan if obstacle is None else plan_service(replace(snapshot, obstacle=obstacle))

    async def _write_status(self, service: Service, status: ServiceStatus) -> None:
        SERVICE_SERVING.labels(service.key).set(status.phase == "Serving")
        if service.status == status:
            return
        body: dict[str, Any] = {"metadata": {"uid": service.uid}, "status": msgspec.to_builtins(status)}
        try:
            view = await self._client.merge_patch(
                MANAGEDSERVICES, service.name, body, service.namespace, subresource="status"
            )
        except ObjectNotFound:
            return
        self._written[service.key] = _Written(status, int(view.metadata.resource_version))

    def _forget(self, key: str) -> None:
        self._asked.pop(key, None)
        self._written.pop(key, None)
        self._failing_since.pop(key, None)
        SERVICE_SERVING.remove(key)
