"""Why a node takes workers or does not, and which sessions it waits for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from mooring.model.node import Node, Quarantine
from mooring.model.time_format import describe_moment
from mooring.model.why import Why


@dataclass(frozen=True, slots=True)
class HeldWorker:
    """A claimed worker on the node."""

    worker: str  # namespace/name
    owner: str
    protected_until: datetime | None = None


def explain_node(node: Node, quarantine: Quarantine | None, held: Sequence[HeldWorker]) -> Why:
    """The most serious reason; others are listed as blockers."""
    draining = node.draining_because
    shut = f"quarantined until {quarantine.until:%H:%M:%SZ}: {quarantine.reason}" if quarantine is not None else ""
    sessions = tuple(_describe(held_worker) for held_worker in held)
    ends = max((one.protected_until for one in held if one.protected_until), default=None)
    waits = f", {len(held)} worker(s) are held" if held else ""
    if not node.ready:
        others = tuple(text for text in (draining, shut) if text)
        since = node.ready_since or node.created_at
        fix = f"kubectl describe node {node.name}"
        return Why("not_ready", f"its kubelet is not Ready{waits}", since, (*others, *sessions), ends, fix)
    if draining:
        since = node.draining_since or node.created_at
        blockers = (*((shut,) if shut else ()), *sessions)
        return Why("draining", f"{draining}{waits}", since, blockers, ends, f"mooring drain-check {node.name}")
    if quarantine is not None:
        message = f"gets no new workers: {quarantine.reason}"
        return Why("quarantined", message, quarantine.since, (), quarantine.until, f"kubectl describe node {node.name}")
    since = node.ready_since or node.created_at
    if node.is_system:
        return Why("system", f"for the cluster's own parts: {', '.join(map(str, node.taints))}", since)
    return Why("open", "Ready and open for work", since)


def _describe(held_worker: HeldWorker) -> str:
    until = held_worker.protected_until
    protection = f"protected until {describe_moment(until)}" if until is not None else "not protected"
    return f"worker/{held_worker.worker} of {held_worker.owner or 'no owner'}, {protection}"
