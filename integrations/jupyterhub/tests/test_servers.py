"""What the hub remembers of a server, and what its user reads about its end."""

from datetime import UTC, datetime

import pytest

from mooring.client import ClaimView, SessionResult
from mooring_jupyterhub.servers import LOST, RunningServer, explain_end, is_running, key_prefix

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
SERVER = RunningServer("claim-1", 7, "users-0", "10.0.0.1", 8888)


def claim(**changes):
    given = {
        "id": "claim-1", "epoch": 7, "state": "running", "pool": "notebooks/users", "owner": "ada",
        "ttl_seconds": 600, "worker": None, "payload": None, "position": None, "expected_wait_seconds": None,
        "reason": "", "cause": None, "ended_at": None, "key": None, **changes,
    }  # fmt: skip
    return ClaimView(**given)


def test_a_server_survives_the_database_of_the_hub():
    assert RunningServer.load(SERVER.dump()) == SERVER


@pytest.mark.parametrize(
    "stored", [{}, {"claim": "a"}, {**SERVER.dump(), "epoch": "seven"}, {**SERVER.dump(), "port": None}]
)
def test_an_incomplete_state_is_no_server(stored):
    assert RunningServer.load(stored) is None


@pytest.mark.parametrize(
    ("found", "runs"),
    [
        (claim(), True),
        (claim(state="released"), False),
        (claim(epoch=8), False),  # the claim was moved: another server, which has no token of ours
        (None, False),
    ],
)
def test_a_server_runs_only_under_its_own_epoch(found, runs):
    assert is_running(SERVER, found) is runs


@pytest.mark.parametrize(
    ("cause", "state", "words"),
    [
        ("drained", "lost", "its node was drained"),
        ("worker_lost", "lost", "its worker was lost"),
        ("expired", "expired", "its worker was not heard of in time"),
        ("revoked", "released", "it was released"),
    ],
)
def test_its_user_reads_why_it_ended(cause, state, words):
    found = claim(state=state, cause=cause, reason="node-3 is drained", ended_at=NOW)
    ended = explain_end(SERVER, found, None, NOW)
    assert ended.status == LOST
    assert ended.message.startswith(f"Your server ended at 12:30 UTC, because {words} (node-3 is drained).")


def test_a_server_that_ended_by_itself_has_its_exit_code():
    ended = explain_end(SERVER, claim(state="released"), SessionResult(3, "", "users-0", NOW), NOW)
    assert (ended.status, ended.message) == (3, "Your server ended by itself, with exit code 3.")


def test_a_claim_that_the_ledger_has_no_more_is_a_server_that_ended():
    assert "nothing more is known" in explain_end(SERVER, None, None, NOW).message


def test_keys_of_two_servers_never_begin_alike():
    names = [("a", "b/c"), ("a/b", "c"), ("a", ""), ("a/1:b", "c"), ("1:a", "b")]
    prefixes = [key_prefix("hub", user, server) for user, server in names]
    assert not [one for one in prefixes for other in prefixes if one != other and one.startswith(other)]
    assert len(set(prefixes)) == len(names)
