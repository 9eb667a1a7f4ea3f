"""The fleet as the cluster shows it now: pools, workers and nodes, kept in Mooring's own words."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from mooring.clock import Clock, Entropy
from mooring.control.karpenter import Karpenter
from mooring.control.translation import is_worker_account, node_from_view, pool_from_view, worker_from_pod
from mooring.control.watch import OnChange, Watch
from mooring.kube import views
from mooring.kube.cache import Change
from mooring.kube.client import KubeClient
from mooring.kube.reflector import Pace
from mooring.kube.resources import NODES, PODS, SERVICEACCOUNTS, WORKERPOOLS
from mooring.model.names import POOL, WORKER
from mooring.model.node import Node, NodeTemplate
from mooring.model.pool import Placement, Pool
from mooring.model.timeouts import Timeouts
from mooring.model.worker import Worker
from mooring.planning.actions import earliest
from mooring.planning.placement import Placed, plan_placement
from mooring.planning.warmups.warmth import place_near

T = TypeVar("T")
_MOST_DEPARTED = 10_000

OnPool = Callable[[str, Pool | None, Pool | None], None]  # its key, what it was and what it is
OnWorker = Callable[[str, Worker | None, Worker | None], None]  # the same, with its pool's key


class Fleet(Watch):
    """Caches, translated once per change, not once per look."""

    def __init__(self, client: KubeClient, clock: Clock, entropy: Entropy, timeouts: Timeouts) -> None:
        super().__init__(client, clock, entropy, watch_pace(timeouts))
        self._pods = self.reflect("pods", PODS, label_selector=POOL)
        self._nodes = self.reflect("nodes", NODES)
        self._pools = self.reflect("pools", WORKERPOOLS)
        self._accounts = self.reflect("accounts", SERVICEACCOUNTS, label_selector=WORKER)
        self.karpenter = Karpenter(client, clock, entropy)
        self._departed: dict[str, str] = {}  # uids of workers seen leaving, the latest last, and why they were drained
        self._gone_nodes: dict[str, datetime] = {}  # names of nodes seen leaving, the latest last
        self._workers: dict[str, dict[str, Worker]] = {}  # pool key -> uid -> worker
        self._nodes_by_name: dict[str, Node] = {}
        self._pools_by_key: dict[str, Pool] = {}
        self._warm_nodes: Callable[[str, str], tuple[str, ...] | None] = lambda namespace, name: None
        self.terrain = 0  # counts the changes of nodes and node pools
        self._worker_listeners: list[OnChange] = []
        self._pool_followers: list[OnPool] = []
        self._worker_followers: list[OnWorker] = []
        self._pods.subscribe(self._on_pod)
        self._nodes.subscribe(self._on_node)
        self._pools.subscribe(self._on_pool)
        self.karpenter.subscribe(self._on_karpenter)

    def subscribe_workers(self, listener: OnChange) -> None:
        """Be told the pool key and the uid of every worker that changed; must not wait."""
        self._worker_listeners.append(listener)

    def follow(self, on_pool: OnPool, on_worker: OnWorker) -> None:
        """Be told what each pool and worker was and is, after everybody else; must not wait."""
        self._pool_followers.append(on_pool)
        self._worker_followers.append(on_worker)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run())
            group.create_task(self.karpenter.run())

    @property
    def pod_version(self) -> int:
        """How new the view of pods is; comes only from pods, as versions of different kinds do not compare."""
        return self._pods.version

    def pool(self, key: str) -> Pool | None:
        return self._pools_by_key.get(key)

    def pool_version(self, key: str) -> int:
        """The resourceVersion of a pool as cached."""
        namespace, _, name = key.partition("/")
        view = self._pools.cache.get(namespace, name)
        return int(view.metadata.resource_version) if view is not None else 0

    @property
    def pools(self) -> Mapping[str, Pool]:
        return self._pools_by_key

    def workers(self, pool_key: str) -> tuple[Worker, ...]:
        """The workers that carry this pool's name; leftovers of an older pool of that name have another pool uid."""
        return tuple(self._workers.get(pool_key, {}).values())

    def worker(self, pool_key: str, uid: str) -> Worker | None:
        """One worker by its uid."""
        return self._workers.get(pool_key, {}).get(uid)

    @property
    def worker_pools(self) -> Mapping[str, Mapping[str, Worker]]:
        """All workers, by pool key and uid."""
        return self._workers

    @property
    def departed(self) -> Mapping[str, str]:
        """Uids of workers that this replica saw leave, lately, and why their node was drained (empty: it was not)."""
        return self._departed

    @property
    def accounts(self) -> tuple[views.ServiceAccount, ...]:
        """The per-worker ServiceAccounts."""
        return tuple(account for account in self._accounts.cache.values() if is_worker_account(account))

    @property
    def nodes(self) -> Mapping[str, Node]:
        return self._nodes_by_name

    def node_gone_since(self, name: str) -> datetime | None:
        """When this replica saw a node go; None when it did not, or the node is there."""
        return self._gone_nodes.get(name)

    @property
    def node_templates(self) -> tuple[NodeTemplate, ...]:
        """Nodes that are not there, but would be made."""
        return self.karpenter.templates

    def learn_warmth(self, warm_nodes: Callable[[str, str], tuple[str, ...] | None]) -> None:
        """From now on placements may name a Warmup: this tells where one, by namespace and name, is warm."""
        self._warm_nodes = warm_nodes

    def place(self, placement: Placement, namespace: str) -> Placed:
        """Where pods of that wish go, as nodes, node pools and the caches on nodes are now."""
        placed = plan_placement(placement, self._nodes_by_name.values(), self.karpenter.templates)
        placed = replace(placed, settled=self.karpenter.node_pools.settled)
        return place_near(placed, placement, self._warm_nodes(namespace, placement.warmup))

    def _on_pod(self, change: Change[views.Pod]) -> None:
        pod = change.latest
        key = f"{pod.metadata.namespace}/{pod.metadata.labels.get(POOL, '')}"
        worker = worker_from_pod(change.new) if change.new is not None else None
        before = self.worker(key, pod.metadata.uid)
        if worker is None:
            self._workers.get(key, {}).pop(pod.metadata.uid, None)
            node = self._nodes_by_name.get(pod.spec.node_name)
            _remember(self._departed, pod.metadata.uid, node.draining_because if node is not None else "")
        else:
            self._workers.setdefault(key, {})[worker.uid] = worker
        self._tell("worker", key)
        for listener in self._worker_listeners:
            listener(key, pod.metadata.uid)
        for follower in self._worker_followers:
            follower(key, before, worker)

    def _on_node(self, change: Change[views.Node]) -> None:
        if change.new is None:
            assert change.old is not None
            name = change.old.metadata.name
            self._nodes_by_name.pop(name, None)
            _remember(self._gone_nodes, name, self._clock.now())
        else:
            node = node_from_view(change.new)
            name = node.name
            self._gone_nodes.pop(name, None)
            node = self._with_claim(node)
            if self._nodes_by_name.get(name) == node:
                return
            self._nodes_by_name[name] = node
        self._tell("node", name)

    def _with_claim(self, node: Node) -> Node:
        """With what Karpenter does to it, and dated: what drains and nowhere says since when, since it was seen so."""
        before = self._nodes_by_name.get(node.name)
        seen = before.draining_since if before is not None and before.uid == node.uid else None
        since = earliest(seen, node.draining_since, self.karpenter.leaving_since(node.name)) or self._clock.now()
        node = replace(node, claim_terminating=self.karpenter.is_leaving(node.name))
        return replace(node, draining_since=since if node.draining_because else None)

    def _on_karpenter(self, kind: str, name: str) -> None:
        node = self._nodes_by_name.get(name) if kind == "nodeclaim" else None
        if node is not None and node.claim_terminating != self.karpenter.is_leaving(name):
            self._nodes_by_name[name] = self._with_claim(node)
            self._tell("node", name)
        self._tell(kind, name)

    def _on_pool(self, change: Change[views.WorkerPool]) -> None:
        view = change.latest
        key = view.metadata.key
        before = self._pools_by_key.get(key)
        pool = pool_from_view(change.new) if change.new is not None else None
        if pool is None:
            self._pools_by_key.pop(key, None)
        else:
            self._pools_by_key[key] = pool
        self._tell("pool", key)
        for follower in self._pool_followers:
            follower(key, before, pool)

    def _tell(self, kind: str, key: str) -> None:
        self.terrain += kind in ("node", "nodepool")
        super()._tell(kind, key)


def _remember(known: dict[str, T], key: str, value: T) -> None:
    """Keep the latest only."""
    known[key] = value
    if len(known) > _MOST_DEPARTED:
        del known[next(iter(known))]


def watch_pace(timeouts: Timeouts) -> Pace:
    """How patient the watches of a control plane are."""
    return Pace(silence_seconds=timeouts.watch_silence, watch_seconds=(timeouts.watch_life, 2 * timeouts.watch_life))
