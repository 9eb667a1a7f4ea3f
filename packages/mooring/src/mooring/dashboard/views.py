"""The content of pages as fragments: pieces of HTML by element id, so that only changed ones are sent."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from jinja2 import Environment, PackageLoader, select_autoescape

from mooring.dashboard.links import linked
from mooring.dashboard.navigation import LIVE, MENU
from mooring.dashboard.shapes import path_of
from mooring.dashboard.tiles import plan_tiles, render_tile
from mooring.ledger.records import AuditFilter, ClaimFilter
from mooring.model.audit import AuditOutcome
from mooring.model.claim import OPEN, Claim, ClaimState
from mooring.model.runbook import check_runbook, error_runbook, invariant_runbook
from mooring.model.time_format import describe_span
from mooring.queries.audit import AuditItems, read_audit
from mooring.queries.claims import ClaimItems, read_claims
from mooring.queries.fleet import FleetQueries, NodeReading, PoolReading, WorkerReading
from mooring.queries.invariants import InvariantReading

PAGE_ROWS = 100

templates = Environment(
    loader=PackageLoader("mooring.dashboard"), autoescape=select_autoescape(), trim_blocks=True, lstrip_blocks=True
)
templates.filters["linked"] = linked
templates.globals["path_of"] = path_of
templates.globals["describe_span"] = describe_span
templates.globals["menu"] = MENU
templates.globals["check_runbook"] = check_runbook
templates.globals["invariant_runbook"] = invariant_runbook
templates.globals["error_runbook"] = error_runbook
templates.globals["live_pages"] = LIVE


class Selection(msgspec.Struct, frozen=True):
    """The state of a page, from its URL; `subject` is the worker or node that the page is about."""

    pool: str = ""
    node: str = ""
    state: str = ""
    q: str = ""
    view: str = "map"
    outcome: str = ""
    before: int | None = None
    subject: str = ""

    def query(self, **changes: Any) -> str:
        """The query of the URL with some changes; empty values are left out."""
        values = {**msgspec.structs.asdict(self), **changes}
        return urlencode({name: value for name, value in values.items() if value and (name, value) != ("view", "map")})


Fragments = Mapping[str, str]


class FleetPage(msgspec.Struct, frozen=True):
    """The content of the fleet page."""

    pools: Sequence[PoolReading]
    workers: Sequence[WorkerReading]
    total: int
    tiles: Mapping[str, str]


async def read_fleet(reading: FleetQueries, selection: Selection) -> FleetPage:
    """The workers that match, and their nodes."""
    everyone = await reading.workers()
    matching = [worker for worker in everyone if _matches(worker, selection)]
    tiles = plan_tiles(await read_nodes(reading, selection), matching)
    return FleetPage(reading.pools(), matching, len(everyone), {tile.id: render_tile(tile) for tile in tiles})


async def read_nodes(reading: FleetQueries, selection: Selection) -> Sequence[NodeReading]:
    """All nodes, or the selected one."""
    return [node for node in await reading.nodes() if selection.node in ("", node.name)]


async def read_tile(reading: FleetQueries, selection: Selection) -> Sequence[WorkerReading]:
    """The workers of one tile, in the order of its cells."""
    matching = [
        worker for worker in await reading.workers() if _matches(worker, msgspec.structs.replace(selection, node=""))
    ]
    tiles = plan_tiles(await reading.nodes(), matching)
    return next((tile.workers for tile in tiles if tile.node == selection.node), ())


def _matches(worker: WorkerReading, selection: Selection) -> bool:
    text = f"{worker.namespace}/{worker.name} {worker.node} {worker.owner} {worker.reason}".lower()
    return (
        (not selection.pool or f"{worker.namespace}/{worker.pool}" == selection.pool)
        and (not selection.node or worker.node == selection.node)
        and (not selection.state or worker.state == selection.state)
        and (not selection.q or selection.q.lower() in text)
    )


async def fleet_fragments(reading: FleetQueries, selection: Selection) -> Fragments:
    """The live parts of the fleet page. The grid itself is sent only if tiles appear or disappear."""
    page = await read_fleet(reading, selection)
    fragments = {"pools": render("_pools.html", page=page, selection=selection)}
    if selection.view == "table":
        fragments["workers"] = render("_workers.html", page=page, selection=selection)
    else:
        fragments["summary"] = render("_summary.html", page=page, selection=selection)
        fragments.update(page.tiles)
    return fragments


async def read_trail(reading: FleetQueries, selection: Selection) -> AuditItems:
    """Audit rows, newest first; a search is by the object's name."""
    outcome = AuditOutcome(selection.outcome) if selection.outcome in set(AuditOutcome) else None
    which = AuditFilter(outcome=outcome, name=selection.q or None)
    return await read_audit(reading, which, PAGE_ROWS, selection.before)


async def audit_fragments(reading: FleetQueries, selection: Selection) -> Fragments:
    """The live part of the audit page."""
    return {"audit": render("_audit.html", page=await read_trail(reading, selection), selection=selection)}


class ClaimsPage(msgspec.Struct, frozen=True):
    """Open claims, or all claims including ended ones."""

    claims: ClaimItems
    pools: Sequence[PoolReading]


def _held_by_nobody(_: Claim) -> bool:
    """Pages are for those who watch over claims; epochs and payloads are for their holders' programs."""
    return False


async def read_claims_page(reading: FleetQueries, selection: Selection) -> ClaimsPage:
    """Open claims, unless a state is selected."""
    namespace, _, pool = selection.pool.partition("/")
    states = frozenset({ClaimState(selection.state)}) if selection.state in set(ClaimState) else OPEN
    if selection.view == "all":
        states = frozenset(ClaimState)
    which = ClaimFilter(namespace=namespace or None, pool=pool or None, owner=selection.q or None, states=states)
    return ClaimsPage(await read_claims(reading, which, PAGE_ROWS, selection.before, _held_by_nobody), reading.pools())


async def claims_fragments(reading: FleetQueries, selection: Selection) -> Fragments:
    """The live part of the claims page."""
    return {"claims": render("_claims.html", page=await read_claims_page(reading, selection), selection=selection)}


def read_invariants(reading: FleetQueries) -> Sequence[InvariantReading]:
    """All invariants."""
    return reading.invariants()


async def invariants_fragments(reading: FleetQueries, selection: Selection) -> Fragments:
    """The live part of the invariants page."""
    return {
        "invariants": render("_invariants.html", rules=read_invariants(reading), rest=reading.rest, selection=selection)
    }


def render(template: str, **values: object) -> str:
    """One template, escaped."""
    return templates.get_template(template).render(**values)
