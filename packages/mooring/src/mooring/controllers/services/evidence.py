"""What is read about a service beyond its caches: events and log of a pod that fails, and what its port answers."""

import asyncio

from hawser.client import KubeClient
from hawser.errors import KubeError
from hawser.resources import EVENTS
from hawser.views import Pod
from mooring.controllers.services.document import Documents, Question
from mooring.controllers.services.translation import own_status
from mooring.engine.evidence import gather_failure
from mooring.model.evidence import clean_line
from mooring.model.service import Service
from mooring.model.service_observations import Answer, PodEvidence, ServicePod

_MOST_EVENTS = 20


class ServiceEvidence:
    """Reads, and never fails: what could not be read is said in the lines."""

    def __init__(self, client: KubeClient, documents: Documents) -> None:
        self._client = client
        self._documents = documents

    async def about(self, service: Service, pod: ServicePod, view: Pod) -> PodEvidence:
        """Everything that may explain why this pod is not ready."""
        events, logs, answer = await asyncio.gather(
            self._events(service, pod), self._log(view), self._answer_of_running(service, pod)
        )
        return PodEvidence(pod, events, logs, answer)

    async def answer(self, service: Service, pod: ServicePod, path: str = "") -> Answer:
        """What the pod's port says to the question for its document, or for another path."""
        path = path or service.spec.openapi_path
        question = Question(pod.address, service.spec.port, path, frozenset({pod.address}))
        return await self._documents.ask(question)

    async def _answer_of_running(self, service: Service, pod: ServicePod) -> Answer | None:
        return await self.answer(service, pod) if pod.running_since is not None and pod.address else None

    async def _events(self, service: Service, pod: ServicePod) -> tuple[str, ...]:
        try:
            page = await self._client.list_page(
                EVENTS, service.namespace, field_selector=f"involvedObject.uid={pod.uid},type=Warning", limit=100
            )
        except KubeError as error:
            return (clean_line(f"the events could not be read: {error.message}"),)
        seen = [(event.last_seen, event.message) for event in page.items]
        dated = sorted((at, message) for at, message in seen if at is not None)
        return tuple(clean_line(message) for _, message in dated[-_MOST_EVENTS:])

    async def _log(self, view: Pod) -> tuple[str, ...]:
        status = own_status(view)
        started = status is not None and (status.state.running or status.state.terminated or status.restart_count)
        return (await gather_failure(self._client, view, status, "")).logs if status is not None and started else ()
