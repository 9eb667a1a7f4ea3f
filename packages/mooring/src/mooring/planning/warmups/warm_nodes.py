"""The nodes on which a dataset is warm, for the placement of worker pools and submissions."""

from collections.abc import Mapping

from mooring.model.node import Node
from mooring.model.warmup import WarmupStatus


def warm_nodes(status: WarmupStatus, nodes: Mapping[str, Node]) -> tuple[str, ...]:
    """Names of the nodes that hold a shard and take pods. A node with the same name and another uid is cold."""
    found = set()
    for shard in status.shards:
        name, uid = shard.holder
        node = nodes.get(name)
        if shard.warm and node is not None and node.uid == uid and node.ready and not node.draining_because:
            found.add(name)
    return tuple(sorted(found))
