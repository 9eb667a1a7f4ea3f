"""The doctor's page and the explanation of a pod: in pieces, and in a browser with a pod that no node takes."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from mooring.dashboard.diagnosis_pages import DoctorPage
from mooring.dashboard.fleet_views import FleetPage
from mooring.dashboard.views import Selection, render
from mooring.model.doctor_report import Check, CheckStatus, DoctorReport
from mooring.model.explanation import Explanation, Finding, PodEvent
from mooring.model.preflight import Group, NodeVerdict, Preflight
from mooring.model.why import Why
from packages.mooring.tests.acceptance.browser import open_page
from packages.mooring.tests.acceptance.world import Up
from packages.mooring.tests.pages.readings import NOON, worker
from packages.mooring.tests.pages.test_accessibility import violations

HOSTILE = "<script>alert('x')</script>"
LOST = "explained"


def doctor(*checks: Check) -> str:
    page = DoctorPage(DoctorReport(checks, NOON, 0.1), checks)
    return render("doctor.html", page=page, statuses=list(CheckStatus), selection=Selection(), here="doctor")


def explanation(**changes: Any) -> Explanation:
    preflight = Preflight(0, 2, "0/2", "do", (Group("taint", HOSTILE, 2, ("n",)),), (NodeVerdict("n", (HOSTILE,)),))
    plain: dict[str, Any] = {
        "namespace": "ns",
        "name": "p",
        "uid": "u",
        "state": "unschedulable",
        "node": "",
        "summary": HOSTILE,
        "fix": HOSTILE,
        "findings": (Finding("a", "first"), Finding("b", HOSTILE, HOSTILE)),
        "preflight": preflight,
        "events": (PodEvent(HOSTILE, HOSTILE, HOSTILE),),
        "failure": None,
        "unread": (HOSTILE,),
        "looked_at": NOON,
    }
    return Explanation(**{**plain, **changes})


def test_hostile_words_in_checks_and_explanations_are_shown_as_text():
    html = doctor(Check(HOSTILE, CheckStatus.FAIL, HOSTILE, {"x": HOSTILE}, HOSTILE))
    html += render("explain.html", explanation=explanation(), most=1, here="doctor")
    assert "<script>alert" not in html and html.count("&lt;script&gt;") >= 8


def test_a_check_that_is_not_ok_links_to_its_runbook():
    html = doctor(Check("pool/ns/p", CheckStatus.FAIL, "m"), Check("leader", CheckStatus.OK, "m"))
    assert 'href="/runbook/doctor#pool"' in html
    assert "doctor#leader" not in html


def test_a_status_is_told_by_sign_and_word_not_by_colour_alone():
    html = doctor(*(Check(f"c/{status}", status, "m") for status in CheckStatus))
    assert all(told in html for told in ("✓ ok", "! warn", "✕ fail", "? unknown"))


@pytest.mark.parametrize(("code", "linked"), [("unschedulable", True), ("running", False)])
def test_a_worker_that_waits_for_a_node_links_to_its_explanation(code: str, linked: bool):
    page = FleetPage([], [], [worker(why=Why(code, "because"))], 1, {}, {})
    html = render("_workers.html", page=page, selection=Selection())
    assert ('href="/explain/runners/linux-0"' in html) is linked


@pytest.fixture
def lost_pod(up: Up) -> Iterator[str]:
    overrides = {"spec": {"nodeSelector": {"nowhere": "to-be-found"}}}
    up.kubectl("run", LOST, "--image=none", "--restart=Never", f"--overrides={json.dumps(overrides)}", "-n", "default")
    yield f"/explain/default/{LOST}"
    up.kubectl("delete", "pod", LOST, "-n", "default", "--grace-period=0", "--force")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_pod_that_no_node_takes_is_explained_accessibly(browser: Browser, up: Up, lost_pod: str, scheme: str):
    with open_page(browser, up.url + lost_pod, color_scheme=scheme) as page:
        expect(page.locator("h1")).to_have_text(f"Pod default/{LOST}")
        expect(page.locator("#fix")).to_contain_text("remove nowhere=to-be-found from the nodeSelector")
        expect(page.locator("#groups")).to_contain_text("untolerated taint(s) {workload: blast}")
        assert violations(page) == []


@pytest.mark.browser
def test_the_doctor_s_lines_can_be_narrowed_and_the_url_keeps_it(browser: Browser, up: Up):
    with open_page(browser, up.url + "/doctor") as page:
        expect(page.locator("[data-check='permission/pods']")).to_contain_text("✓ ok")
        page.locator("select[name=state]").select_option("ok")
        expect(page).to_have_url(re.compile("state=ok"))
        page.locator("#search").fill("ledger")
        page.locator("#search").press("Enter")
        expect(page.locator("[data-check='permission/pods']")).to_have_count(0)
        expect(page.locator("[data-check='ledger']")).to_have_count(1)
        assert "q=ledger" in page.url and "state=ok" in page.url


def test_a_pod_that_is_not_there_is_a_page_that_says_so(up: Up):
    with up.http() as client:
        answer = client.get("/explain/default/nobody", headers={"Accept": "text/html"})
    assert answer.status_code == 404 and "<h1>No such pod</h1>" in answer.text
