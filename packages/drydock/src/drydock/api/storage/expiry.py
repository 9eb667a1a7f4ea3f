"""Events are gone an hour after they were last written, as kube-apiserver's --event-ttl has it."""

from collections import deque
from datetime import datetime, timedelta

from drydock.api.cluster import Cluster
from drydock.api.storage.store import Change, Stored, Table, TableKey

LIFETIME = timedelta(hours=1)
_TABLES = (TableKey("", "events"), TableKey("events.k8s.io", "events"))


class EventExpiry:
    """Looks for what has expired whenever an event is written: an API without events needs no tidying."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        for key in _TABLES:
            self._follow(cluster.store.table(key))

    def _follow(self, table: Table) -> None:
        written: deque[tuple[datetime, Stored]] = deque()
        now = self._cluster.clock.now()
        written.extend((now, stored) for stored in sorted(table.objects.values(), key=lambda stored: stored.version))

        def on_change(change: Change) -> None:
            if change.type == "DELETED":
                return
            moment = self._cluster.clock.now()
            written.append((moment, change.stored))
            while written and written[0][0] + LIFETIME <= moment:
                _, old = written.popleft()
                if table.objects.get(old.key) is old:
                    self._cluster.store.remove(table, old.key)

        table.listen(on_change)
