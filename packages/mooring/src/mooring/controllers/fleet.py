"""Pools and workers as the cluster shows them now: what controllers other than the pools' own may know of them."""

from collections.abc import Callable, Mapping
from typing import Protocol

from hawser import views
from mooring.engine.informer import OnChange
from mooring.engine.recent import Recent
from mooring.model.pool import Pool
from mooring.model.worker import Worker

OnPool = Callable[[str, Pool | None, Pool | None], None]  # its key, what it was and what it is
OnWorker = Callable[[str, Worker | None, Worker | None], None]  # the same, with its pool's key


class Fleet(Protocol):
    """Read from caches, which `controllers/pools/informer.py` keeps."""

    @property
    def synced(self) -> bool: ...

    @property
    def pools(self) -> Mapping[str, Pool]:
        """By key."""
        ...

    def pool(self, key: str) -> Pool | None: ...

    def workers(self, pool_key: str) -> tuple[Worker, ...]:
        """The workers of this pool: their controller has the pool's uid."""
        ...

    def worker(self, pool_key: str, uid: str) -> Worker | None: ...

    @property
    def worker_pools(self) -> Mapping[str, Mapping[str, Worker]]:
        """All workers, by pool key and uid."""
        ...

    @property
    def strangers(self) -> tuple[Worker, ...]:
        """Pods whose controller is a WorkerPool with a uid that no pool has: of a former pool, or forged."""
        ...

    @property
    def departed(self) -> Recent[str]:
        """Workers that this replica saw leave, by uid, and why their node was drained (empty: it was not)."""
        ...

    @property
    def accounts(self) -> tuple[views.ServiceAccount, ...]:
        """The per-worker ServiceAccounts."""
        ...

    async def look_up(self, namespace: str, name: str) -> Worker | None:
        """The worker of that name, read from the API server: the cache may not show it yet."""
        ...

    def subscribe(self, listener: OnChange) -> None:
        """Call `listener` for every change of a pool or worker; it must not wait."""
        ...

    def subscribe_workers(self, listener: OnChange) -> None:
        """Call `listener` with the pool key and the uid of every worker that changed; it must not wait."""
        ...

    def follow_pools(self, follower: OnPool) -> None:
        """Call `follower` with what each pool was and is, after all other listeners; it must not wait."""
        ...

    def follow_workers(self, follower: OnWorker) -> None:
        """Call `follower` with what each worker was and is, after all other listeners; it must not wait."""
        ...
