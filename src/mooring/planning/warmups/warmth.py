"""Where a dataset is warm, for whoever wants to run next to it: worker pools and submissions."""

from collections.abc import Mapping

from mooring.model.node import Node
from mooring.model.warmup import WarmupStatus


def warm_nodes(status: WarmupStatus, nodes: Mapping[str, Node]) -> tuple[str, ...]:
    """Names of the nodes that hold a shard now and take pods. A node of the same name and another uid is cold."""
    found = set()
    for shard in status.shards:
        node = nodes.get(shard.node)
        if shard.warm and node is not None and node.uid == shard.node_uid and node.ready and not node.draining_because:
            found.add(shard.node)
    return tuple(sorted(found))
