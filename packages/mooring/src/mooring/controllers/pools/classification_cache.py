"""A cache of worker classifications: only workers that changed are classified again."""

from collections.abc import Iterable, Mapping

from mooring.model.health import WorkerHealth
from mooring.model.node import Node
from mooring.model.worker import ClassifiedWorker, Worker
from mooring.planning.workers import classify_held


class ClassificationCache:
    """Caches the results of a pure function. It changes the cost of a classification, never its result."""

    def __init__(self) -> None:
        self._known: tuple[ClassifiedWorker, ...] = ()
        self._nodes: Mapping[str, Node] = {}
        self._unhealthy: Mapping[str, WorkerHealth] = {}

    def classify(
        self,
        workers: Iterable[Worker],
        nodes: Mapping[str, Node],
        held: Mapping[str, int],
        unhealthy: Mapping[str, WorkerHealth],
    ) -> tuple[ClassifiedWorker, ...]:
        """The state of each worker; `held` has the live claims and `unhealthy` the failed checks, by pod uid.

        What is the same for many workers is compared once: a large fleet does not fit into the processor's cache, so
        each look at every worker costs more than the comparison.
        """
        on_changed, with_changed = _changed(self._nodes, nodes), _changed(self._unhealthy, unhealthy)
        known = iter(self._known)
        item = next(known, None)
        classified: list[ClassifiedWorker] = []
        for worker in workers:
            uid, node = worker.uid, worker.node
            while item is not None and item.worker is not worker and item.worker.uid != uid:
                item = next(known, None)  # that one has left: workers keep their order, and new ones come last
            live = held.get(uid, 0)
            if (
                item is None
                or item.worker is not worker
                or item.live_claims != live
                or node in on_changed
                or uid in with_changed
            ):
                classified.append(classify_held(worker, nodes.get(node), live, unhealthy.get(uid)))
            else:
                classified.append(item)
            item = next(known, None)
        self._known, self._nodes, self._unhealthy = tuple(classified), dict(nodes), dict(unhealthy)
        return self._known


def _changed(before: Mapping[str, object], now: Mapping[str, object]) -> set[str]:
    """The keys whose value is another object now, or is there in only one of the two."""
    return {key for key in before.keys() | now.keys() if before.get(key) is not now.get(key)}
