"""What the decision about a service looks at, frozen."""

from dataclasses import dataclass, replace
from datetime import timedelta

from mooring.controllers.services.evidence import ServiceEvidence
from mooring.controllers.services.informer import ServiceInformer
from mooring.engine.context import Context
from mooring.engine.controller import NotNow
from mooring.model.service import Service, find_problems
from mooring.model.service_observations import Answer, Outcome, PodEvidence, ServicePod
from mooring.planning.services.diagnosis import find_suspect
from mooring.planning.services.plan import SCHEDULABLE, ServiceSnapshot, desired_state
from mooring.planning.services.preflight import check_placement

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


class ServiceSnapshots:
    """Takes them. What it remembers may be lost at any time."""

    def __init__(self, context: Context, informer: ServiceInformer, evidence: ServiceEvidence) -> None:
        self._clock = context.clock
        self._nodes = context.nodes
        self._gate = context.gate
        self._switches = context.switches
        self._informer = informer
        self._evidence = evidence
        self._asked: dict[str, _Asked] = {}
        self._troubled_since: float | None = None

    def forget(self, key: str) -> None:
        """The service is gone."""
        self._asked.pop(key, None)

    async def take(self, service: Service) -> ServiceSnapshot:
        """Everything about one service. `NotNow` while its caches may have a hiccup."""
        unreadable = self._unreadable()
        seen = self._check(service, unreadable)
        if unreadable or seen.problems:
            return seen
        rollout = self._informer.rollout(service)
        pods = self._informer.pods(service.key)
        wanted = desired_state(service, seen.placement_check).spec_hash
        current = tuple(pod for pod in pods if pod.spec_hash == wanted)
        done = rollout is not None and rollout.complete and rollout.spec_hash == wanted
        return replace(
            seen,
            rollout=rollout,
            attached=self._informer.attached(service),
            pods=pods,
            endpoints=self._informer.ready_endpoints(service),
            evidence=None if done else await self._suspect(service, current),
            answer=await self._ask(service, current) if done else None,
            url=self._url(service, pods),
        )

    def foresee(self, service: Service) -> ServiceSnapshot:
        """What the decision about a changed service would look at: nothing is asked, and no cache is waited for."""
        seen = self._check(service, self._trouble())
        if seen.unreadable:
            return seen
        return replace(seen, rollout=self._informer.rollout(service), attached=self._informer.attached(service))

    def _check(self, service: Service, unreadable: str) -> ServiceSnapshot:
        """The spec and the nodes."""
        placed = self._nodes.place(service.spec.pod_template.placement(service.spec.placement), service.namespace)
        return ServiceSnapshot(
            now=self._clock.now(),
            service=service,
            placement_check=check_placement(service, placed, self._nodes.by_name.values(), self._nodes.templates),
            problems=find_problems(service),
            unreadable=unreadable,
            preflight_paused=self._switches.why_paused(SCHEDULABLE),
        )

    def _trouble(self) -> str:
        return self._informer.trouble or ("" if self._gate.synced else "the nodes have not been read yet")

    def _unreadable(self) -> str:
        """What cannot be read for too long; empty when everything can."""
        trouble = self._trouble()
        if not trouble:
            self._troubled_since = None
            return ""
        now = self._clock.monotonic()
        if self._troubled_since is None:
            self._troubled_since = now
        if now - self._troubled_since < UNREADABLE_SECONDS:
            raise NotNow(self._clock.now() + timedelta(seconds=_HICCUP_SECONDS))
        return trouble

    async def _suspect(self, service: Service, current: tuple[ServicePod, ...]) -> PodEvidence | None:
        pod = find_suspect(current, self._clock.now())
        view = next((one for one in self._informer.pod_views(service.key) if pod and one.metadata.uid == pod.uid), None)
        return await self._evidence.about(service, pod, view) if pod is not None and view is not None else None

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
            answer = await self._evidence.answer(service, pod)
            if answer.outcome is Outcome.DOCUMENT:
                self._asked[service.key] = _Asked(pod.uid, now, replace(answer, body=b""))
                break
        return answer

    def _url(self, service: Service, pods: tuple[ServicePod, ...]) -> str:
        """Where callers find it. Process pods live on this machine, where no cluster name is resolved."""
        local = next((pod.address for pod in pods if pod.ready and pod.address.startswith("127.")), "")
        port = self._informer.port(service)
        outside = next((one.ip or one.hostname for one in port.status.load_balancer.ingress), "") if port else ""
        host = outside or local or f"{service.name}.{service.namespace}.svc"
        return f"http://{host}:{service.spec.port}"
