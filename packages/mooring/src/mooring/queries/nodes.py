"""Nodes as people and programs see them, with what their workers request of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from hawser.fitting.needs import pod_requests
from mooring.model.errors import InvalidInput
from mooring.model.node import Node, Quarantine
from mooring.model.pool import Pool
from mooring.model.why import Why
from mooring.model.worker import WorkerState
from mooring.planning.explanations.nodes import HeldWorker, explain_node

if TYPE_CHECKING:
    from mooring.queries.fleet import WorkerReading


class NodeLoad(msgspec.Struct, frozen=True, rename="camel"):
    """What the node can give to pods, and what its workers request, as the templates of their pools say."""

    cpu_millis: int = 0
    memory_bytes: int = 0
    requested_cpu_millis: int = 0
    requested_memory_bytes: int = 0


class NodeReading(msgspec.Struct, frozen=True, rename="camel"):
    """A node and how many workers of each state it holds."""

    name: str
    uid: str
    ready: bool
    schedulable: bool
    draining: str
    system: bool
    taints: tuple[str, ...]
    labels: dict[str, str]
    created_at: datetime | None
    quarantine: Quarantine | None
    workers: dict[str, int]
    why: Why
    busy: int = (
        0  # workers with a live claim or a stamp, whatever their state: a draining one may still serve a session
    )
    load: NodeLoad = NodeLoad()


def read_requests(pool: Pool) -> Mapping[str, int]:
    """What one worker of the pool requests; nothing while its template has a quantity that is none."""
    try:
        return pod_requests(pool.spec.template.get("spec") or {})
    except InvalidInput:
        return {}


def compute_load(node: Node, workers: list[WorkerReading], requests: Mapping[str, Mapping[str, int]]) -> NodeLoad:
    wanted = [requests.get(f"{worker.namespace}/{worker.pool}", {}) for worker in workers]
    cpu, memory = sum(one.get("cpu", 0) for one in wanted), sum(one.get("memory", 0) for one in wanted)
    return NodeLoad(node.cpu_millis, node.memory_bytes, cpu, memory)


def read_node(node: Node, workers: list[WorkerReading], quarantine: Quarantine | None, load: NodeLoad) -> NodeReading:
    counts = Counter(worker.state for worker in workers)
    return NodeReading(
        name=node.name,
        uid=node.uid,
        ready=node.ready,
        schedulable=not node.draining_because,
        draining=node.draining_because,
        system=node.is_system,
        taints=tuple(str(taint) for taint in node.taints),
        labels=dict(node.labels),
        created_at=node.created_at,
        quarantine=quarantine,
        workers={state.value: counts[state.value] for state in WorkerState},
        busy=sum(bool(worker.claims or worker.owner) for worker in workers),
        why=explain_one(node, workers, quarantine),
        load=load,
    )


def explain_one(node: Node, workers: list[WorkerReading], quarantine: Quarantine | None) -> Why:
    held = [
        HeldWorker(f"{one.namespace}/{one.name}", one.owner, one.protected_until if one.protected else None)
        for one in workers
        if one.claims or one.owner
    ]
    return explain_node(node, quarantine, held)
