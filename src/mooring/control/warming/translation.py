"""From Kubernetes views to the words of warmups; reads also the pins that other tools put on their Jobs."""

from typing import NamedTuple

from mooring.kube import views
from mooring.kube.views import ContainerStatus, find_condition
from mooring.kube.views.pod import PodSpec
from mooring.model import names
from mooring.model.evidence import clean_line
from mooring.model.warm_job import WarmJob, WarmPod
from mooring.model.warmup import Warmup


class Pin(NamedTuple):
    """A node by its name or by its hostname label, which are often not the same."""

    node: str = ""
    hostname: str = ""


def warmup_from_view(view: views.Warmup) -> Warmup:
    """A Warmup as the planner reads it."""
    meta = view.metadata
    assert meta.creation_timestamp is not None
    return Warmup(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        generation=meta.generation,
        created_at=meta.creation_timestamp,
        spec=view.spec,
        status=view.status,
        rewarm_request=meta.annotations.get(names.REWARM, ""),
        close_request=meta.annotations.get(names.CLOSE_CIRCUIT, ""),
        terminating=view.terminating,
        defects=view.defects,
        terminating_since=meta.deletion_timestamp,
    )


def job_from_view(job: views.Job) -> WarmJob:
    """A Job as the planner reads it, whoever made it."""
    meta = job.metadata
    assert meta.creation_timestamp is not None
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
        created_at=meta.creation_timestamp,
        dataset=meta.labels.get(names.DATASET, ""),
        node=pin.node,
        hostname=pin.hostname,
        owner_uid=controller.uid if controller is not None and ours else "",
        shard=int(shard) if shard.isdecimal() else None,
        node_uid=meta.annotations.get(names.NODE_UID, ""),
        generation=meta.annotations.get(names.GENERATION, ""),
        spec_hash=meta.annotations.get(names.SPEC_HASH, ""),
        round=meta.annotations.get(names.REWARM, ""),
        complete=job.complete,
        failed=job.failed,
        failure=clean_line(f"{failed.reason}: {failed.message}") if failed and job.failed else "",
        finished_at=job.status.completion_time or (failed.last_transition_time if failed and job.failed else None),
        deleting=job.terminating,
    )


def read_pin(pod: PodSpec) -> Pin:
    """The one node a pod can go to: by nodeName, by the hostname label, or by a field of the node; else no pin."""
    if pod.node_name:
        return Pin(pod.node_name)
    if names.HOSTNAME in pod.node_selector:
        return Pin(hostname=pod.node_selector[names.HOSTNAME])
    terms = pod.required_terms
    if len(terms) != 1:
        return Pin()
    for requirement in terms[0].match_fields:
        if requirement.key == "metadata.name" and requirement.operator == "In" and len(requirement.values) == 1:
            return Pin(requirement.values[0])
    for requirement in terms[0].match_expressions:
        if requirement.key == names.HOSTNAME and requirement.operator == "In" and len(requirement.values) == 1:
            return Pin(hostname=requirement.values[0])
    return Pin()


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
        created_at=meta.creation_timestamp,
        container=current.name if current else "",
        running=current is not None and current.state.running is not None,
        restarts=worst.restart_count if worst else 0,
        failing=worst.name if worst else "",
        waiting=clean_line(_waiting(pod, current)),
        finished=pod.finished,
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
