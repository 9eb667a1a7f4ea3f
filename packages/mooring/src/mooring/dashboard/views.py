"""The content of pages as fragments: pieces of HTML by element id, so that only changed ones are sent."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from jinja2 import Environment, PackageLoader, select_autoescape

from mooring.dashboard.line_breaks import breakable
from mooring.dashboard.links import linked
from mooring.dashboard.navigation import LIVE, MENU
from mooring.dashboard.shapes import path_of
from mooring.dashboard.tiles import shape_of
from mooring.ledger.records import AuditFilter, ClaimFilter
from mooring.model.audit import AuditOutcome
from mooring.model.claim import OPEN, Claim, ClaimState
from mooring.model.runbook import check_runbook, error_runbook, invariant_runbook
from mooring.model.time_format import describe_span
from mooring.queries.audit import AuditItems, read_audit
from mooring.queries.claims import ClaimItems, read_claims
from mooring.queries.fleet import FleetQueries
from mooring.queries.invariants import InvariantReading

PAGE_ROWS = 100

templates = Environment(
    loader=PackageLoader("mooring.dashboard"), autoescape=select_autoescape(), trim_blocks=True, lstrip_blocks=True
)
templates.filters["breakable"] = breakable
templates.filters["linked"] = linked
templates.globals["path_of"] = path_of
templates.globals["shape_of"] = shape_of
templates.globals["describe_span"] = describe_span
templates.globals["menu"] = MENU
templates.globals["check_runbook"] = check_runbook
templates.globals["invariant_runbook"] = invariant_runbook
templates.globals["error_runbook"] = error_runbook
templates.globals["live_pages"] = LIVE
templates.globals["may"] = lambda *_: False  # a page that does not know its reader offers nothing


class Selection(msgspec.Struct, frozen=True):
    """The state of a page, from its URL; `subject` is the object that the page is about."""

    pool: str = ""
    node: str = ""
    state: str = ""
    q: str = ""
    view: str = "map"
    outcome: str = ""
    before: int | None = None
    subject: str = ""
    verdict: str = ""
    colour: str = ""
    tab: str = ""
    range: str = ""
    act: str = ""

    def query(self, **changes: Any) -> str:
        """The query of the URL with some changes; empty values are left out."""
        values = {**msgspec.structs.asdict(self), **changes}
        return urlencode({name: value for name, value in values.items() if value and (name, value) != ("view", "map")})

    def matches(self, subject: str, state: str, *words: str) -> bool:
        """Whether the page shows this object; a search looks at its name and at these words."""
        if self.subject not in ("", subject):
            return False
        return self.state in ("", state) and self.q.lower() in " ".join((subject, *words)).lower()


Fragments = Mapping[str, str]
May = Callable[[str, str], bool]
"""Whether to offer something, in a namespace."""


async def read_trail(reading: FleetQueries, selection: Selection) -> AuditItems:
    """Audit rows, newest first; a search is by the object's name."""
    outcome = AuditOutcome(selection.outcome) if selection.outcome in set(AuditOutcome) else None
    which = AuditFilter(outcome=outcome, name=selection.q or None, id=selection.act or None)
    return await read_audit(reading, which, PAGE_ROWS, selection.before)


async def audit_fragments(reading: FleetQueries, selection: Selection) -> Fragments:
    """The live part of the audit page."""
    return {"audit": render("_audit.html", page=await read_trail(reading, selection), selection=selection)}


class ClaimsPage(msgspec.Struct, frozen=True):
    """Open claims, or all claims including ended ones."""

    claims: ClaimItems
    pools: Sequence[str]


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
    claims = await read_claims(reading, which, PAGE_ROWS, selection.before, _held_by_nobody)
    return ClaimsPage(claims, [f"{pool.namespace}/{pool.name}" for pool in reading.pools()])


async def claims_fragments(reading: FleetQueries, selection: Selection, may: May) -> Fragments:
    """The live part of the claims page."""
    page = await read_claims_page(reading, selection)
    return {"claims": render("_claims.html", page=page, selection=selection, may=may)}


def read_invariants(reading: FleetQueries, selection: Selection) -> Sequence[InvariantReading]:
    """The invariants that match."""
    words = selection.q.lower()
    return [
        rule
        for rule in reading.invariants()
        if selection.state in ("", rule.state) and words in f"{rule.id} {rule.rule} {rule.why.message}".lower()
    ]


async def invariants_fragments(reading: FleetQueries, selection: Selection, may: May) -> Fragments:
    """The live part of the invariants page."""
    rules = read_invariants(reading, selection)
    values = {"rules": rules, "rest": reading.rest, "selection": selection, "may": may}
    return {"invariants": render("_invariants.html", **values)}


def render(template: str, **values: object) -> str:
    """One template, escaped."""
    return templates.get_template(template).render(**values)
