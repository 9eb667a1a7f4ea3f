"""Writes down what the API server did for each replica, which pods there were, and who led."""

import json

from hawser.cache import Change
from hawser.transport import Request, Response, Transport
from hawser.views import Pod
from mooring.ledger.records import AuditFilter
from mooring.model import names
from packages.mooring.tests.scenarios.harbour import Harbour
from packages.testing.judge import History

_LOOK_SECONDS = 0.25
_READING = frozenset({"GET", "HEAD"})


class RecordingTransport:
    """What stands between one replica and the API server, after all faults: only what arrives is noted."""

    def __init__(self, inner: Transport, who: str, world: Harbour, history: History) -> None:
        self._inner = inner
        self._who = who
        self._world = world
        self._history = history

    async def send(self, request: Request) -> Response:
        sent_at = self._world.seconds
        response = await self._inner.send(request)
        took_effect = request.method not in _READING and 200 <= response.status < 300
        if took_effect and not request.path.endswith("reviews") and "/events" not in request.path:
            fence = _preconditions(request)
            self._history.note(
                sent_at,
                "api",
                who=self._who,
                method=request.method,
                path=request.path,
                uid=fence.get("uid") or _uid_of(self._world, request),
                fenced=bool(fence.get("uid") and fence.get("resourceVersion")),
            )
        return response


def _preconditions(request: Request) -> dict[str, str]:
    body = json.loads(request.body or b"{}")
    found = body.get("preconditions") if isinstance(body, dict) and request.method == "DELETE" else None
    return dict(found or {})


def _uid_of(world: Harbour, request: Request) -> str:
    """Of a pod that is deleted by its name alone."""
    name = request.path.rsplit("/", 1)[-1]
    found = [pod for pod in world.watch.cache.values() if pod.metadata.name == name]
    return found[0].metadata.uid if found else ""


def record_pods(world: Harbour, history: History) -> None:
    """Which there are and which claims they name, from now on, until the end."""
    named: dict[str, str] = {}

    def see(change: Change[Pod]) -> None:
        meta = change.latest.metadata
        if change.kind != "modified":
            history.note(world.seconds, "pod", uid=meta.uid, name=meta.name, there=change.kind == "added")
        claim = meta.annotations.get(names.CLAIM, "") if change.kind != "deleted" else ""
        if named.get(meta.uid, "") != claim:
            named[meta.uid] = claim
            history.note(world.seconds, "stamp", uid=meta.uid, claim=claim)

    world.watch.subscribe(see)


async def record_leaders(world: Harbour, history: History) -> None:
    """Until cancelled."""
    known: dict[str, int] = {}
    while True:
        seen = {}
        for life, replica in enumerate(world.replicas):
            alive = replica.process.alive and not replica.task.done()
            seen[f"{replica.mooring.leadership.replica_id}/{life}"] = replica.mooring.leadership.term if alive else 0
        changed = [(term, who) for who, term in seen.items() if known.get(who, 0) != term]
        for term, who in sorted(changed):  # who stopped before who began
            known[who] = term
            history.note(world.seconds, "leads", who=who, term=term)
        await world.clock.sleep(_LOOK_SECONDS)


async def record_rows(world: Harbour, history: History, began: float) -> None:
    """The whole audit trail, on the clock of the history."""
    before: int | None = None
    while True:
        page = await world.ledger.audit.list(AuditFilter(), limit=500, before_sequence=before)
        for record in page.items:
            entry = record.entry
            history.note(
                entry.at.timestamp() - began,
                "row",
                uid=entry.subject.uid,
                action=entry.action,
                outcome=record.outcome.value,
            )
        if page.next_sequence is None:
            return
        before = page.next_sequence
