"""From Kubernetes views to the words in which a service is judged."""

from mooring.kube import views
from mooring.kube.views import find_condition
from mooring.model import names
from mooring.model.service import Service
from mooring.model.serving import Rollout, ServicePod

_QUIET = ("", "ContainerCreating", "PodInitializing")


def service_from_view(view: views.ManagedService) -> Service:
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
    containers = found.spec.template.spec.containers
    return Rollout(
        uid=found.metadata.uid,
        spec_hash=found.metadata.annotations.get(names.SPEC_HASH, ""),
        placement=found.metadata.annotations.get(names.PLACEMENT, ""),
        image=containers[0].image if containers else "",
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


def pod_from_view(pod: views.Pod) -> ServicePod:
    """A pod of one container."""
    meta, status = pod.metadata, pod.status
    scheduled = find_condition(status.conditions, "PodScheduled")
    held = scheduled is not None and scheduled.status == "False" and scheduled.reason == "Unschedulable"
    container = status.container_statuses[0] if status.container_statuses else views.ContainerStatus()
    waiting, running = container.state.waiting, container.state.running
    ended = container.state.terminated or container.last_state.terminated
    noteworthy = waiting is not None and waiting.reason not in _QUIET
    return ServicePod(
        name=meta.name,
        uid=meta.uid,
        spec_hash=meta.annotations.get(names.SPEC_HASH, ""),
        node=pod.spec.node_name,
        address="" if pod.spec.host_network else status.pod_ip,
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
