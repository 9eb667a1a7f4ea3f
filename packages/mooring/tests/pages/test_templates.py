"""The pieces of the pages: hostile text stays text, missing things leave no hole, nothing there tells what to do."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from markupsafe import Markup

from mooring.dashboard.fleet_views import FleetPage, PoolRow
from mooring.dashboard.links import linked
from mooring.dashboard.service_views import DocsPage, ServicesPage
from mooring.dashboard.tiles import plan_palette
from mooring.dashboard.views import ClaimsPage, Selection, render
from mooring.model.claim import ClaimState
from mooring.model.demand import Demand, DemandStatus
from mooring.model.evidence import Failure
from mooring.model.health import Check, WorkerHealth
from mooring.model.openapi import read_document
from mooring.model.pool import PoolSpec
from mooring.model.service import ServiceSpec, ServiceStatus
from mooring.model.why import Condition, Why
from mooring.planning.drain_check import ClaimAtStake, DrainCheck, DrainVerdict, Fate, Sudden
from mooring.planning.explanations.claims import explain_place
from mooring.queries.audit import AuditItems, AuditReading
from mooring.queries.claims import ClaimItems, read_claim
from mooring.queries.inspection import InspectedNode
from mooring.queries.services import ServiceReading
from mooring.queries.worker_detail import Moment, SessionReading, WorkerDetail
from packages.mooring.tests.pages.readings import NOON, node, pool, worker
from packages.mooring.tests.planning import fleets

HOSTILE = "<script>alert('x')</script>\x1b[31m\n\"'&"
ESCAPED = "&lt;script&gt;"


def fleet(**parts: Any) -> FleetPage:
    rows = [PoolRow(one, Markup(), Markup()) for one in parts.pop("pools", [])]
    keys = [f"{row.pool.namespace}/{row.pool.name}" for row in rows]
    return FleetPage(**{"rows": rows, "pools": keys, "workers": [], "total": 0, "tiles": {}, "palette": {}, **parts})


def piece(template: str, **values: Any) -> str:
    return render(template, selection=Selection(), **values)


def ready(status: str, message: str = "") -> Condition:
    return Condition("Ready", status, "Because", message)


def test_what_a_worker_or_its_owner_said_is_shown_as_text():
    page = fleet(workers=[worker(reason=HOSTILE, owner=HOSTILE, node=HOSTILE, address=HOSTILE)], total=1)
    html = piece("_workers.html", page=page)
    assert "<script" not in html and html.count(ESCAPED) == 4


def test_what_a_condition_said_is_shown_as_text():
    html = piece("_pools.html", page=fleet(pools=[pool(conditions=(ready("False", HOSTILE),))]))
    assert "<script" not in html and ESCAPED in html


def test_a_pool_that_follows_demand_is_shown_with_the_floor_of_its_status():
    demand = DemandStatus(floor=4)
    follows = msgspec.structs.replace(
        pool(demand=demand, conditions=(ready("True"),)), spec=PoolSpec(max=20, demand=Demand())
    )
    assert "4 kept warm, at most 20" in piece("_pools.html", page=fleet(pools=[follows]))
    assert follows.floor == 4


def test_what_a_trail_holds_is_shown_as_text():
    row = AuditReading(
        sequence=1,
        id="i",
        at=NOON,
        actor=HOSTILE,
        replica=HOSTILE,
        action=HOSTILE,
        kind=HOSTILE,
        namespace=HOSTILE,
        name=HOSTILE,
        uid=HOSTILE,
        reason=HOSTILE,
        evidence={HOSTILE: [HOSTILE]},
        outcome="failed",
        error=HOSTILE,
        completed_at=None,
    )
    html = piece("_audit.html", page=AuditItems([row], 1, None))
    assert "<script" not in html and html.count(ESCAPED) >= 7


def test_what_somebody_searched_for_is_shown_as_text():
    selection = Selection(q='"><script>', pool='"><script>', node='"><script>', state='"><script>')
    html = render("fleet.html", page=fleet(), selection=selection, here="fleet")
    assert "<script>" not in html


def test_the_legend_names_the_colours_and_puts_the_rest_together():
    palette = plan_palette([worker(f"w-{n}", owner=f"team-{n}") for n in range(9)], "owner")
    html = render("fleet.html", page=fleet(palette=palette), selection=Selection(colour="owner"), here="fleet")
    assert "team-6" in html and "others" in html and "team-8" not in html


@pytest.mark.parametrize(
    ("conditions", "verdict"),
    [
        ((), "? not seen yet"),
        ((ready("True"),), "✓ ready"),
        ((ready("False", "2 of 8 idle"),), "… filling"),
        ((ready("True"), Condition("Valid", "False", "Wrong", "spec.warm is wrong")), "✕ not valid"),
    ],
)
def test_a_pool_s_verdict_follows_from_the_conditions_it_has(conditions: tuple[Condition, ...], verdict: str):
    assert verdict in piece("_pools.html", page=fleet(pools=[pool(conditions=conditions)]))


def test_why_a_floor_is_not_held_is_on_the_card():
    unschedulable = Condition("Schedulable", "False", "NoRoom", "2 workers wait: 0/12 nodes are available")
    short = pool(conditions=(ready("False", "6 of 8 idle"), unschedulable))
    html = piece("_pools.html", page=fleet(pools=[short]))
    assert "6 of 8 idle" in html and "0/12 nodes are available" in html


@pytest.mark.parametrize(
    ("template", "values", "next_step"),
    [
        ("_pools.html", {"page": fleet()}, "kubectl apply"),
        ("_workers.html", {"page": fleet(total=3)}, "Show all"),
        ("_audit.html", {"page": AuditItems([], 0, None)}, "mooring audit"),
        ("fleet.html", {"page": fleet(), "here": "fleet"}, "kubectl get nodes"),
    ],
)
def test_where_nothing_is_the_next_step_is_told(template: str, values: dict[str, Any], next_step: str):
    html = piece(template, **values)
    assert 'class="empty"' in html and next_step in html


def test_a_long_table_is_cut_with_its_true_length_beside_it():
    page = fleet(workers=[worker(f"w-{n}") for n in range(250)], total=300)
    html = piece("_workers.html", page=page)
    assert html.count("<tr>") == 101
    assert "100 of 250 matching workers (300 in all)" in html


def detail(**changes: Any) -> WorkerDetail:
    check = Check(NOON, False, HOSTILE, executing=True, sessions=2)
    plain = WorkerDetail(
        worker=worker(reason=HOSTILE, owner=HOSTILE, node="work-01", state="lost"),
        health=WorkerHealth(failures=3, failing_since=NOON, recent=(check,)),
        sessions=[SessionReading("claim", HOSTILE, "lost", NOON, NOON, NOON, None, False, HOSTILE)],
        acts=[],
        timeline=[Moment(NOON, HOSTILE, HOSTILE, HOSTILE)],
        history=True,
    )
    return msgspec.structs.replace(plain, **changes)


def test_what_a_worker_s_page_holds_is_shown_as_text():
    html = piece("worker.html", detail=detail(), now=NOON, subject="runners/linux-0", here="worker")
    assert "<script>" not in html and html.count(ESCAPED) >= 8
    assert 'href="/nodes/work-01"' in html


def test_a_worker_s_page_tells_the_time_its_protection_has_left():
    kept = worker(state="busy", protected=True, protected_until=NOON + timedelta(minutes=52))
    html = piece("worker.html", detail=detail(worker=kept), now=NOON, here="worker")
    assert "(52 min left)" in html


def test_a_worker_s_page_says_what_it_cannot_know():
    html = piece("worker.html", detail=detail(history=False, health=None), now=NOON, here="worker")
    assert "ledger cannot be read" in html and "Not checked" in html


@pytest.mark.parametrize(
    ("verdict", "shown"),
    [("safe", "✓ safe"), ("waits", "… waits"), ("loses", "✕ loses work"), ("unknown", "? unknown")],
)
def test_a_node_s_page_says_what_its_going_would_mean(verdict: str, shown: str):
    stake = ClaimAtStake("claim", HOSTILE, "runners/linux", "linux-0", "running", 75, NOON, False, Fate.LOST, HOSTILE)
    check = DrainCheck(
        "work-01", "uid", DrainVerdict(verdict), HOSTILE, HOSTILE, "", NOON, (stake,), (), (), Sudden(1, 0)
    )
    html = piece(
        "node.html", look=InspectedNode(True, check, [worker()], node().why), now=NOON, subject="work-01", here="node"
    )
    assert shown in html and "<script>" not in html and "75 s" in html
    assert 'href="/workers/runners/linux-0"' in html


@pytest.mark.parametrize("page", ["worker", "node"])
def test_what_is_gone_is_named_as_text(page: str):
    html = piece("_gone.html", part="standing", kind=page, subject=HOSTILE, name=HOSTILE)
    assert "any more" in html and "<script" not in html and ESCAPED in html and "?q=%3Cscript" in html


def test_what_a_service_and_its_document_say_is_shown_as_text():
    status = ServiceStatus(phase="Failed", reason=HOSTILE, fix=HOSTILE, failure=Failure(HOSTILE, logs=(HOSTILE,)))
    service = ServiceReading("ns", "api", ServiceSpec(image=HOSTILE), status, 1, False, Why("x", HOSTILE))
    html = piece("_services.html", page=ServicesPage([service], 1))
    assert "<script" not in html and html.count(ESCAPED) >= 5
    operation = {"summary": HOSTILE, "tags": [HOSTILE], "parameters": [{"name": HOSTILE, "in": HOSTILE}]}
    whole = {"openapi": "3.1.0", "info": {"title": HOSTILE}, "paths": {HOSTILE: {"get": operation}}}
    document = read_document({**whole, "components": {"schemas": {HOSTILE: {"enum": [HOSTILE]}}}})
    html = piece("docs.html", page=DocsPage("ns/api", "/source", ["ns/api"], document), here="docs")
    assert "<script>" not in html and html.count(ESCAPED) >= 8


def test_a_document_that_cannot_be_had_says_why_and_what_to_do():
    page = DocsPage("ns/api", "/source", [], problem="0 of 12 nodes fit", fix="kubectl patch")
    html = piece("docs.html", page=page, here="docs")
    assert "not available" in html and "0 of 12 nodes fit" in html and "kubectl patch" in html


def test_what_a_why_names_is_a_link_and_the_rest_is_text():
    told = f"worker/runners/linux-3 of {HOSTILE}, claim/1a-2b on node/work-01."
    html = str(linked(told))
    assert '<a href="/workers/runners/linux-3">worker/runners/linux-3</a> of ' in html
    assert '<a href="/claims/1a-2b">claim/1a-2b</a> on <a href="/nodes/work-01">node/work-01</a>.' in html
    assert "<script" not in html and ESCAPED in html


def test_a_short_pool_s_card_lists_its_blockers_and_says_since_when():
    short = Condition("Ready", "False", "Starting", "6 of 8 idle", last_transition_time="2026-03-01T11:30:00Z")
    html = piece("_pools.html", page=fleet(pools=[pool(conditions=(short,))]))
    assert "<li>needs 8 idle: 0 idle, 0 busy" in html
    assert 'Filling since <time datetime="2026-03-01T11:30:00+00:00">2026-03-01 11:30:00</time> UTC' in html


def test_a_claim_that_waits_shows_its_place_and_what_stands_in_the_way():
    waiting = fleets.claim(state=ClaimState.QUEUED, queued_at=NOON)
    why = explain_place(waiting, 2, Why("no_idle_worker", "nobody", NOON, ("workers: 0 idle, 1 busy",)))
    row = msgspec.structs.replace(read_claim(waiting, held=False), position=2, why=why)
    html = piece("_claims.html", page=ClaimsPage(ClaimItems([row], 1, None), []))
    assert "<summary>waits for a worker of runners/linux, number 2 in line</summary>" in html
    assert "<li>workers: 0 idle, 1 busy</li><li>1 claim(s) are served before it</li>" in html
    assert f'<tr id="claim-{waiting.id}">' in html
