"""The search (Ctrl-K): pages and objects by name, those that begin with the searched words first."""

from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Request, Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import SEE_EVERYTHING
from mooring.dashboard.navigation import Menu
from mooring.dashboard.reader import menu_of
from mooring.dashboard.responses import GivenReadings
from mooring.ledger.records import ClaimFilter
from mooring.model.claim import OPEN
from mooring.model.errors import Unavailable
from mooring.queries.readings import Readings
from mooring.queries.visibility import Visibility

MOST_FOUND = 30
_CLAIMS = 500


class Found(msgspec.Struct, frozen=True):
    """A page or an object that the palette offers."""

    kind: str
    name: str
    path: str
    note: str = ""


async def find_everything(readings: Readings, menu: Menu) -> list[Found]:
    """All pages and objects that the reader may see."""
    fleet = readings.fleet
    found = [Found("page", page.title, page.path) for page in menu]
    found += [_object("pool", "pools", one.namespace, one.name, one.verdict.label) for one in fleet.pools()]
    found += [
        _object("warmup", "warmups", one.namespace, one.name, one.status.phase) for one in readings.warmups.warmups()
    ]
    found += [
        _object("submission", "submissions", one.namespace, one.name, f"{one.status.phase} {one.key}")
        for one in readings.submissions.submissions()
    ]
    found += [
        _object("service", "services", one.namespace, one.name, one.status.phase)
        for one in readings.services.services()
    ]
    workers = await fleet.workers()
    found += [Found("node", one.name, f"/nodes/{quote(one.name)}", one.why.code) for one in fleet.nodes_of(workers)]
    found += [
        _object("worker", "workers", one.namespace, one.name, f"{one.state} {one.owner}".strip()) for one in workers
    ]
    try:
        claims = (await fleet.claims(ClaimFilter(states=OPEN), _CLAIMS, None)).items
    except Unavailable:
        claims = ()
    found += [
        Found("claim", one.id, f"/claims/{quote(one.id)}", f"{one.state.value} {one.owner} {one.namespace}/{one.pool}")
        for one in claims
    ]
    return found + [
        Found("owner", owner, f"/claims?view=all&q={quote(owner)}") for owner in sorted({c.owner for c in claims})
    ]


def _object(kind: str, folder: str, namespace: str, name: str, note: str) -> Found:
    return Found(kind, f"{namespace}/{name}", f"/{folder}/{quote(namespace)}/{quote(name)}", note)


def choose(everything: list[Found], words: str) -> list[Found]:
    """Those that have all words; by where the first word begins, then by the order of kinds."""
    wanted = words.lower().split()
    matching = [
        one for one in everything if all(word in f"{one.kind} {one.name} {one.note}".lower() for word in wanted)
    ]
    if wanted:
        matching.sort(key=lambda one: _place(one.name.lower(), wanted[0]))
    return matching[:MOST_FOUND]


def _place(name: str, word: str) -> int:
    at = name.find(word)
    if at < 0:
        return 3
    return 0 if at == 0 or name[at - 1] == "/" else 1 if not name[at - 1].isalnum() else 2


@get("/find.json", access=SEE_EVERYTHING, include_in_schema=False)
async def find(
    all_readings: GivenReadings, visibility: Visibility, request: Request[Any, Any, Any], q: str = ""
) -> Response[dict[str, Any]]:
    """What the palette shows for these words."""
    chosen = choose(await find_everything(all_readings.within(visibility), menu_of(request)), q[:200])
    return Response({"items": [msgspec.to_builtins(one) for one in chosen]}, headers={"Cache-Control": "no-store"})


PALETTE_ROUTES: list[ControllerRouterHandler] = [find]
