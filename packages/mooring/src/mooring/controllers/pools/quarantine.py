"""Which nodes are closed for new workers: remembered here, decided in planning/quarantine.py.

All of it may be lost: a new process sees the workers that still fail, and counts again from those.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta

import structlog

from hawser.clock import Clock
from mooring.controllers.pools.informer import PoolInformer
from mooring.controllers.pools.metrics import NODES_QUARANTINED
from mooring.engine.nodes.informer import NODE, NodeInformer
from mooring.model.node import Quarantine
from mooring.planning.quarantine import (
    QuarantinePolicy,
    QuarantineSnapshot,
    StartFailure,
    describe_failed_start,
    plan_quarantine,
    proves_template,
)

log = structlog.get_logger()

POLICY = QuarantinePolicy()


class Quarantines:
    """Counts each failed start once, by the uid of the node it failed on."""

    def __init__(self, informer: PoolInformer, nodes: NodeInformer, clock: Clock) -> None:
        self._informer = informer
        self._nodes = nodes
        self._clock = clock
        self._failures: dict[str, StartFailure] = {}  # by worker uid
        self._homeless: dict[str, str] = {}  # worker uid -> pool key: failed on a node that is not known yet
        self._closed: dict[str, Quarantine] = {}  # by node uid
        self._listeners: list[Callable[[str], None]] = []
        informer.subscribe_workers(self._on_worker)
        nodes.subscribe(self._on_change)

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the name of every node that is closed or opened again."""
        self._listeners.append(listener)

    def closed(self) -> Mapping[str, Quarantine]:
        """The closed nodes, by uid."""
        if self._failures or self._closed:
            self._decide()
        return self._closed

    def _on_worker(self, pool_key: str, uid: str) -> None:
        worker = self._informer.worker(pool_key, uid)
        reason = describe_failed_start(worker) if worker is not None else ""
        if worker is None or not reason or uid in self._failures:
            return
        node = self._nodes.by_name.get(worker.node)
        if node is None:
            self._homeless[uid] = pool_key
            return
        template = (pool_key, worker.spec_hash)
        self._failures[uid] = StartFailure(uid, node.uid, template, self._clock.now(), reason)
        self._decide()

    def _on_change(self, kind: str, _: str) -> None:
        if kind == NODE and self._homeless:
            homeless, self._homeless = self._homeless, {}
            for uid, pool_key in homeless.items():
                self._on_worker(pool_key, uid)

    def _decide(self) -> None:
        now = self._clock.now()
        oldest = now - timedelta(seconds=POLICY.window_seconds)
        self._failures = {uid: failure for uid, failure in self._failures.items() if failure.at > oldest}
        snapshot = QuarantineSnapshot(
            now, self._nodes.by_name, tuple(self._failures.values()), self._started(), self._closed
        )
        before, self._closed = self._closed, plan_quarantine(snapshot, POLICY)
        NODES_QUARANTINED.set(len(self._closed))
        for node in self._nodes.by_name.values():
            if (node.uid in before) != (node.uid in self._closed):
                self._notify(node.name, self._closed.get(node.uid))

    def _started(self) -> frozenset[tuple[str, str]]:
        """Of the templates that failed somewhere, those of which a worker runs."""
        now = self._clock.now()
        failing = {failure.template for failure in self._failures.values()}
        return frozenset(
            (pool_key, spec_hash)
            for pool_key, spec_hash in failing
            if any(
                worker.spec_hash == spec_hash and proves_template(worker, now)
                for worker in self._informer.workers(pool_key)
            )
        )

    def _notify(self, name: str, quarantine: Quarantine | None) -> None:
        if quarantine is None:
            log.info("node accepts workers again", node=name)
        else:
            log.warning("node quarantined", node=name, reason=quarantine.reason, until=quarantine.until.isoformat())
        for listener in self._listeners:
            listener(name)
