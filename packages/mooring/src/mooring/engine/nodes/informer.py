"""The nodes as the cluster shows them now, and where pods of a placement go on them."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from hawser import views
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.resources import NODES
from mooring.engine.informer import Informer, watch_pace
from mooring.engine.nodes.karpenter import Karpenter
from mooring.engine.nodes.translation import node_from_view
from mooring.engine.recent import Recent
from mooring.model.node import Node, NodeTemplate
from mooring.model.placement import Placement
from mooring.model.timeouts import Timeouts
from mooring.planning.actions import earliest
from mooring.planning.placement import Placed, place_near, plan_placement

NODE, NODE_POOL = "node", "nodepool"

WarmNodes = Callable[[str, str], tuple[str, ...] | None]  # by namespace and name of a Warmup: where it is warm


class NodeInformer(Informer):
    """Caches, translated once a change. Notifies with the kinds "node", "nodepool" and "nodeclaim"."""

    def __init__(self, client: KubeClient, clock: Clock, entropy: Entropy, timeouts: Timeouts) -> None:
        super().__init__(client, clock, entropy, watch_pace(timeouts))
        self._nodes = self.reflect("nodes", NODES)
        self.karpenter = Karpenter(client, clock, entropy)
        self._by_name: dict[str, Node] = {}
        self._gone: Recent[datetime] = Recent()
        self._warm_nodes: WarmNodes = lambda namespace, name: None
        self.changes = 0  # of nodes and node pools
        self._nodes.subscribe(self._on_node)
        self.karpenter.subscribe(self._on_karpenter)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run())
            group.create_task(self.karpenter.run())

    @property
    def by_name(self) -> Mapping[str, Node]:
        """The nodes now. A change makes another mapping, so that a snapshot can keep this one."""
        return self._by_name

    @property
    def templates(self) -> tuple[NodeTemplate, ...]:
        """Nodes that are not there, but would be made."""
        return self.karpenter.templates

    def gone_since(self, name: str) -> datetime | None:
        """When this replica saw a node go; None when it did not, or the node is there."""
        return self._gone.get(name)

    def follow_warmth(self, warm_nodes: WarmNodes) -> None:
        """From now on placements may name a Warmup: `warm_nodes` answers where one is warm."""
        self._warm_nodes = warm_nodes

    def place(self, placement: Placement, namespace: str) -> Placed:
        """Where pods of that placement go, as nodes, node pools and the caches on nodes are now."""
        placed = plan_placement(placement, self._by_name.values(), self.karpenter.templates)
        placed = replace(placed, settled=self.karpenter.node_pools.settled)
        return place_near(placed, placement, self._warm_nodes(namespace, placement.warmup))

    def _on_node(self, change: Change[views.Node]) -> None:
        name = change.latest.metadata.name
        if change.new is None:
            self._by_name = {other: node for other, node in self._by_name.items() if other != name}
            self._gone.put(name, self._clock.now())
        else:
            self._gone.pop(name)
            node = self._dated(node_from_view(change.new))
            if self._by_name.get(name) == node:
                return
            self._by_name = {**self._by_name, name: node}
        self._notify(NODE, name)

    def _dated(self, node: Node) -> Node:
        """With what Karpenter does to it, and since when it drains: if nothing says so, since it was seen so."""
        before = self._by_name.get(node.name)
        seen = before.draining_since if before is not None and before.uid == node.uid else None
        since = earliest(seen, node.draining_since, self.karpenter.leaving_since(node.name)) or self._clock.now()
        node = replace(
            node,
            claim_terminating=self.karpenter.is_leaving(node.name),
            drain_bound=self.karpenter.drain_bound(node.name),
        )
        return replace(node, draining_since=since if node.draining_because else None)

    def _on_karpenter(self, kind: str, name: str) -> None:
        node = self._by_name.get(name) if kind == "nodeclaim" else None
        if node is not None and (dated := self._dated(node)) != node:
            self._by_name = {**self._by_name, name: dated}
            self._notify(NODE, name)
        self._notify(kind, name)

    def _notify(self, kind: str, key: str) -> None:
        self.changes += kind in (NODE, NODE_POOL)
        super()._notify(kind, key)
