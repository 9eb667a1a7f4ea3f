"""The parts of the pages of one worker and one node; the page is built from them, and the stream sends them."""

from datetime import datetime
from typing import Any

from mooring.dashboard.timelines import Lane, Mark, Span, Timeline, draw_timeline
from mooring.dashboard.views import Fragments, May, Selection, render
from mooring.queries.inspection import Inspection
from mooring.queries.worker_detail import WorkerDetail, read_worker

WORKER_PARTS = ("standing", "protection", "health", "timeline", "sessions")
NODE_PARTS = ("standing", "verdict", "sessions", "workers")
HISTORY_SECONDS = 5.0  # reading a worker's history is slow, so it is kept this long; its claims are read every time


async def worker_fragments(inspection: Inspection, selection: Selection, may: May) -> Fragments:
    """The live parts of a worker's page: from memory and the ledger, no call to the cluster."""
    namespace, _, name = selection.subject.partition("/")
    detail = await read_worker(inspection, namespace, name, HISTORY_SECONDS)
    if detail is None:
        return _gone("worker", selection.subject, name, WORKER_PARTS)
    values = worker_values(detail, inspection.clock.now(), may)
    return {part: render(f"_worker_{part}.html", **values) for part in WORKER_PARTS}


def worker_values(detail: WorkerDetail, now: datetime, may: May) -> dict[str, Any]:
    """What the templates of a worker's page need."""
    return {"detail": detail, "now": now, "may": may, "timeline": draw_worker(detail, now)}


def draw_worker(detail: WorkerDetail, now: datetime) -> Timeline | None:
    """The worker itself, its sessions, its protection, its health checks, and acts on it."""
    worker = detail.worker
    since = worker.since or worker.created_at
    own = [Span(worker.state, since, None, f"{worker.state}: {worker.reason}")]
    if since > worker.created_at:
        own.insert(0, Span("claimed" if detail.sessions else "starting", worker.created_at, since, "before"))
    sessions = tuple(
        Span("running" if one.running_at else "claimed", one.claimed_at, one.ended_at, f"session of {one.owner}")
        for one in detail.sessions
        if one.claimed_at
    )
    ends = tuple(
        Mark("ok" if one.state == "released" else "bad", one.ended_at, f"{one.state}: {one.reason or one.owner}")
        for one in detail.sessions
        if one.ended_at
    )
    checks = detail.health.recent if detail.health else ()
    lanes = [
        Lane("Worker", tuple(own)),
        Lane("Sessions", sessions, ends),
        Lane("Health", marks=tuple(Mark("ok" if one.ok else "bad", one.at, one.detail) for one in checks)),
        Lane(
            "Acts",
            marks=tuple(Mark("act", act.at, f"{act.action} by {act.actor}: {act.reason}") for act in detail.acts),
        ),
    ]
    return draw_timeline(lanes, now)


async def node_fragments(inspection: Inspection, selection: Selection) -> Fragments:
    """The live parts of a node's page: from memory and the ledger, no call to the cluster."""
    look = await inspection.node(selection.subject)
    if look is None:
        return _gone("node", selection.subject, selection.subject, NODE_PARTS)
    return {part: render(f"_node_{part}.html", look=look, now=inspection.clock.now()) for part in NODE_PARTS}


def _gone(kind: str, subject: str, name: str, parts: tuple[str, ...]) -> Fragments:
    """The same parts, so that the page needs no reload; they are filled again if an object with that name appears."""
    hidden = {part: render("_hidden.html", part=part) for part in parts}
    return hidden | {"standing": render("_gone.html", part="standing", kind=kind, subject=subject, name=name)}
