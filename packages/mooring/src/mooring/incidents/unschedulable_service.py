"""unschedulable-service: deployed, reported as succeeded, and Pending for ever, after node pools were split."""

import json
import shlex
from dataclasses import dataclass, field

from drydock import Nodes
from hawser.errors import ObjectNotFound
from hawser.resources import DEPLOYMENTS, SERVICES
from mooring.incidents.incident import Figures, Incident
from mooring.incidents.own_deployment import OwnPods, install_own
from mooring.incidents.split_nodes import demo_nodes
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.kinds.resources import MANAGEDSERVICES
from mooring.kinds.views import ManagedService

NAME = "search"
PORT = 8080
WATCHED_SECONDS = 840.0  # the 14 minutes until a person noticed
_LOOK_SECONDS = 0.5


class UnschedulableService(Incident):
    """Every node is tainted, the Deployment tolerates nothing, and the task that deployed it reports `succeeded`."""

    name = "unschedulable-service"
    title = "deployed, succeeded, and Pending for ever"
    story = (
        "The node pools were split: system nodes take only the cluster's own parts, work nodes only what tolerates "
        "workload=blast. A service without a placement is deployed, and its load balancer gets an address. The control "
        "plane itself is installed in the same way."
    )
    protections = ("schedulable",)

    def nodes(self) -> Nodes:
        return demo_nodes()

    async def play(self, stage: Stage, protected: bool) -> Figures:
        own = await install_own(stage, stage.start(), advised=protected)
        seen = Seen()
        stage.gauges["phase"] = lambda: seen.phase or "-"
        stage.enter(_load_balancer(stage))
        spec = {"image": "search:7", "port": PORT, "expose": "LoadBalancer"}
        await stage.client.create(MANAGEDSERVICES, {"metadata": {"name": NAME}, "spec": spec}, NAMESPACE)
        stage.narrate("the service is deployed, without a placement")
        started = stage.seconds
        while stage.seconds - started < WATCHED_SECONDS:
            await _look(stage, seen, stage.seconds - started)
            await own.look(stage)
            await stage.clock.sleep(_LOOK_SECONDS)
        return seen.figures(own)


@dataclass(slots=True)
class Seen:
    """The observations of the play, in seconds since the deploy."""

    phase: str = ""
    succeeded_after: float | None = None  # when the deploy task reported success: applied, with an address
    refused_after: float | None = None
    reason: str = ""
    fix: str = ""
    applied_when_refused: int = 0
    serving_after: float | None = None
    endpoints: int = 0
    pending: dict[str, float] = field(default_factory=dict)  # by pod

    def figures(self, own: OwnPods) -> Figures:
        return Figures(
            outage=self.phase != "Serving" or own.running < own.replicas,
            measured={
                "deployTaskSaidSucceededAfterSeconds": self.succeeded_after,
                "podPendingSeconds": round(max(self.pending.values(), default=0.0)),
                "refusedAfterSeconds": self.refused_after,
                "objectsAppliedWhenRefused": self.applied_when_refused,
                "reason": self.reason,
                "fix": self.fix,
                "servingAfterSeconds": self.serving_after,
                "endpoints": self.endpoints,
                "phase": self.phase,
                "ownPodsPendingSeconds": round(own.pending_seconds),
                "ownPodsRunning": own.running,
                "installRefusedBecause": own.refusal,
            },
        )


async def _look(stage: Stage, seen: Seen, now: float) -> None:
    service = await stage.client.get(MANAGEDSERVICES, NAME, NAMESPACE)
    seen.phase, seen.endpoints = service.status.phase, service.status.api.endpoints if service.status.api else 0
    for pod in await stage.pods():
        if not pod.spec.node_name and pod.metadata.creation_timestamp is not None:
            age = stage.clock.now() - pod.metadata.creation_timestamp
            seen.pending[pod.metadata.uid] = age.total_seconds()
    applied = (await stage.client.list(DEPLOYMENTS, NAMESPACE)).items
    if applied and seen.succeeded_after is None and await _has_address(stage):
        seen.succeeded_after = now
        stage.narrate("the deploy task says: succeeded. It was applied, and the load balancer has an address")
    if seen.phase == "Failed" and not applied and seen.refused_after is None:
        await _obey(stage, seen, service, now)
    if seen.phase == "Serving" and seen.serving_after is None:
        seen.serving_after = now
        stage.narrate(f"serving, with {seen.endpoints} endpoint(s) in its document")


async def _obey(stage: Stage, seen: Seen, service: ManagedService, now: float) -> None:
    """The service is refused; the user reads the reason and runs the command that comes with it."""
    seen.refused_after, seen.reason, seen.fix = now, service.status.reason, service.status.fix
    seen.applied_when_refused = len((await stage.client.list(SERVICES, NAMESPACE)).items)
    stage.narrate(f"refused before anything is applied: {seen.reason}")
    stage.narrate(f"the fix that comes with it is run: {seen.fix}")
    patch = json.loads(shlex.split(seen.fix)[-1])
    await stage.client.merge_patch(MANAGEDSERVICES, NAME, patch, NAMESPACE)


async def _has_address(stage: Stage) -> bool:
    found = (await stage.client.list(SERVICES, NAMESPACE)).items
    return any(service.status.load_balancer.ingress for service in found)


async def _load_balancer(stage: Stage) -> None:
    """The cloud's load balancer: it gives an address to every Service, also to one without endpoints."""
    while True:
        await stage.clock.sleep(5.0)
        address = {"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}}}
        try:
            await stage.client.merge_patch(SERVICES, NAME, address, NAMESPACE, subresource="status")
        except ObjectNotFound:
            continue
        return
