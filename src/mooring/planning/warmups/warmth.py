"""Where a dataset is warm, for whoever wants to run next to it: worker pools and submissions."""

from collections.abc import Mapping
from dataclasses import replace

from mooring.model.node import Node
from mooring.model.pool import Placement
from mooring.model.warmup import WarmupStatus
from mooring.planning.placement import Placed


def warm_nodes(status: WarmupStatus, nodes: Mapping[str, Node]) -> tuple[str, ...]:
    """Names of the nodes that hold a shard now and take pods. A node of the same name and another uid is cold."""
    found = set()
    for shard in status.shards:
        name, uid = shard.holder
        node = nodes.get(name)
        if shard.warm and node is not None and node.uid == uid and node.ready and not node.draining_because:
            found.add(name)
    return tuple(sorted(found))


def place_near(placed: Placed, placement: Placement, warm: tuple[str, ...] | None) -> Placed:
    """A placement drawn to the nodes where its Warmup is warm, or bound to them. `warm` is None without a Warmup."""
    if not placement.warmup or placed.problem:
        return placed
    if not placement.warmup_required:
        return replace(placed, prefer=warm or ())
    if not warm:
        told = "is warm on no node" if warm is not None else "does not exist in this namespace"
        problem = f"warmup {placement.warmup!r} {told}, and placement.warmupRequired is true"
        return replace(placed, problem=problem, fix=f"see 'mooring warmups {placement.warmup}'")
    return replace(placed, require=warm)
