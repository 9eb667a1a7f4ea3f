"""From Kubernetes views to Mooring's own words."""

from datetime import datetime, timedelta

from mooring.kube import views
from mooring.kube.views import find_condition, parse_time
from mooring.kube.views.pod import Waiting
from mooring.model import names
from mooring.model.duration import parse_duration
from mooring.model.errors import InvalidInput
from mooring.model.node import Node, NodeTemplate, Taint
from mooring.model.pool import Pool
from mooring.model.quantity import count_of
from mooring.model.worker import SHIELD_DOWN, SHIELD_UP, Shield, Stamp, Worker
from mooring.planning.actions import earliest


def worker_from_pod(pod: views.Pod) -> Worker | None:
    """The worker a pod is; None for a pod that carries our label but is not ours (fault 45)."""
    meta = pod.metadata
    controller = meta.controller
    if controller is None or controller.kind != "WorkerPool" or not controller.api_version.startswith(names.OWN_PREFIX):
        return None
    if meta.creation_timestamp is None or meta.labels.get(names.POOL) != controller.name:
        return None
    ready = find_condition(pod.status.conditions, "Ready")
    scheduled = find_condition(pod.status.conditions, "PodScheduled")
    blocked = scheduled is not None and scheduled.status == "False" and scheduled.reason == "Unschedulable"
    waiting = _waiting(pod)
    grace = timedelta(seconds=meta.deletion_grace_period_seconds or 0)
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
        terminating_since=meta.deletion_timestamp - grace if meta.deletion_timestamp else None,
        deletion_due=meta.deletion_timestamp,
        stamp=_stamp(meta),
        shield=_shield(meta),
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
    )


def is_worker_account(account: views.ServiceAccount) -> bool:
    """Whether a pool of ours owns it; an account that only carries our label is a stranger's (fault 45)."""
    owners = account.metadata.owner_references
    return any(owner.kind == "WorkerPool" and owner.api_version.startswith(names.OWN_PREFIX) for owner in owners)


def node_from_view(node: views.Node) -> Node:
    """A node without what changes at every heartbeat."""
    ready = find_condition(node.status.conditions, "Ready")
    return Node(
        name=node.metadata.name,
        uid=node.metadata.uid,
        labels=node.metadata.labels,
        taints=tuple(Taint(taint.key, taint.value, taint.effect) for taint in node.spec.taints),
        unschedulable=node.spec.unschedulable,
        ready=ready is not None and ready.status == "True",
        ready_since=ready.last_transition_time if ready else None,
        terminating=node.terminating,
        draining_since=earliest(
            node.metadata.deletion_timestamp,
            *(taint.time_added for taint in node.spec.taints if taint.key in names.DRAINING_TAINTS),
        ),
        created_at=node.metadata.creation_timestamp,
        allocatable={name: _offered(name, text) for name, text in node.status.allocatable.items()},
    )


def _offered(resource: str, text: str) -> int:
    """How much a node offers, rounded as Kubernetes does; what nobody can read counts as nothing."""
    try:
        return count_of(resource, text)
    except InvalidInput:
        return 0


def template_from_node_pool(node_pool: views.NodePool) -> NodeTemplate:
    """What the nodes of a Karpenter NodePool will carry. Startup taints are left out: they go before pods come."""
    template = node_pool.spec.template
    labels: dict[str, frozenset[str] | None] = {
        key: frozenset((value,)) for key, value in template.metadata.labels.items()
    }
    for requirement in template.spec.requirements:
        match requirement.operator:
            case "In":
                labels[requirement.key] = frozenset(requirement.values)
            case "DoesNotExist":
                labels[requirement.key] = frozenset()
            case _:
                labels.setdefault(requirement.key, None)
    labels[names.KARPENTER_POOL] = frozenset((node_pool.metadata.name,))
    taints = tuple(Taint(taint.key, taint.value, taint.effect) for taint in template.spec.taints)
    grace = parse_duration(template.spec.termination_grace_period)
    return NodeTemplate(node_pool.metadata.name, labels, taints, grace)


def pool_from_view(view: views.WorkerPool) -> Pool:
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


def _stamp(meta: views.Meta) -> Stamp | None:
    owner, claim = meta.labels.get(names.OWNER, ""), meta.annotations.get(names.CLAIM, "")
    if not owner and not claim:
        return None
    epoch = meta.annotations.get(names.EPOCH, "")
    stamped_at = parse_time(meta.annotations.get(names.STAMPED_AT, ""))
    return Stamp(owner, claim, int(epoch) if epoch.isdigit() else 0, stamped_at)


def _shield(meta: views.Meta) -> Shield:
    found = Shield(
        meta.annotations.get(names.DO_NOT_DISRUPT) == "true",
        meta.annotations.get(names.SAFE_TO_EVICT) == "false",
        meta.labels.get(names.BUSY) == "true",
    )
    return SHIELD_UP if found.up else SHIELD_DOWN if found.down else found


def _waiting(pod: views.Pod) -> Waiting | None:
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        waiting = status.state.waiting
        if waiting is not None and waiting.reason not in ("", "ContainerCreating", "PodInitializing"):
            return waiting
    return None


def _ended(pod: views.Pod) -> str:
    """How the containers of a pod ended, told of the first one; empty while one of them runs or may still start."""
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
