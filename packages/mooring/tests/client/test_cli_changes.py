"""The commands that change something, and the filters of the listings, against a Mooring behind a real port."""

import json

import pytest
import yaml

from mooring.client import Mooring
from mooring.kinds.resources import SUBMISSIONS
from mooring.ledger.records import AuditFilter
from mooring.model import names
from mooring.model.claim import ClaimState
from mooring.model.submission import name_for
from packages.mooring.tests.client.dock import NAMESPACE, TOKEN
from packages.mooring.tests.client.processes import on_a_terminal

RULE = "adopted"


@pytest.fixture
def held(dock):
    """A claim that nobody renews here."""
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme") as claim:
        claim.detach()
    return claim


def trail(dock, **which):
    return [record.entry for record in dock.call(dock.ledger.audit.list(AuditFilter(**which))).items]


# --- release ---------------------------------------------------------------------------------------------------------
def test_a_release_prints_its_reason_and_is_audited_with_the_user(dock, mooring, held):
    code, output, _ = mooring("release", held.id, "--reason", "needed elsewhere", "-o", "json")
    answer = json.loads(output)
    assert code == 0
    assert (answer["apiVersion"], answer["kind"], answer["id"]) == ("mooring.dev/v1", "Claim", held.id)
    assert (answer["state"], answer["reason"]) == ("released", "needed elsewhere (by operator)")
    (row,) = trail(dock, name=held.id)
    assert row.actor == "operator" and row.reason == "needed elsewhere"
    _, listed, _ = mooring("audit", "--name", held.id, "-o", "ndjson")
    assert json.loads(listed)["evidence"]["owner"] == "acme"


def test_a_dry_run_of_release_prints_who_would_lose_which_worker(dock, mooring, held):
    code, output, _ = mooring("release", held.id, "--dry-run", "-o", "yaml")
    would = yaml.safe_load(output)
    assert code == 0 and would["dryRun"] and would["state"] == "running"
    assert f"acme loses worker {held.worker.name}" in would["impact"][0]
    assert dock.claim(held.id).state is ClaimState.RUNNING and trail(dock, name=held.id) == []
    assert mooring("release", held.id)[0] == 0
    assert mooring("release", held.id, "--dry-run")[0] == 3
    code, output, _ = mooring("release", held.id)
    assert code == 0 and output == f"claim/{held.id} released: released by operator\n"
    assert len(trail(dock, name=held.id)) == 1


def test_release_on_a_terminal_asks_for_confirmation(dock, environment, held):
    code, seen = on_a_terminal(environment, b"n\n", "release", held.id)
    assert code == 1 and "acme loses worker" in seen and "Go on? [y/N]" in seen and "nothing was changed" in seen
    assert dock.claim(held.id).state is ClaimState.RUNNING
    code, seen = on_a_terminal(environment, b"y\n", "release", held.id)
    assert code == 0 and "released by operator" in seen
    assert dock.claim(held.id).state is ClaimState.RELEASED


# --- switches --------------------------------------------------------------------------------------------------------
def test_pause_and_resume_have_a_dry_run_and_print_data(dock, mooring):
    code, output, _ = mooring("pause", RULE, "--dry-run")
    assert code == 0 and "will not act on any replica" in output and "dry run" in output
    assert trail(dock, action="pause", name=RULE) == []
    code, output, _ = mooring("pause", RULE, "--reason", "a deploy", "--yes", "-o", "json")
    paused = json.loads(output)
    assert (code, paused["kind"], paused["paused"], paused["pauseReason"]) == (0, "Invariant", True, "a deploy")
    _, output, _ = mooring("resume", RULE, "--dry-run")
    assert "paused by operator" in output and "(a deploy)" in output
    code, output, _ = mooring("resume", RULE, "-o", "name")
    assert (code, output) == (0, f"invariant/{RULE}\n")
    assert [entry.reason for entry in trail(dock, action="pause", name=RULE)] == ["a deploy"]


def test_an_unknown_invariant_is_answered_with_a_suggestion(mooring):
    code, _, errors = mooring("pause", "adoptd", "--yes")
    assert code == 3 and "did you mean 'adopted'?" in errors


# --- submissions -----------------------------------------------------------------------------------------------------
@pytest.fixture
def work(tmp_path):
    """A file with a Submission that waits for a ConfigMap that never comes, so that it can be cancelled."""

    def write(key, name=""):
        spec = {"key": key, "program": "true", "batches": [{}], "requires": {"warmups": ["never"]}}
        metadata = {"namespace": NAMESPACE, **({"name": name} if name else {})}
        file = tmp_path / f"{key}.yaml"
        file.write_text(yaml.safe_dump({"kind": "Submission", "metadata": metadata, "spec": spec}))
        return str(file)

    return write


def test_a_submission_is_printed_as_data(dock, mooring, work):
    code, output, errors = mooring("submit", "-f", work("night-1"), "-o", "json", "--reason", "the nightly run")
    made = json.loads(output)
    assert (code, errors, made["kind"], made["key"]) == (0, "", "Submission", "night-1")
    assert made["name"] == name_for("night-1")
    code, output, _ = mooring("submit", "-f", work("night-1"), "-o", "name")
    assert (code, output) == (0, f"submission/{NAMESPACE}/{made['name']}\n")
    stored = dock.call(dock.client.get(SUBMISSIONS, made["name"], NAMESPACE))
    assert stored.metadata.annotations[names.REASON] == "the nightly run"


def test_a_name_in_the_file_is_used(mooring, work):
    file = work("night-2", name="my-own-name")
    for options in (["--dry-run"], [], []):
        code, output, errors = mooring("submit", "-f", file, "-o", "name", *options)
        assert (code, output, errors) == (0, f"submission/{NAMESPACE}/my-own-name\n", "")
    code, output, _ = mooring("submit", "-f", work("night-2"), "-o", "name")
    assert (code, output) == (0, f"submission/{NAMESPACE}/my-own-name\n"), "the same key is the same submission"


def test_a_name_that_cannot_be_given_is_refused_with_a_fix(mooring, work):
    mooring("submit", "-f", work("night-7", name="seven"))
    code, _, errors = mooring("submit", "-f", work("night-7", name="eight"))
    assert code == 1 and "key_reused: the key 'night-7' belongs to the submission seven" in errors
    assert "fix: leave out metadata.name to get that submission, or use another key" in errors
    code, _, errors = mooring("submit", "-f", work("night-8", name="seven"))
    assert code == 1 and "the name 'seven' belongs to the submission with the key 'night-7'" in errors
    for options in (["--dry-run"], []):
        code, _, errors = mooring("submit", "-f", work("night-9", name="No_Name"), *options)
        assert code == 2 and "metadata.name: 'No_Name' is not allowed" in errors


def test_a_dry_submit_lists_the_jobs_as_data(mooring, work):
    code, output, errors = mooring("submit", "-f", work("night-3", name=name_for("night-3")), "--dry-run", "-o", "json")
    would = json.loads(output)
    assert (code, errors, would["dryRun"], would["name"]) == (0, "", True, name_for("night-3"))
    assert would["jobs"] == [f"{name_for('night-3')}-batch-0"]


def test_cancel_has_a_dry_run_and_asks_for_confirmation_on_a_terminal(dock, mooring, environment, work):
    mooring("submit", "-f", work("night-4"))
    name = f"{NAMESPACE}/night-4"
    code, output, _ = mooring("submissions", name, "--cancel", "--dry-run")
    assert code == 0 and "its finalizer does not run" in output and "dry run" in output
    code, seen = on_a_terminal(environment, b"\n", "submissions", name, "--cancel")
    assert code == 1 and "Go on?" in seen
    assert not json.loads(mooring("submissions", name, "-o", "json")[1])["cancelled"]
    code, output, _ = mooring("submissions", name, "--cancel", "--reason", "wrong data", "-o", "json")
    assert code == 0 and json.loads(output)["cancelled"]
    assert mooring("submissions", "--cancel")[0] == 2


def test_a_submission_is_found_by_its_key_or_name_in_all_namespaces(mooring, work):
    mooring("submit", "-f", work("night-6"))
    for asked in ("night-6", name_for("night-6"), f"{NAMESPACE}/night-6"):
        assert mooring("submissions", asked, "-o", "name")[1] == f"submission/{NAMESPACE}/{name_for('night-6')}\n", (
            asked
        )
    assert mooring("submissions", "night-6", "-n", "nowhere")[0] == 3
    code, _, errors = mooring("submissions", "night-66")
    assert code == 3 and "there is no submission 'night-66'" in errors


# --- filters ---------------------------------------------------------------------------------------------------------
def test_listings_are_filtered_by_namespace(dock, mooring, work, held):
    pool = dock.pool()
    name = pool.split("/")[1]
    mooring("submit", "-f", work("night-5"))
    assert mooring("release", held.id)[0] == 0  # audited, in the same namespace
    for listing in ("pools", "workers", "claims", "submissions", "audit"):
        ended = ["--all"] if listing == "claims" else []
        assert mooring(listing, "-n", NAMESPACE, "-o", "name", *ended)[1], listing
        assert mooring(listing, "-n", "nowhere", "-o", "name") == (0, "", ""), listing
    for listing in ("warmups", "services"):
        assert mooring(listing, "-n", "nowhere", "-o", "name") == (0, "", ""), listing
    one = mooring("workers", "--pool", pool, "-o", "name")
    assert one[1] and mooring("workers", "-n", NAMESPACE, "--pool", name, "-o", "name") == one
    assert mooring("workers", "--pool", name, "-o", "name") == one
    for listing in ("workers", "claims"):
        code, _, errors = mooring(listing, "-n", "nowhere", "--pool", pool)
        assert code == 2 and "nowhere" in errors
