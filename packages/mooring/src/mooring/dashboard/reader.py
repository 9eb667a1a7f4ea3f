"""The reader of a page: what the header shows to it, and what it may do. Readers that are equal share live views."""

from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import Request
from litestar.params import SkipValidation

from mooring.api.access import acts
from mooring.api.access.acts import Act
from mooring.api.access.scope import Scopes
from mooring.api.pages import Prepare
from mooring.dashboard.navigation import MENU, Menu
from mooring.ledger.records import AuditFilter
from mooring.model.errors import Unavailable
from mooring.model.identity import Identity
from mooring.queries.audit import AuditReading, read_act
from mooring.queries.fleet import FleetQueries
from mooring.queries.overview import Overview, read_overview
from mooring.queries.readings import Readings
from mooring.queries.visibility import EVERYTHING, EVERYWHERE, Namespaces, Visibility

# Keys of the state of a request.
_READER, _OVERVIEW, _TOAST, _MENU = "mooring_reader", "mooring_overview", "mooring_toast", "mooring_menu"
_HEADER = ("workerpools", "invariants")

OFFERS: Mapping[str, Act] = {
    "claim": acts.CLAIM,
    "release": acts.END_CLAIM,
    "retire": acts.RETIRE,
    "create pool": acts.CREATE_POOL,
    "change pool": acts.CHANGE_POOL,
    "change warmup": acts.CHANGE_WARMUP,
    "submit": acts.CREATE_SUBMISSION,
    "cancel": acts.CANCEL_SUBMISSION,
    "deploy": acts.CREATE_SERVICE,
    "change service": acts.UPDATE_SERVICE,
    "delete service": acts.DELETE_SERVICE,
    "switch": acts.SWITCH_INVARIANT,
    "logs": acts.READ_LOG,
    "explain": acts.EXPLAIN_POD,
}
PAGES: Mapping[str, tuple[str, ...]] = {
    "fleet": ("create pool", "claim"),
    "pool": ("claim", "release", "change pool", "logs"),
    "worker": ("retire", "release", "logs", "explain"),
    "node": (),
    "claims": ("release",),
    "claim": ("release", "logs"),
    "warmups": ("change warmup",),
    "warmup": ("change warmup", "logs"),
    "submissions": ("cancel", "submit"),
    "submission": ("cancel", "logs"),
    "services": ("deploy", "change service", "delete service"),
    "service": ("change service", "delete service", "logs"),
    "invariants": ("switch",),
    "audit": (),
    "log": (),
    "doctor": (),
    "docs": (),
    "explain": ("logs",),
    "replays": (),
    "form": (),
    "dialog": (),
    "missing": (),
}
"""What each page offers to those who may do it."""


class Reader(msgspec.Struct, frozen=True):
    """What it sees of the fleet, and where it may do what the page offers."""

    visibility: Visibility = Visibility()
    offers: tuple[tuple[str, Namespaces], ...] = ()

    def may(self, offer: str, namespace: str = "") -> bool:
        """Whether to offer it. Without a namespace: anywhere at all."""
        found = dict(self.offers).get(offer)
        if found is None:
            return False
        return found.everywhere or (namespace in found.names if namespace else bool(found.names))


NOBODY = Reader()
GivenReader = SkipValidation[Reader]


async def find_reader(identity: Identity, scopes: Scopes, page: str, namespace: str = "") -> Reader:
    """Who reads this page; about the namespace of its object, or about all that have objects."""
    wanted = PAGES.get(page, ())
    if identity.is_operator:
        return Reader(EVERYTHING, tuple((offer, EVERYWHERE) for offer in wanted))
    among = {namespace} if namespace else scopes.known()
    offers = [(offer, await scopes.where(identity, OFFERS[offer], among)) for offer in wanted]
    return Reader(await scopes.of(identity, _HEADER), tuple(offers))


def prepare_pages(readings: Readings, menu: Menu) -> Prepare:
    """Find the reader of each route that declares its `page`, and what the header shows to it."""

    async def prepare(request: Request[Any, Any, Any], scopes: Scopes) -> None:
        request.scope["state"][_MENU] = menu
        page = request.route_handler.opt.get("page")
        if page is None or "user" not in request.scope:
            return
        namespace = str(request.path_params.get("namespace", ""))
        reader = await find_reader(request.user, scopes, page, namespace)
        request.scope["state"][_READER] = reader
        fleet = readings.fleet.within(reader.visibility)
        request.scope["state"][_OVERVIEW] = read_overview(fleet)
        request.scope["state"][_TOAST] = await _find_toast(fleet, request.query_params.get("toast", ""))

    return prepare


async def _find_toast(fleet: FleetQueries, act: str) -> AuditReading | None:
    """The act that led to this page, if the reader may see it."""
    if not act:
        return None
    try:
        rows = (await fleet.audit(AuditFilter(id=act), 1, None)).items
    except Unavailable:
        return None
    return read_act(rows[0]) if rows else None


def menu_of(request: Request[Any, Any, Any]) -> Menu:
    """The pages that this process has."""
    found: Menu = request.scope.get("state", {}).get(_MENU, MENU)
    return found


def toast_of(request: Request[Any, Any, Any]) -> AuditReading | None:
    """The act that led to this page."""
    found: AuditReading | None = request.scope.get("state", {}).get(_TOAST)
    return found


async def reader_of_request(request: Request[Any, Any, Any]) -> Reader:
    """As a dependency of handlers."""
    return reader_of(request)


def reader_of(request: Request[Any, Any, Any]) -> Reader:
    """Who reads; nobody, where no page was found."""
    found: Reader = request.scope.get("state", {}).get(_READER, NOBODY)
    return found


def overview_of(request: Request[Any, Any, Any]) -> Overview | None:
    """What the header shows; None where no page was found."""
    found: Overview | None = request.scope.get("state", {}).get(_OVERVIEW)
    return found
