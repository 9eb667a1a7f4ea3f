"""The parts of the pages of one worker and one node; the page is built from them, and the stream sends them."""

from mooring.dashboard.views import Fragments, Selection, render
from mooring.queries.inspection import Inspection
from mooring.queries.worker_detail import read_worker

WORKER_PARTS = ("standing", "protection", "health", "timeline", "sessions")
NODE_PARTS = ("standing", "verdict", "sessions", "workers")
HISTORY_SECONDS = 5.0  # reading a worker's history is slow, so it is kept this long; its claims are read every time


async def worker_fragments(inspection: Inspection, selection: Selection) -> Fragments:
    """The live parts of a worker's page: from memory and the ledger, no call to the cluster."""
    namespace, _, name = selection.subject.partition("/")
    detail = await read_worker(inspection, namespace, name, HISTORY_SECONDS)
    if detail is None:
        return _gone("worker", selection.subject, name, WORKER_PARTS)
    return {part: render(f"_worker_{part}.html", detail=detail, now=inspection.clock.now()) for part in WORKER_PARTS}


async def node_fragments(inspection: Inspection, selection: Selection) -> Fragments:
    """The live parts of a node's page: from memory and the ledger, no call to the cluster."""
    look = await inspection.node(selection.subject)
    if look is None:
        return _gone("node", selection.subject, selection.subject, NODE_PARTS)
    return {part: render(f"_node_{part}.html", look=look, now=inspection.clock.now()) for part in NODE_PARTS}


def _gone(kind: str, subject: str, name: str, parts: tuple[str, ...]) -> Fragments:
    """The same parts, so that the page needs no reload; they are filled again if an object with that name appears."""
    hidden = {part: render("_hidden.html", part=part) for part in parts}
    return hidden | {"standing": render("_gone.html", kind=kind, subject=subject, name=name)}
