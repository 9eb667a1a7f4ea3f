"""Quarantine of nodes: a node on which workers repeatedly fail to start gets no new workers for a while.

A broken node that still reports Ready is empty, so the scheduler sends every replacement there. In one incident 5 of
160 wanted workers ran for 5.5 hours.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mooring.model.node import Node, Quarantine
from mooring.model.worker import Worker
from mooring.planning.placement import Placed

EARLY_SECONDS = 60.0  # a worker that was ready for longer did start; a later failure says nothing about its node
FAILED_STARTS = frozenset(
    {
        "CrashLoopBackOff",
        "CreateContainerError",
        "RunContainerError",
        "StartError",
        "PostStartHookError",
        "ImageInspectError",
        "ErrImagePull",
        "ImagePullBackOff",
    }
)


@dataclass(frozen=True, slots=True)
class QuarantinePolicy:
    """This many failed starts within the window close a node for that long."""

    failures: int = 3
    window_seconds: float = 600.0
    closed_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class StartFailure:
    """A worker that did not start. `template` identifies what the worker was created from."""

    worker: str
    node_uid: str
    template: tuple[str, str]  # pool key, spec hash
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class QuarantineSnapshot:
    """Input of the decision."""

    now: datetime
    nodes: Mapping[str, Node]
    failures: tuple[StartFailure, ...]
    started: frozenset[tuple[str, str]] = frozenset()  # templates of which a worker runs on some node
    active: Mapping[str, Quarantine] = field(default_factory=dict)  # by node uid


def describe_failed_start(worker: Worker) -> str:
    """Why a worker did not start; empty if it did, still may, or was claimed already."""
    if not worker.node or worker.ready or worker.stamp is not None or worker.terminating_since is not None:
        return ""
    if worker.waiting in FAILED_STARTS:
        return worker.waiting
    if worker.phase == "Failed" and not _was_ready(worker):
        return worker.failure or "a container that failed"
    return ""


def _was_ready(worker: Worker) -> bool:
    """Whether it was ready for longer than a failed start is. A pod that was never ready is unready since its start."""
    if worker.started_at is None or worker.unready_since is None:
        return False
    return (worker.unready_since - worker.started_at).total_seconds() > EARLY_SECONDS


def proves_template(worker: Worker, now: datetime) -> bool:
    """Whether a worker shows that its template works: it was claimed, or has been ready for a while."""
    if worker.stamp is not None:
        return True
    return worker.ready_since is not None and (now - worker.ready_since).total_seconds() > EARLY_SECONDS


def plan_quarantine(
    snapshot: QuarantineSnapshot, policy: QuarantinePolicy = QuarantinePolicy()
) -> dict[str, Quarantine]:
    """The quarantined nodes by uid: at most half of the nodes that could take workers."""
    oldest = snapshot.now - timedelta(seconds=policy.window_seconds)
    recent = [failure for failure in snapshot.failures if failure.at > oldest]
    blameless = _template_faults(recent, snapshot.started)
    by_node: dict[str, list[StartFailure]] = defaultdict(list)
    for failure in recent:
        by_node[failure.node_uid].append(failure)
    present = {node.uid for node in snapshot.nodes.values()}
    usable = {node.uid for node in snapshot.nodes.values() if _takes_workers(node)}
    closed = {
        uid: quarantine
        for uid, quarantine in snapshot.active.items()
        if uid in present and snapshot.now < quarantine.until and not _all_blameless(by_node[uid], blameless)
    }
    for uid, failures in sorted(by_node.items(), key=lambda item: (-len(item[1]), item[0])):
        counted = [failure for failure in failures if failure.template not in blameless]
        room = len(closed) < len(usable) // 2
        if uid in usable and uid not in closed and room and len(counted) >= policy.failures:
            closed[uid] = _close(snapshot.now, counted, policy)
    return closed


def plan_avoidance(closed: Mapping[str, Quarantine], nodes: Iterable[Node], placed: Placed) -> tuple[str, ...]:
    """Names of the quarantined nodes that match a pool's placement; none if no other node would be left."""
    reachable = [node for node in nodes if _takes_workers(node) and placed.node_selector.items() <= node.labels.items()]
    avoided = tuple(sorted(node.name for node in reachable if node.uid in closed))
    return avoided if len(avoided) < len(reachable) else ()


def _takes_workers(node: Node) -> bool:
    return node.ready and not node.is_system and not node.draining_because


def _template_faults(
    failures: Iterable[StartFailure], started: frozenset[tuple[str, str]]
) -> frozenset[tuple[str, str]]:
    """Templates that fail on several nodes and run on none: the template is at fault, not the nodes."""
    nodes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for failure in failures:
        nodes[failure.template].add(failure.node_uid)
    return frozenset(template for template, on in nodes.items() if len(on) > 1 and template not in started)


def _all_blameless(failures: list[StartFailure], blameless: frozenset[tuple[str, str]]) -> bool:
    return bool(failures) and all(failure.template in blameless for failure in failures)


def _close(now: datetime, failures: list[StartFailure], policy: QuarantinePolicy) -> Quarantine:
    last = max(failures, key=lambda failure: failure.at)
    minutes = policy.window_seconds / 60
    reason = f"{len(failures)} workers failed to start within {minutes:.0f} min, the last one with {last.reason}"
    return Quarantine(now, now + timedelta(seconds=policy.closed_seconds), reason)
