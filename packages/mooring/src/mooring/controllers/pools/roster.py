"""A cache of worker classifications: only workers that changed are classified again."""

from collections.abc import Iterable, Mapping

from mooring.model.health import WorkerHealth
from mooring.model.node import Node
from mooring.model.worker import ClassifiedWorker, Worker
from mooring.planning.workers import classify_held


class Roster:
    """Caches the results of a pure function. It changes the cost of a classification, never its result."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Worker, Node | None, int, WorkerHealth | None, ClassifiedWorker]] = {}

    def classify(
        self,
        workers: Iterable[Worker],
        nodes: Mapping[str, Node],
        held: Mapping[str, int],
        unhealthy: Mapping[str, WorkerHealth],
    ) -> tuple[ClassifiedWorker, ...]:
        """The state of each worker; `held` has the live claims and `unhealthy` the failed checks, by pod uid."""
        present: dict[str, tuple[Worker, Node | None, int, WorkerHealth | None, ClassifiedWorker]] = {}
        for worker in workers:
            node, live, health = nodes.get(worker.node), held.get(worker.uid, 0), unhealthy.get(worker.uid)
            known = self._known.get(worker.uid)
            if (
                known is None
                or known[0] is not worker
                or known[1] is not node
                or known[2] != live
                or known[3] is not health
            ):
                known = (worker, node, live, health, classify_held(worker, node, live, health))
            present[worker.uid] = known
        self._known = present
        return tuple(known[4] for known in present.values())
