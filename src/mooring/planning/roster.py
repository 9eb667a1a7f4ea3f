"""How the workers of a pool were classified last time: only those that changed are classified again."""

from collections.abc import Iterable, Mapping

from mooring.model.node import Node
from mooring.model.worker import ClassifiedWorker, Worker
from mooring.planning.workers import classify_held


class Roster:
    """Remembers answers of a pure function, so it changes how long an answer takes and never what it is."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Worker, Node | None, int, ClassifiedWorker]] = {}

    def classify(
        self, workers: Iterable[Worker], nodes: Mapping[str, Node], held: Mapping[str, int]
    ) -> tuple[ClassifiedWorker, ...]:
        """The state of each worker; `held` are the live claims by pod uid."""
        present: dict[str, tuple[Worker, Node | None, int, ClassifiedWorker]] = {}
        for worker in workers:
            node, live = nodes.get(worker.node), held.get(worker.uid, 0)
            known = self._known.get(worker.uid)
            if known is None or known[0] is not worker or known[1] is not node or known[2] != live:
                known = (worker, node, live, classify_held(worker, node, live))
            present[worker.uid] = known
        self._known = present
        return tuple(known[3] for known in present.values())
