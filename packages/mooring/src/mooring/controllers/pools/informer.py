"""Pools and their workers as the cluster shows them now, kept in Mooring's own words."""

from collections.abc import Mapping

from hawser import views
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.errors import ObjectNotFound
from hawser.resources import PODS, SERVICEACCOUNTS
from mooring.controllers.accounts import is_worker_account
from mooring.controllers.fleet import OnPool, OnWorker
from mooring.controllers.pools.headroom import placeholder_from_pod
from mooring.controllers.pools.translation import pool_from_view, worker_from_pod
from mooring.engine.informer import Informer, OnChange, watch_pace
from mooring.engine.nodes.informer import NodeInformer
from mooring.engine.recent import Recent
from mooring.kinds import views as kinds
from mooring.kinds.resources import WORKERPOOLS
from mooring.model.headroom import Placeholder
from mooring.model.names import HEADROOM, POOL, WORKER
from mooring.model.pool import Pool
from mooring.model.timeouts import Timeouts
from mooring.model.worker import Worker


class PoolInformer(Informer):
    """Caches, translated once a change, not once a look. Serves other controllers as their `Fleet`."""

    def __init__(
        self, client: KubeClient, nodes: NodeInformer, clock: Clock, entropy: Entropy, timeouts: Timeouts
    ) -> None:
        super().__init__(client, clock, entropy, watch_pace(timeouts))
        self._pods = self.reflect("pods", PODS, label_selector=POOL)
        self._pools = self.reflect("pools", WORKERPOOLS)
        self._placeholders = self.reflect("placeholders", PODS, label_selector=HEADROOM)
        self._accounts = self.reflect("accounts", SERVICEACCOUNTS, label_selector=WORKER)
        self._nodes = nodes
        self._departed: Recent[str] = Recent()
        self._workers: dict[str, dict[str, Worker]] = {}  # pool key -> uid -> worker
        self._strangers: dict[str, dict[str, Worker]] = {}  # the same, of pods that no pool stands behind
        self._pool_uids: dict[str, str] = {}  # by pool key; of a pool that was deleted: its last one
        self._by_key: dict[str, Pool] = {}
        self._worker_listeners: list[OnChange] = []
        self._pool_followers: list[OnPool] = []
        self._worker_followers: list[OnWorker] = []
        self._pods.subscribe(self._on_pod)
        self._pools.subscribe(self._on_pool)
        self._placeholders.subscribe(self._on_placeholder)

    def subscribe_workers(self, listener: OnChange) -> None:
        self._worker_listeners.append(listener)

    def follow_pools(self, follower: OnPool) -> None:
        self._pool_followers.append(follower)

    def follow_workers(self, follower: OnWorker) -> None:
        self._worker_followers.append(follower)

    @property
    def pod_version(self) -> int:
        """How new the view of pods is; comes only from pods, as versions of different kinds do not compare."""
        return self._pods.version

    def pool(self, key: str) -> Pool | None:
        return self._by_key.get(key)

    def pool_version(self, pool: Pool) -> int:
        """The resourceVersion of a pool as cached."""
        view = self._pools.cache.get(pool.namespace, pool.name)
        return int(view.metadata.resource_version) if view is not None else 0

    @property
    def pools(self) -> Mapping[str, Pool]:
        return self._by_key

    def workers(self, pool_key: str) -> tuple[Worker, ...]:
        return tuple(self._workers.get(pool_key, {}).values())

    def placeholders(self, pool: Pool) -> tuple[Placeholder, ...]:
        """Pods that hold room for workers of a pool. They are not workers."""
        found = (placeholder_from_pod(pod) for pod in self._placeholders.cache.values())
        return tuple(one for one in found if one is not None and one.pool_uid == pool.uid)

    def worker(self, pool_key: str, uid: str) -> Worker | None:
        return self._workers.get(pool_key, {}).get(uid)

    @property
    def worker_pools(self) -> Mapping[str, Mapping[str, Worker]]:
        return self._workers

    @property
    def strangers(self) -> tuple[Worker, ...]:
        return tuple(stranger for of_pool in self._strangers.values() for stranger in of_pool.values())

    @property
    def departed(self) -> Recent[str]:
        return self._departed

    @property
    def accounts(self) -> tuple[views.ServiceAccount, ...]:
        return tuple(account for account in self._accounts.cache.values() if is_worker_account(account))

    async def look_up(self, namespace: str, name: str) -> Worker | None:
        try:
            worker = worker_from_pod(await self._client.get(PODS, name, namespace))
            if worker is None or self._pool_uids.get(f"{namespace}/{worker.pool}") == worker.pool_uid:
                return worker
            pool = await self._client.get(WORKERPOOLS, worker.pool, namespace)  # the cache may not show it yet
        except ObjectNotFound:
            return None
        return worker if pool.metadata.uid == worker.pool_uid else None

    def _on_pod(self, change: Change[views.Pod]) -> None:
        pod = change.latest
        key = _pool_key(pod)
        if change.old is not None and (former := _pool_key(change.old)) != key:
            self._place(former, pod.metadata.uid, None)  # its label was changed to another pool's
        worker = worker_from_pod(change.new) if change.new is not None else None
        if worker is None and self.worker(key, pod.metadata.uid) is not None:
            node = self._nodes.by_name.get(pod.spec.node_name)
            self._departed.put(pod.metadata.uid, node.draining_because if node is not None else "")
        self._place(key, pod.metadata.uid, worker)

    def _place(self, key: str, uid: str, worker: Worker | None) -> None:
        """Among the workers, or among the strangers: a pod is believed only under the uid of its pool."""
        before = self.worker(key, uid)
        is_stranger = worker is not None and worker.pool_uid != self._pool_uids.get(key)
        for known, belongs in ((self._workers, not is_stranger), (self._strangers, is_stranger)):
            if worker is not None and belongs:
                known.setdefault(key, {})[uid] = worker
            elif uid in known.get(key, {}):
                del known[key][uid]
        if is_stranger:
            worker = None
        self._notify("worker", key)
        for listener in self._worker_listeners:
            listener(key, uid)
        for follower in self._worker_followers:
            follower(key, before, worker)

    def _on_placeholder(self, change: Change[views.Pod]) -> None:
        meta = change.latest.metadata
        self._notify("placeholder", f"{meta.namespace}/{meta.labels.get(HEADROOM, '')}")

    def _on_pool(self, change: Change[kinds.WorkerPool]) -> None:
        key = change.latest.metadata.key
        before = self._by_key.get(key)
        pool = pool_from_view(change.new) if change.new is not None else None
        if pool is None:
            self._by_key.pop(key, None)
        else:
            self._by_key[key] = pool
        self._notify("pool", key)
        for follower in self._pool_followers:
            follower(key, before, pool)
        if pool is not None and self._pool_uids.get(key) != pool.uid:
            self._pool_uids[key] = pool.uid
            for uid, pod in {**self._workers.get(key, {}), **self._strangers.get(key, {})}.items():
                self._place(key, uid, pod)


def _pool_key(pod: views.Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.labels.get(POOL, '')}"
