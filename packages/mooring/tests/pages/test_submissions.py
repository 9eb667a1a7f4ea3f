"""The page of submissions while one runs, fails and shows why; and the terminal's view of the same."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from packages.mooring.tests.acceptance.browser import open_page
from packages.mooring.tests.acceptance.world import Up, run_command, until
from packages.mooring.tests.pages.test_accessibility import violations

pytestmark = pytest.mark.browser

FAILS = "import sys; print('no <b>database</b>', file=sys.stderr); sys.exit(4)"


def _order(key: str) -> dict[str, object]:
    return {
        "key": key,
        "program": "python3",
        "placement": {"nodePool": "blast"},
        "batches": [{"args": ["-c", "print('fine')"]}, {"args": ["-c", FAILS]}],
        "retry": {"attempts": 1},
        "finalizer": {"args": ["-c", "print('merged')"]},
    }


def test_a_card_lives_from_the_first_gate_to_the_evidence(browser: Browser, up: Up):
    with open_page(browser, f"{up.url}/submissions?q=page-1") as page, up.http() as api:
        expect(page.locator("#submissions")).to_contain_text("0 of 0 matching")
        made = api.post("/v1/submissions", json={"namespace": "default", **_order("page-1")})
        assert made.status_code == 201
        card = page.locator("article.card")
        expect(card).to_contain_text("Failed", timeout=40_000)
        expect(card).to_contain_text("the finalizer ran after them and succeeded")
        expect(card.locator("pre")).to_have_text("no <b>database</b>")
        expect(card).to_contain_text("exit code 4")
        expect(card.locator("ol.shards li")).to_have_count(3)
        assert violations(page) == []


def test_the_terminal_follows_a_submission_and_ends_with_its_result(up: Up, tmp_path: Path):
    file = tmp_path / "work.yaml"
    file.write_text(json.dumps({"kind": "Submission", "metadata": {"namespace": "default"}, "spec": _order("cli-1")}))
    there = ("--state", str(up.state))
    ran = run_command("submit", "-f", str(file), "--watch", *there)
    assert ran.code == 1 and "Failed: 1 of 2 batches succeeded" in ran.out and "no <b>database</b>" in ran.out
    assert "mooring: Running" in ran.err
    listed = json.loads(run_command("submissions", "-o", "json", *there).out)
    assert "cli-1" in [one["key"] for one in listed["items"]]
    logs = run_command("submissions", "cli-1", "--logs", "finalizer", *there)
    assert (logs.code, logs.out) == (0, "merged\n")
    quoted = {**_order("cli-2"), "options": {"-outfmt": '"7 std"'}}
    file.write_text(json.dumps(quoted))
    refused = run_command("submit", "-f", str(file), "--dry-run", *there)
    assert refused.code == 2 and "spec.options[-outfmt]" in refused.err
    assert run_command("submissions", "nobody", *there).code == 3


def test_cancel_from_the_terminal_stops_what_runs(up: Up, tmp_path: Path):
    file = tmp_path / "work.yaml"
    slow = {**_order("cli-3"), "batches": [{"args": ["-c", "import time; time.sleep(60)"]}]}
    file.write_text(json.dumps(slow))
    there = ("--state", str(up.state))
    assert run_command("submit", "-f", str(file), *there).code == 0
    assert run_command("submissions", "cli-3", "--cancel", "--reason", "enough", *there).code == 0

    def ended() -> bool:
        return run_command("submissions", "cli-3", *there).code == 1

    until(ended, 30, "it is cancelled", every=1)
