"""From Kubernetes views to Mooring's own words."""

import re
from datetime import datetime

from hawser import views
from hawser.views import find_condition, parse_time
from hawser.views.pod import Waiting
from mooring.kinds import views as kinds
from mooring.kinds.resources import is_worker_pool
from mooring.model import names
from mooring.model.moments import later
from mooring.model.pool import Pool
from mooring.model.seal import parse_epoch
from mooring.model.worker import MARKED, UNMARKED, Marks, Stamp, Worker

_CLAIM = re.compile("[0-9A-Za-z._-]{1,128}")


def worker_from_pod(pod: views.Pod) -> Worker | None:
    """The worker a pod is; None for a pod that carries our label but is not ours."""
    meta = pod.metadata
    controller = meta.controller
    if controller is None or not is_worker_pool(controller.kind, controller.api_version):
        return None
    if meta.creation_timestamp is None or meta.labels.get(names.POOL) != controller.name:
        return None
    ready = find_condition(pod.status.conditions, "Ready")
    scheduled = find_condition(pod.status.conditions, "PodScheduled")
    blocked = scheduled is not None and scheduled.status == "False" and scheduled.reason == "Unschedulable"
    waiting = _waiting(pod)
    grace_seconds = meta.deletion_grace_period_seconds or 0
    is_ready = ready is not None and ready.status == "True"
    return Worker(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        pool=controller.name,
        pool_uid=controller.uid,
        created_at=meta.creation_timestamp,
        spec_hash=meta.annotations.get(names.SPEC_HASH, ""),
        node=pod.spec.node_name,
        phase=pod.status.phase or "Pending",
        ready=is_ready,
        ready_since=ready.last_transition_time if ready is not None and is_ready else None,
        # Kubernetes puts the end of the grace into deletionTimestamp; the start is what "since" means to people.
        terminating_since=later(meta.deletion_timestamp, -grace_seconds) if meta.deletion_timestamp else None,
        deletion_due=meta.deletion_timestamp,
        stamp=_stamp(meta),
        marks=_marks(meta),
        address=pod.status.pod_ip,
        unschedulable=scheduled.message if scheduled is not None and blocked else "",
        unschedulable_since=scheduled.last_transition_time if scheduled is not None and blocked else None,
        waiting=waiting.reason if waiting else "",
        waiting_message=waiting.message if waiting else pod.status.message,
        restarts=sum(status.restart_count for status in pod.status.container_statuses),
        finalizers=meta.finalizers,
        started_at=pod.status.start_time,
        unready_since=ready.last_transition_time if ready is not None and not is_ready else None,
        finished_at=_finished_at(pod) if pod.finished else None,
        failure=_failure(pod),
        ended=_ended(pod),
        avoids=frozenset(meta.annotations.get(names.AVOIDS, "").split()),
        placement=meta.annotations.get(names.PLACEMENT, ""),
        tenant=meta.annotations.get(names.TENANT, ""),
        tenant_since=parse_time(meta.annotations.get(names.TENANT_SINCE, "")),
        unproven_since=_unproven_since(meta),
    )


def pool_from_view(view: kinds.WorkerPool) -> Pool:
    """A pool as the planner reads it."""
    meta = view.metadata
    return Pool(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        generation=meta.generation,
        spec=view.spec,
        status=view.status,
        terminating=view.terminating,
        defects=view.defects,
        created_at=meta.creation_timestamp,
        terminating_since=meta.deletion_timestamp,
    )


def _unproven_since(meta: views.Meta) -> datetime | None:
    """A mark that cannot be read is a mark: only its absence says that the worker was proven to be idle."""
    if names.UNPROVEN not in meta.annotations:
        return None
    return parse_time(meta.annotations[names.UNPROVEN]) or meta.creation_timestamp


def _stamp(meta: views.Meta) -> Stamp | None:
    """Anybody who may patch the pod can write these: each is read only in the form that Mooring writes."""
    owner, claim = meta.labels.get(names.OWNER, ""), meta.annotations.get(names.CLAIM, "")
    if not owner and not claim:
        return None
    written = meta.annotations.get(names.EPOCH, "")
    epoch = parse_epoch(written)
    return Stamp(
        owner=owner,
        claim=claim if _CLAIM.fullmatch(claim) else "",
        epoch=epoch or 0,
        stamped_at=parse_time(meta.annotations.get(names.STAMPED_AT, "")),
        seal=meta.annotations.get(names.SEAL, ""),
        unreadable=bool(written) and epoch is None,
    )


def _marks(meta: views.Meta) -> Marks:
    found = Marks(
        meta.annotations.get(names.DO_NOT_DISRUPT) == "true",
        meta.annotations.get(names.SAFE_TO_EVICT) == "false",
        meta.labels.get(names.BUSY) == "true",
    )
    return MARKED if found.complete else UNMARKED if found.absent else found


def _waiting(pod: views.Pod) -> Waiting | None:
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        waiting = status.state.waiting
        if waiting is not None and waiting.reason not in ("", "ContainerCreating", "PodInitializing"):
            return waiting
    return None


def _ended(pod: views.Pod) -> str:
    """How the first container of a pod ended; empty while one of them runs or may still start."""
    ends = []
    for status in pod.status.container_statuses:
        ended = status.state.terminated or (status.last_state.terminated if status.state.waiting else None)
        if ended is None:
            return ""
        ends.append(f"its container {status.name} ended ({ended.reason or 'Error'}, exit code {ended.exit_code})")
    return ends[0] if ends else ""


def _finished_at(pod: views.Pod) -> datetime | None:
    ends = [status.state.terminated for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)]
    return max((ended.finished_at for ended in ends if ended is not None and ended.finished_at), default=None)


def _failure(pod: views.Pod) -> str:
    """Why a pod failed: the kubelet's own reason, or that of the first container that ended badly."""
    if pod.status.reason or pod.status.phase != "Failed":
        return pod.status.reason
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        ended = status.state.terminated
        if ended is not None and ended.exit_code:
            return f"{ended.reason or 'Error'} (exit code {ended.exit_code})"
    return ""
