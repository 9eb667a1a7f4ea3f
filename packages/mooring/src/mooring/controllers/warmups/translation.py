"""From Kubernetes views to the words of warmups; reads also the pins that other tools put on their Jobs."""

from dataclasses import replace

from hawser import views
from hawser.views import ContainerStatus, find_condition
from mooring.engine.pins import describe_owner, read_pin
from mooring.kinds import views as kinds
from mooring.model import names
from mooring.model.evidence import clean_line
from mooring.model.warm_job import WarmJob, WarmPod
from mooring.model.warmup import Warmup
from mooring.planning.warmups.reclaim import CleanupJob


def warmup_from_view(view: kinds.Warmup) -> Warmup:
    """A Warmup as the planner reads it."""
    meta = view.metadata
    return Warmup(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        generation=meta.generation,
        created_at=meta.created_at,
        spec=view.spec,
        status=view.status,
        rewarm_request=meta.annotations.get(names.REWARM, ""),
        close_request=meta.annotations.get(names.CLOSE_CIRCUIT, ""),
        terminating=view.terminating,
        defects=view.defects,
        terminating_since=meta.deletion_timestamp,
        finalizers=meta.finalizers,
    )


def job_from_view(job: views.Job) -> WarmJob:
    """A Job as the planner reads it, also one that another program made."""
    meta = job.metadata
    controller = meta.controller
    ours = controller is not None and controller.kind == "Warmup" and controller.api_version == names.API_VERSION
    failed = find_condition(job.status.conditions, "Failed")
    shard = meta.labels.get(names.SHARD, "")
    pin = read_pin(job.spec.template.spec)
    return WarmJob(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        created_at=meta.created_at,
        dataset=meta.labels.get(names.DATASET, ""),
        node=pin.node,
        hostname=pin.hostname,
        owner_uid=controller.uid if controller is not None and ours else "",
        shard=int(shard) if shard.isdecimal() and len(shard) < 10 else None,
        node_uid=meta.annotations.get(names.NODE_UID, ""),
        generation=meta.annotations.get(names.GENERATION, ""),
        spec_hash=meta.annotations.get(names.SPEC_HASH, ""),
        template_hash=meta.annotations.get(names.POD_TEMPLATE, ""),
        round=meta.annotations.get(names.REWARM, ""),
        complete=job.complete,
        failed=job.failed,
        failure=clean_line(f"{failed.reason}: {failed.message}") if failed and job.failed else "",
        finished_at=job.status.completion_time or (failed.last_transition_time if failed and job.failed else None),
        deleting=job.terminating,
    )


def cleanup_from_view(job: views.Job) -> CleanupJob:
    """A cleanup Job as the planner reads it."""
    failed = find_condition(job.status.conditions, "Failed")
    failure = clean_line(f"{failed.reason}: {failed.message}") if failed and job.failed else ""
    meta = job.metadata
    return CleanupJob(meta.name, meta.uid, job.complete, job.failed, failure, meta.resource_version)


def adopted_from_view(job: views.Job, selector: str) -> WarmJob:
    """A Job of another tool. Marks of ours on it prove nothing, as no owner of ours vouches for them."""
    return replace(
        job_from_view(job),
        adopted=selector,
        owner=describe_owner(job),
        owner_uid="",
        shard=None,
        node_uid="",
        generation="",
        spec_hash="",
        round="",
    )


def pod_from_view(pod: views.Pod) -> WarmPod | None:
    """The pod of a warm Job; None for a pod that no Job owns."""
    meta = pod.metadata
    controller = meta.controller
    if controller is None or controller.kind != "Job" or meta.creation_timestamp is None:
        return None
    inits = pod.status.init_container_statuses
    current = _current(pod)
    worst = max(inits, key=lambda status: status.restart_count, default=None)
    return WarmPod(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        job_uid=controller.uid,
        created_at=meta.created_at,
        container=current.name if current else "",
        running=current is not None and current.state.running is not None,
        restarts=worst.restart_count if worst else 0,
        failing=worst.name if worst else "",
        waiting=clean_line(_waiting(pod, current)),
        finished=pod.finished,
        node=pod.spec.node_name,
    )


def _current(pod: views.Pod) -> ContainerStatus | None:
    """The container that has its turn: the first that has not ended well."""
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        ended = status.state.terminated
        if ended is None or ended.exit_code != 0:
            return status
    return None


def _waiting(pod: views.Pod, current: ContainerStatus | None) -> str:
    if current is not None and current.state.waiting is not None:
        waiting = current.state.waiting
        if waiting.reason not in ("", "PodInitializing", "ContainerCreating"):
            return f"{waiting.reason}: {waiting.message}" if waiting.message else waiting.reason
    scheduled = find_condition(pod.status.conditions, "PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return scheduled.message
    return ""
