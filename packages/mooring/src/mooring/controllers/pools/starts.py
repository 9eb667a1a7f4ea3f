"""How long workers take to start: seconds from creation to readiness, of those that become ready while it looks."""

from collections import Counter

from hawser.clock import Clock
from mooring.controllers.pools.informer import PoolInformer
from mooring.model.pool_history import bucket_of
from mooring.model.worker import Worker


class StartTimes:
    """Collected until they are taken. Only the leader takes them, so others forget them with each step."""

    def __init__(self, informer: PoolInformer, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, Counter[int]] = {}
        informer.follow_workers(self._on_worker)

    def take(self) -> dict[str, dict[int, int]]:
        """Buckets of `pool_history` by pool key, of the time since the last call."""
        seen, self._seen = self._seen, {}
        return {key: dict(counts) for key, counts in seen.items()}

    def _on_worker(self, key: str, before: Worker | None, after: Worker | None) -> None:
        # A worker that is ready when it is first seen became so earlier; one that was ready before has only recovered.
        if after is None or before is None or before.ready or not after.ready:
            return
        if after.restarts or after.unproven_since is not None or after.ready_since is None:
            return
        recovered = before.unready_since is not None and before.unready_since > (before.started_at or before.created_at)
        if not recovered:
            seconds = max(0.0, (self._clock.now() - after.created_at).total_seconds())
            self._seen.setdefault(key, Counter())[bucket_of(seconds)] += 1
