"""The read side of services: what api, pages and terminal may know of them."""

import msgspec

from mooring.control.serving.evidence import EvidenceRoom
from mooring.control.serving.watch import ServiceWatch
from mooring.model.errors import NotFound, Unavailable
from mooring.model.openapi import ApiDocument
from mooring.model.service import Service, ServiceSpec, ServiceStatus, explain_status
from mooring.model.serving import Answer, Outcome
from mooring.model.spelling import suggest
from mooring.model.why import Why
from mooring.planning.services.diagnosis import judge_answer
from mooring.planning.whys.rules import Violation


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


class ServiceReadSide:
    """Answers from the caches; documents are asked for live."""

    def __init__(self, watch: ServiceWatch, room: EvidenceRoom) -> None:
        self._watch = watch
        self._room = room

    def services(self, name: str = "") -> list[ServiceReading]:
        """All services by namespace and name, or those of one name; `NotFound` when there is none of it."""
        named = [one for key, one in sorted(self._watch.services.items()) if name in ("", key, one.name)]
        if name and not named:
            raise self._unknown(name)
        return [self._read(service) for service in named]

    def service(self, namespace: str, name: str) -> ServiceReading:
        """One service, or `NotFound`."""
        return self._read(self._find(namespace, name))

    def unschedulable(self) -> list[Violation]:
        """The services that no node takes."""
        return [
            Violation(f"service/{key}", one.message, one.since)
            for key, service in sorted(self._watch.services.items())
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

    async def _ask(self, namespace: str, name: str) -> Answer:
        service = self._find(namespace, name)
        pods = [pod for pod in self._watch.pods(service.key) if pod.ready and not pod.terminating and pod.address]
        if not pods:
            status = self._read(service).status
            told = f": {status.phase}, {status.reason}" if status.reason else ""
            raise DocumentUnavailable(f"no pod of {service.key} is ready{told}", fix=status.fix)
        answer = await self._room.answer(service, pods[-1])
        if answer.outcome is not Outcome.DOCUMENT:
            found = judge_answer(service, answer)
            assert found is not None
            raise DocumentUnavailable(found.reason, fix=found.fix)
        return answer

    def _find(self, namespace: str, name: str) -> Service:
        service = self._watch.service(f"{namespace}/{name}")
        if service is None:
            raise self._unknown(f"{namespace}/{name}")
        return service

    def _unknown(self, name: str) -> NotFound:
        return NotFound(f"there is no service {name}", fix=suggest(name, self._watch.services, "services"))

    def _read(self, service: Service) -> ServiceReading:
        """As its status says; but a status that nobody can read again is not to be believed."""
        status = service.status
        if trouble := self._watch.trouble:
            status = msgspec.structs.replace(status, phase="Unknown", reason=trouble, fix="mooring doctor")
        elif not status.phase:
            status = msgspec.structs.replace(status, phase="Unknown", reason="not looked at yet")
        return ServiceReading(
            service.namespace,
            service.name,
            service.spec,
            status,
            service.generation,
            service.terminating,
            explain_status(status, service.created_at),
        )
