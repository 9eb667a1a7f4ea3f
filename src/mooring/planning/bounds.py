"""The condition ProtectionBounded: whether nothing of a pool can hold a node for ever, and whose shield ends next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from mooring.model.names import KARPENTER_POOL
from mooring.model.node import NodeTemplate
from mooring.model.why import Condition
from mooring.model.worker import ClassifiedWorker
from mooring.planning.nodepools import find_unbounded_node_pools

if TYPE_CHECKING:
    from mooring.planning.pools import PoolSnapshot

TYPE = "ProtectionBounded"
_SHOWN = 3


def compute_bound(snapshot: PoolSnapshot, workers: Sequence[ClassifiedWorker]) -> Condition:
    """False when a drain could last for ever; else True, with a warning while an end is near or passed."""
    generation, ceiling = snapshot.pool.generation, snapshot.pool.spec.protection.ceiling_seconds
    if unbounded := find_unbounded_node_pools(_templates(snapshot, workers), snapshot.pool.spec.protection):
        message = "; ".join(f"{one.message}; apply: {one.fix}" for one in unbounded)
        return Condition(TYPE, "False", "NodePoolUnbounded", message, observed_generation=generation)
    passed = [f"{end.worker.name} since {_shown(end.until)}" for end in snapshot.ends if end.passed]
    near = [f"{end.worker.name} at {_shown(end.until)}" for end in snapshot.ends if not end.passed]
    if passed:
        message = f"no longer protected, though still at work: {_some(passed)}"
        return Condition(TYPE, "True", "CeilingReached", message, observed_generation=generation)
    if near:
        message = f"protection ends though the session goes on: {_some(near)}"
        return Condition(TYPE, "True", "CeilingNear", message, observed_generation=generation)
    message = f"protection ends after {ceiling} s at the latest"
    return Condition(TYPE, "True", "Bounded", message, observed_generation=generation)


def _templates(snapshot: PoolSnapshot, workers: Sequence[ClassifiedWorker]) -> list[NodeTemplate]:
    """The NodePools that this pool's workers are on, or would be put on."""
    names = set(snapshot.placed.templates)
    for item in workers:
        node = snapshot.nodes.get(item.worker.node)
        if node is not None and (name := node.labels.get(KARPENTER_POOL)):
            names.add(name)
    return [template for template in snapshot.templates if template.pool in names]


def _some(texts: list[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(sorted(texts)[:_SHOWN]) + more


def _shown(moment: datetime) -> str:
    return moment.strftime("%H:%M:%SZ")
