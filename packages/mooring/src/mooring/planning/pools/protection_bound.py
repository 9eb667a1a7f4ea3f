"""The condition ProtectionBounded: whether the pool's protection can block a node for ever, and which one ends next."""

from collections.abc import Sequence
from datetime import datetime

from mooring.model.names import KARPENTER_POOL
from mooring.model.node import Node
from mooring.model.why import Condition
from mooring.model.worker import ClassifiedWorker
from mooring.planning.pools.node_claims import describe_nodes, find_unbounded_nodes, plan_replacement
from mooring.planning.pools.node_pools import find_unbounded_node_pools
from mooring.planning.pools.snapshot import PoolSnapshot

TYPE = "ProtectionBounded"
_SHOWN = 3


def compute_bound(snapshot: PoolSnapshot, workers: Sequence[ClassifiedWorker]) -> Condition:
    """False if a drain could last for ever; otherwise True, with a warning if a protection ends soon or has ended."""
    generation, ceiling = snapshot.pool.generation, snapshot.pool.spec.protection.ceiling_seconds
    if (open_ended := _open_ended(snapshot, workers)) is not None:
        return open_ended
    passed = [f"{end.worker.name} since {_shown(end.until)}" for end in snapshot.ends if end.passed]
    near = [f"{end.worker.name} at {_shown(end.until)}" for end in snapshot.ends if not end.passed]
    if passed:
        message = f"no longer protected, though still at work: {_some(passed)}"
        return Condition(TYPE, "True", "CeilingReached", message, observed_generation=generation)
    if near:
        message = f"protection ends while the session still runs: {_some(near)}"
        return Condition(TYPE, "True", "CeilingNear", message, observed_generation=generation)
    message = f"protection ends after {ceiling} s at the latest"
    return Condition(TYPE, "True", "Bounded", message, observed_generation=generation)


def _open_ended(snapshot: PoolSnapshot, workers: Sequence[ClassifiedWorker]) -> Condition | None:
    """False if Karpenter does not bound the drain of a node, Unknown if that cannot be read, None if it bounds all."""
    if _all_bounded(snapshot):
        return None
    protection, generation = snapshot.pool.spec.protection, snapshot.pool.generation
    used = {item.worker.node for item in workers}
    names = _node_pools(snapshot, used)
    pools = find_unbounded_node_pools((one for one in snapshot.templates if one.pool in names), protection)
    unpatched = {one.node_pool for one in pools}  # a node that is replaced before the patch comes back unbounded
    nodes = [
        node
        for name, node in snapshot.nodes.items()
        if (name in used or _pool_of(node) in names) and _pool_of(node) not in unpatched
    ]
    kept = find_unbounded_nodes(nodes, protection, snapshot.protected)
    messages, fixes = [one.message for one in pools], [one.fix for one in pools]
    if kept:
        messages.append(describe_nodes(kept))
        fixes.append(plan_replacement(kept))
    if messages:
        reason = "NodePoolUnbounded" if pools else "NodeClaimUnbounded"
        message = f"{'; '.join(messages)}; apply: {' && '.join(fixes)}"
        return Condition(TYPE, "False", reason, message, observed_generation=generation)
    unread = sorted(node.name for node in nodes if _pool_of(node))
    if unread and not snapshot.karpenter_read:
        message = (
            f"the NodePools or NodeClaims of {len(unread)} node(s) are not read: {_some(unread)}; the cluster must"
            " serve nodepools and nodeclaims of karpenter.sh/v1, and Mooring's account needs get, list, watch on them"
        )
        return Condition(TYPE, "Unknown", "NodeClaimsUnread", message, observed_generation=generation)
    return None


def _all_bounded(snapshot: PoolSnapshot) -> bool:
    """Whether Karpenter bounds the drain of every node there is or will be, whatever the pool's workers run on.

    This is so in most clusters, and saves a look at every worker.
    """
    nodes, protection = snapshot.nodes.values(), snapshot.pool.spec.protection
    if find_unbounded_node_pools(snapshot.templates, protection) or find_unbounded_nodes(nodes, protection, {}):
        return False
    return snapshot.karpenter_read or not any(_pool_of(node) for node in nodes)


def _node_pools(snapshot: PoolSnapshot, used: set[str]) -> set[str]:
    """The NodePools on which the pool's workers run or could run."""
    running = {_pool_of(node) for name in used if (node := snapshot.nodes.get(name)) is not None}
    return {*snapshot.placed.templates, *running} - {""}


def _pool_of(node: Node) -> str:
    return node.labels.get(KARPENTER_POOL, "")


def _some(texts: list[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(sorted(texts)[:_SHOWN]) + more


def _shown(moment: datetime) -> str:
    return moment.strftime("%H:%M:%SZ")
