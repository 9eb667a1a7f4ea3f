"""A cache of worker classifications: only workers that changed are classified again."""

from collections.abc import Iterable, Mapping

from mooring.model.health import WorkerHealth
from mooring.model.node import Node
from mooring.model.worker import ClassifiedWorker, Worker
from mooring.planning.workers import classify_held


class Roster:
    """Caches the results of a pure function. It changes the cost of a classification, never its result."""

    def __init__(self) -> None:
        self._known: dict[str, ClassifiedWorker] = {}
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
        known, present = self._known, {}
        on_changed, with_changed = _changed(self._nodes, nodes), _changed(self._unhealthy, unhealthy)
        for worker in workers:
            uid, node = worker.uid, worker.node
            live, item = held.get(uid, 0), known.get(uid)
            if (
                item is None
                or item.worker is not worker
                or item.live_claims != live
                or node in on_changed
                or uid in with_changed
            ):
                item = classify_held(worker, nodes.get(node), live, unhealthy.get(uid))
            present[uid] = item
        self._known, self._nodes, self._unhealthy = present, dict(nodes), dict(unhealthy)
        return tuple(present.values())


def _changed(before: Mapping[str, object], now: Mapping[str, object]) -> set[str]:
    """The keys whose value is another object now, or is there in only one of the two."""
    return {key for key in before.keys() | now.keys() if before.get(key) is not now.get(key)}
