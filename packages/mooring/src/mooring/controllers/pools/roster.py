"""A cache of worker classifications: only workers that changed are classified again."""

from collections.abc import Iterable, Mapping

import msgspec

from mooring.model.health import WorkerHealth
from mooring.model.node import Node
from mooring.model.worker import ClassifiedWorker, Worker
from mooring.planning.workers import classify_held


class _Known(msgspec.Struct, gc=False):
    """A classification, and all that it was made from."""

    worker: Worker
    node: Node | None
    live: int
    health: WorkerHealth | None
    classified: ClassifiedWorker


class Roster:
    """Caches the results of a pure function. It changes the cost of a classification, never its result."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def classify(
        self,
        workers: Iterable[Worker],
        nodes: Mapping[str, Node],
        held: Mapping[str, int],
        unhealthy: Mapping[str, WorkerHealth],
    ) -> tuple[ClassifiedWorker, ...]:
        """The state of each worker; `held` has the live claims and `unhealthy` the failed checks, by pod uid."""
        present: dict[str, _Known] = {}
        for worker in workers:
            node, live, health = nodes.get(worker.node), held.get(worker.uid, 0), unhealthy.get(worker.uid)
            known = self._known.get(worker.uid)
            if (
                known is None
                or known.worker is not worker
                or known.node is not node
                or known.live != live
                or known.health is not health
            ):
                known = _Known(worker, node, live, health, classify_held(worker, node, live, health))
            present[worker.uid] = known
        self._known = present
        return tuple(known.classified for known in present.values())
