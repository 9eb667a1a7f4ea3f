"""The read side of services: what api, pages and terminal may know of them."""

from __future__ import annotations

import asyncio

import msgspec

from mooring.model.errors import NotFound, Unavailable
from mooring.model.openapi import ApiDocument
from mooring.model.service import Service, ServiceSpec, ServiceStatus, explain_status
from mooring.model.service_observations import Answer, Outcome, ServicePod
from mooring.model.suggestions import suggest
from mooring.model.why import Why
from mooring.planning.explanations.invariants import Violation
from mooring.planning.services.diagnosis import judge_answer
from mooring.queries.sources import AnswerSource, ServiceSource
from mooring.queries.visibility import LimitedQueries

DOCUMENTATION_PATHS = ("/docs", "/swagger-ui/index.html", "/redoc")


class DocumentUnavailable(Unavailable):
    """A service's document cannot be shown now."""

    code = "document_unavailable"


class ServiceReading(msgspec.Struct, frozen=True, rename="camel"):
    """A service of the contract."""

    namespace: str
    name: str
    spec: ServiceSpec
    status: ServiceStatus
    generation: int
    terminating: bool
    why: Why
    uid: str = ""


class ServiceQueries(LimitedQueries):
    """Answers from the caches; documents are asked for live."""

    def __init__(self, informer: ServiceSource, evidence: AnswerSource) -> None:
        self._informer = informer
        self._evidence = evidence

    def namespaces(self) -> set[str]:
        """The namespaces that have services."""
        return {service.namespace for service in self._informer.services.values()}

    def exists(self, namespace: str, name: str) -> bool:
        """Whether there is such a service."""
        return self._informer.service(f"{namespace}/{name}") is not None

    def services(self, name: str = "") -> list[ServiceReading]:
        """All services by namespace and name, or those of one name; `NotFound` when there is none of it."""
        seen = self._visibility.managedservices
        everyone = [(key, one) for key, one in sorted(self._informer.services.items()) if one.namespace in seen]
        named = [one for key, one in everyone if name in ("", key, one.name)]
        if name and not named:
            raise self._unknown(name)
        return [self._read(service) for service in named]

    def service(self, namespace: str, name: str) -> ServiceReading:
        """One service, or `NotFound`."""
        return self._read(self._find(namespace, name))

    def pod_names(self, namespace: str, name: str) -> list[str]:
        """The names of the pods of a service, with the ready ones at the end."""
        pods = sorted(self._informer.pods(f"{namespace}/{name}"), key=lambda pod: (pod.ready, pod.name))
        return [pod.name for pod in pods]

    def unschedulable(self) -> list[Violation]:
        """The services that no node takes."""
        return [
            Violation(f"service/{key}", one.message, one.since)
            for key, service in sorted(self._informer.services.items())
            for one in service.status.conditions
            if one.type == "Schedulable" and one.status == "False"
        ]

    async def document(self, namespace: str, name: str) -> ApiDocument:
        """The document as the service gives it out now; `DocumentUnavailable` says why there is none."""
        answer = await self._ask(namespace, name)
        assert answer.document is not None
        return answer.document

    async def raw_document(self, namespace: str, name: str) -> bytes:
        """The same, byte for byte."""
        return (await self._ask(namespace, name)).body

    async def documentation_path(self, namespace: str, name: str) -> str:
        """Where the service itself has a page about its API, of the paths that frameworks use; empty if nowhere."""
        service = self._find(namespace, name)
        pods = self._ready_pods(service)
        if not pods:
            return ""
        asked = (self._evidence.answer(service, pods[-1], path) for path in DOCUMENTATION_PATHS)
        answers = await asyncio.gather(*asked)
        found = zip(DOCUMENTATION_PATHS, answers, strict=True)
        return next((path for path, answer in found if answer.status == 200), "")

    def _ready_pods(self, service: Service) -> list[ServicePod]:
        return [pod for pod in self._informer.pods(service.key) if pod.ready and not pod.terminating and pod.address]

    async def _ask(self, namespace: str, name: str) -> Answer:
        service = self._find(namespace, name)
        pods = self._ready_pods(service)
        if not pods:
            status = self._read(service).status
            message = f": {status.phase}, {status.reason}" if status.reason else ""
            raise DocumentUnavailable(f"no pod of {service.key} is ready{message}", fix=status.fix)
        answer = await self._evidence.answer(service, pods[-1])
        if answer.outcome is not Outcome.DOCUMENT:
            found = judge_answer(service, answer)
            assert found is not None
            raise DocumentUnavailable(found.reason, fix=found.fix)
        return answer

    def _find(self, namespace: str, name: str) -> Service:
        service = self._informer.service(f"{namespace}/{name}")
        if service is None:
            raise self._unknown(f"{namespace}/{name}")
        return service

    def _unknown(self, name: str) -> NotFound:
        seen = [
            key for key, one in self._informer.services.items() if one.namespace in self._visibility.managedservices
        ]
        return NotFound(f"there is no service {name}", fix=suggest(name, seen, "services"))

    def _read(self, service: Service) -> ServiceReading:
        """The service with its status; the phase is Unknown while the caches of services cannot be read."""
        return read_service(service, self._informer.trouble)


def read_service(service: Service, trouble: str = "") -> ServiceReading:
    """A service for callers; `trouble` is why its status cannot be believed."""
    status = service.status
    if trouble:
        status = msgspec.structs.replace(status, phase="Unknown", reason=trouble, fix="mooring doctor")
    elif not status.phase:
        status = msgspec.structs.replace(status, phase="Unknown", reason="not reconciled yet")
    return ServiceReading(
        service.namespace,
        service.name,
        service.spec,
        status,
        service.generation,
        service.terminating,
        explain_status(status, service.created_at),
        service.uid,
    )
