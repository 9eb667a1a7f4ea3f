"""Whether the answers of this replica can be trusted now."""

from collections.abc import Callable, Mapping
from typing import Any

from mooring.queries.sources import CacheSource, ClusterReachSource, LeaderSource


class Readiness:
    """The state of the caches, of the cluster and of the ledger, as this replica sees them."""

    def __init__(
        self,
        caches: Callable[[], Mapping[str, CacheSource]],
        cluster: ClusterReachSource,
        leadership: LeaderSource,
    ) -> None:
        self._caches = caches
        self._cluster = cluster
        self._leadership = leadership

    @property
    def obstacles(self) -> list[str]:
        """Why answers cannot be trusted: stale caches, an API server or a ledger that does not answer."""
        health = {name: cache.health for name, cache in self._caches().items()}
        found = [
            f"the cache of {name} is {'stale' if one.synced else 'not read yet'}: "
            + (one.last_error or "its watch is not open")
            for name, one in health.items()
            if not (one.synced and one.fresh)
        ]
        if failure := self._cluster.api_failure:
            found.append(f"the API server does not answer: {failure}")
        if failure := self._leadership.ledger_failure:
            found.append(f"the ledger does not answer: {failure}")
        return found

    def describe(self) -> dict[str, Any]:
        """The state of each cache and of the ledger, and who leads."""
        caches = {}
        for name, cache in self._caches().items():
            health = cache.health
            caches[name] = {
                "synced": health.synced,
                "objects": len(cache.cache),
                "lastEventAgeSeconds": health.last_event_age_seconds,
                "error": health.last_error,
            }
        failure = self._leadership.ledger_failure
        return {
            "caches": caches,
            "ledger": {"reachable": not failure, "error": failure},
            "leader": self._leadership.leader_id,
            "leading": self._leadership.leading,
            "notLeadingBecause": self._leadership.obstacle,
        }
