"""From Kubernetes views to the words in which a service is judged."""

from hawser import views
from hawser.views import find_condition
from mooring.controllers.services.manifests import CONTAINER
from mooring.kinds import views as kinds
from mooring.model import names
from mooring.model.service import Service
from mooring.model.service_observations import Rollout, ServicePod

_QUIET = ("", "ContainerCreating", "PodInitializing")


def service_from_view(view: kinds.ManagedService) -> Service:
    """A service as the planner reads it."""
    meta = view.metadata
    return Service(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        generation=meta.generation,
        spec=view.spec,
        status=view.status,
        terminating=view.terminating,
        defects=view.defects,
        created_at=meta.creation_timestamp,
    )


def rollout_from_view(found: views.Deployment) -> Rollout:
    """How far a Deployment is."""
    status = found.status
    failure = find_condition(status.conditions, "ReplicaFailure")
    progress = find_condition(status.conditions, "Progressing")
    container = next((one for one in found.spec.template.spec.containers if one.name == CONTAINER), None)
    return Rollout(
        uid=found.metadata.uid,
        spec_hash=found.metadata.annotations.get(names.SPEC_HASH, ""),
        placement=found.metadata.annotations.get(names.PLACEMENT, ""),
        image=container.image if container is not None else "",
        wanted=found.spec.replicas,
        generation=found.metadata.generation,
        observed_generation=status.observed_generation,
        total=status.replicas,
        updated=status.updated_replicas,
        ready=status.ready_replicas,
        available=status.available_replicas,
        create_failure=failure.message if failure is not None and failure.status == "True" else "",
        stalled=progress.message if progress is not None and progress.status == "False" else "",
    )


def own_status(pod: views.Pod) -> views.ContainerStatus | None:
    """The status of the service's own container; sidecars may stand before it."""
    return next((one for one in pod.status.container_statuses if one.name == CONTAINER), None)


def pod_from_view(pod: views.Pod) -> ServicePod:
    """A pod, by the service's own container: what was injected beside it has troubles of its own."""
    meta, status = pod.metadata, pod.status
    scheduled = find_condition(status.conditions, "PodScheduled")
    held = scheduled is not None and scheduled.status == "False" and scheduled.reason == "Unschedulable"
    container = own_status(pod) or views.ContainerStatus()
    waiting, running = container.state.waiting, container.state.running
    ended = container.state.terminated or container.last_state.terminated
    noteworthy = waiting is not None and waiting.reason not in _QUIET
    return ServicePod(
        name=meta.name,
        uid=meta.uid,
        spec_hash=meta.annotations.get(names.SPEC_HASH, ""),
        node=pod.spec.node_name,
        address="" if pod.spec.host_network else status.pod_ip,
        account=pod.spec.service_account_name,
        phase=status.phase or "Pending",
        ready=pod.ready,
        terminating=pod.terminating,
        created_at=meta.creation_timestamp,
        running_since=running.started_at if running is not None else None,
        unschedulable=scheduled.message if scheduled is not None and held else "",
        waiting=waiting.reason if waiting is not None and noteworthy else "",
        waiting_message=waiting.message if waiting is not None and noteworthy else "",
        restarts=container.restart_count,
        exit_code=ended.exit_code if ended is not None else 0,
        exit_reason=ended.reason if ended is not None else "",
    )
