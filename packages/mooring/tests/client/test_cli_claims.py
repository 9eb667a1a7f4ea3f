"""`mooring claims`, `claim` and `release` as processes, against a Mooring behind a real port."""

import json
import re
import signal
import time
from functools import partial

import pytest

from mooring.client import Mooring
from mooring.model.claim import ClaimState, EndCause, NewClaim, WorkerSlot
from packages.mooring.tests.client.dock import TOKEN
from packages.mooring.tests.client.processes import eventually, on_a_terminal

SHOW = 'echo "$MOORING_CLAIM_ID $MOORING_EPOCH $MOORING_WORKER_ADDRESS"'


@pytest.fixture
def start(spawn):
    """Start the command line as a process."""
    return partial(spawn, "-m", "mooring")


@pytest.fixture
def command(start):
    """Run the command line as a process to its end: exit code, stdout, stderr."""

    def run(*arguments):
        process = start(*arguments)
        output, errors = process.communicate(timeout=30)
        return process.returncode, output, errors

    return run


def running_claim(dock, pool):
    namespace, name = pool.split("/")
    found = dock.call(dock.ledger.claims.live(namespace, name)).claims
    return found[0] if found and found[0].state is ClaimState.RUNNING else None


def test_a_command_runs_while_the_worker_is_held_and_its_exit_code_is_returned(dock, command):
    pool = dock.pool()
    code, output, errors = command("claim", pool, "--owner", "acme", "--", "sh", "-c", f"{SHOW}; exit 7")
    assert code == 7, errors
    claim = dock.claim(output.split()[0])
    assert output.split()[1:] == [str(claim.epoch), claim.address]
    assert claim.state is ClaimState.RELEASED and claim.owner == "acme"
    assert claim.pod_name in errors


def test_a_claim_timeout_ends_with_5_and_prints_why(dock, command):
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="first"):
        code, output, errors = command("claim", pool, "--owner", "acme", "--wait", "1s", "--", "echo", "never")
    assert code == 5 and output == ""
    assert "wait_timed_out" in errors and "0 idle, 1 busy" in errors and "fix:" in errors
    assert "next in line (since 20" in errors


def test_a_lost_claim_ends_the_command_with_all_it_started_and_exits_with_6(dock, start, tmp_path):
    pool = dock.pool()
    marks = tmp_path / "marks"
    script = f"trap 'echo told >> {marks}; exit 0' TERM; sleep 60 & echo started >> {marks}; wait"
    process = start("claim", pool, "--owner", "acme", "--ttl", "1s", "--", "sh", "-c", script)
    eventually(marks.exists, "the command starts")
    dock.end(running_claim(dock, pool).id, EndCause.EXPIRED, "no heartbeat")
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 6, errors
    assert marks.read_text().split() == ["started", "told"] and "lease_lost" in errors


def test_a_signal_is_forwarded_and_the_worker_is_released(dock, start):
    pool = dock.pool()
    process = start("claim", pool, "--owner", "acme", "--", "sleep", "60")
    claim = eventually(lambda: running_claim(dock, pool), "the claim runs")
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGTERM
    assert dock.claim(claim.id).state is ClaimState.RELEASED


def test_an_interrupted_wait_leaves_the_queue(dock, start):
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="first"):
        process = start("claim", pool, "--owner", "second", "--", "true")
        eventually(lambda: dock.open_claims(pool) == 2, "it waits")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert process.returncode == 130
        assert dock.open_claims(pool) == 1


def test_a_command_that_cannot_be_started_releases_the_worker(dock, command):
    pool = dock.pool()
    code, _, errors = command("claim", pool, "--owner", "acme", "--", "/no/such/program")
    assert code == 127 and "/no/such/program" in errors
    assert dock.open_claims(pool) == 0


def test_wrong_use_has_its_own_exit_codes(dock, mooring):
    pool = dock.pool()
    assert mooring("claim", pool, "--owner", "acme")[0] == 2
    assert mooring("claim", "linux", "--owner", "acme", "--", "true")[0] == 3
    assert mooring("claim", pool, "--owner", "a b", "--", "true")[0] == 2
    code, _, errors = mooring("claim", "runners/windows", "--owner", "acme", "--", "true")
    assert code == 3 and "unknown_pool" in errors
    assert mooring("claim", pool, "--owner", "acme", "--token", "wrong", "--", "true")[0] == 4
    assert mooring("release", "no-such-claim")[0] == 3
    assert dock.open_claims(pool) == 0


def test_claims_are_listed_and_released(dock, mooring):
    pool = dock.pool(warm=2, max=2)
    client = Mooring(dock.url, TOKEN)
    with client.claim(pool, owner="acme") as first:
        first.detach()
    with client.claim(pool, owner="globex"):
        _, table, _ = mooring("claims", "--pool", pool)
        assert table.split("\n")[0].split()[:4] == ["ID", "STATE", "POOL", "OWNER"]
        assert "acme" in table and "globex" in table
        _, output, _ = mooring("claims", "--pool", pool, "--owner", "acme", "-o", "json")
        listed = json.loads(output)
        assert listed["kind"] == "ClaimList" and [item["id"] for item in listed["items"]] == [first.id]
        _, names, errors = mooring("claims", "--pool", pool, "--limit", "1", "-o", "name")
        assert names.startswith("claim/") and "1 of 2 shown" in errors
    code, output, _ = mooring("release", first.id, "--dry-run")
    assert code == 0 and "acme" in output and dock.claim(first.id).state is ClaimState.RUNNING
    code, output, _ = mooring("release", first.id)
    assert code == 0 and output == f"claim/{first.id} released: released by operator\n"
    assert dock.claim(first.id).state is ClaimState.RELEASED
    assert mooring("claims", "--only", "sleeping")[0] == 2


def test_claims_lists_open_ones_unless_all_are_asked_for(dock, mooring):
    pool = dock.pool(warm=2, max=2)
    client = Mooring(dock.url, TOKEN)
    with client.claim(pool, owner="acme") as ended:
        pass
    with client.claim(pool, owner="acme") as held:
        listed = ("claims", "--pool", pool, "-o", "name")
        shown = {given: mooring(*listed, *given)[1].split() for given in ((), ("--all",))}
        assert shown == {(): [f"claim/{held.id}"], ("--all",): [f"claim/{held.id}", f"claim/{ended.id}"]}
        assert mooring(*listed, "--only", "released")[1].split() == [f"claim/{ended.id}"]


def test_an_id_may_be_shortened_to_a_beginning_that_no_other_has(dock, mooring):
    pool = dock.pool(warm=2, max=2)
    for number in (1, 2):
        new = NewClaim(id=f"beef-{number}", namespace="runners", pool="x", owner="acme", ttl_seconds=60)
        dock.call(dock.ledger.claims.insert_claimed(new, WorkerSlot(f"w{number}", f"u{number}"), now=dock.clock.now()))
    code, _, errors = mooring("release", "beef")
    assert code == 2 and "beef-1" in errors and "beef-2" in errors
    code, _, errors = mooring("release", "bee")
    assert code == 3 and "fix: give at least 4 characters of its id; 'mooring claims --all' lists them" in errors
    assert mooring("release", "beef-3")[0] == 3
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme") as held:
        held.detach()
    code, output, _ = mooring("release", f"claim/{held.id[:12]}", "--reason", "too long")
    assert (code, output) == (0, f"claim/{held.id} released: too long (by operator)\n")
    assert dock.claim(held.id).state is ClaimState.RELEASED


def test_on_a_terminal_the_command_gets_the_keyboard(dock, environment):
    pool = dock.pool()
    typed = ("claim", pool, "--owner", "acme", "--", "sh", "-c", "read line; echo got-$line")
    code, seen = on_a_terminal(environment, b"ahoy\n", *typed)
    assert code == 0, seen
    assert "got-ahoy" in seen


def test_a_claim_that_waits_reports_what_changed_and_not_the_same_again(mooring, dock):
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="first"):
        code, _, errors = mooring("claim", pool, "--owner", "patient", "--wait", "9s", "--", "true")
    assert code == 5
    reports = [re.sub(r", for \d+ s", "", line) for line in errors.splitlines() if "waits for a worker" in line]
    assert reports and len(reports) == len(set(reports)), errors


def test_a_pool_whose_workers_poll_is_refused_at_once(mooring, dock):
    pool = dock.pool(dispatch="Poll")
    code, _, errors = mooring("claim", pool, "--owner", "acme", "--", "sleep", "60")
    assert code == 2 and "dispatch: Push" in errors and "run()" in errors
    assert dock.open_claims(pool) == 0
