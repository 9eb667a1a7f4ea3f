"""Own writes that the cache has not shown yet (rule 16), so that a lagging watch makes nothing twice."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from mooring.model.worker import Worker
from mooring.planning.pools import InFlight


@dataclass(frozen=True, slots=True)
class _Expectation:
    version: int  # the cache has shown it once it is at least this new; 0 when the answer was lost
    expires_at: float


@dataclass(slots=True)
class _PoolWrites:
    creating: dict[str, _Expectation] = field(default_factory=dict)
    deleting: dict[str, _Expectation] = field(default_factory=dict)
    taken: dict[str, _Expectation] = field(default_factory=dict)


class Overlay:
    """What was written, per pool, until the cache has caught up or so many seconds have passed."""

    def __init__(self, expiry_seconds: float) -> None:
        self._expiry_seconds = expiry_seconds
        self._pools: dict[str, _PoolWrites] = {}

    def created(self, pool: str, name: str, version: int, now: float) -> None:
        """A create was sent; `version` is the answer's resourceVersion."""
        self._of(pool).creating[name] = _Expectation(version, now + self._expiry_seconds)

    def expects(self, pool: str, name: str) -> bool:
        """Whether a create of that name is known and not seen yet."""
        return name in self._of(pool).creating

    def deleted(self, pool: str, uid: str, version: int, now: float) -> None:
        """A delete was accepted."""
        self._of(pool).deleting[uid] = _Expectation(version, now + self._expiry_seconds)

    def taken(self, pool: str, name: str, now: float) -> None:
        """The name belongs to a pod that is not ours."""
        self._of(pool).taken[name] = _Expectation(0, now + self._expiry_seconds)

    def forget(self, pool: str) -> None:
        """The pool is gone."""
        self._pools.pop(pool, None)

    def in_flight(self, pool: str, workers: Iterable[Worker], cache_version: int, now: float) -> InFlight:
        """What the planner must add to the cache's view, which shows these workers."""
        writes = self._pools.get(pool)
        if writes is None or writes == _PoolWrites():
            return InFlight()
        present = {word for worker in workers for word in (worker.name, worker.uid)}
        for name, expected in list(writes.creating.items()):
            shown = name in present or (0 < expected.version <= cache_version)
            if shown or now >= expected.expires_at:
                del writes.creating[name]
        for uid, expected in list(writes.deleting.items()):
            if uid not in present or now >= expected.expires_at:
                del writes.deleting[uid]
        for name, expected in list(writes.taken.items()):
            if now >= expected.expires_at:
                del writes.taken[name]
        return InFlight(frozenset(writes.creating), frozenset(writes.deleting), frozenset(writes.taken))

    def _of(self, pool: str) -> _PoolWrites:
        return self._pools.setdefault(pool, _PoolWrites())
