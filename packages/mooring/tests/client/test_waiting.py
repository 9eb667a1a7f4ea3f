"""Clients that wait or hold over a real port: gone, revoked, or faced with a ledger that does not answer."""

import asyncio
import json
import logging
import socket
import subprocess
import sys
import threading
import time

import pytest

from mooring.client import AsyncMooring, LeaseLost, LossCause, Mooring
from mooring.client.connection import Connection, Endpoint
from mooring.client.errors import ClaimTimeout
from mooring.ledger.faults import Fault
from mooring.ledger.records import ClaimFilter
from mooring.model.claim import ClaimState, EndCause
from mooring.model.timeouts import Timeouts
from packages.mooring.tests.client.dock import TOKEN, Dock, Front
from packages.mooring.tests.client.processes import eventually

HURRY = 10.0  # the twenty seconds of a silent client are two


@pytest.fixture(scope="module")
def hurried():
    with Dock(timeouts=Timeouts().hurried(HURRY)) as opened:
        yield opened


def send_waiting_claim(dock, pool, owner, **request):
    """A claim request on a socket of its own, as a client that may be killed has it."""
    host, port = dock.url.removeprefix("http://").split(":")
    body = json.dumps({"owner": owner, "wait": 300, **request}).encode()
    head = f"POST /v1/pools/{pool}/claims HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    client = socket.create_connection((host, int(port)))
    client.sendall(head.encode() + body)
    return client


def find_claim(dock, owner):
    found = dock.call(dock.ledger.claims.list(ClaimFilter(owner=owner))).items
    return found[0] if found else None


def test_a_waiting_claim_whose_client_was_killed_is_abandoned(hurried):
    pool = hurried.pool()
    with Mooring(hurried.url, TOKEN).claim(pool, owner="holder"):
        client = send_waiting_claim(hurried, pool, "killed")
        eventually(lambda: find_claim(hurried, "killed"))
        client.close()
        ended = eventually(lambda: (found := find_claim(hurried, "killed")) and not found.open and found)
        assert (ended.state, ended.cause) == (ClaimState.EXPIRED, EndCause.ABANDONED)


def test_a_client_that_hangs_up_leaves_no_traceback_also_when_the_server_stops(caplog, capfd):
    with caplog.at_level(logging.INFO), Dock() as dock:
        pool = dock.pool()
        holder = Mooring(dock.url, TOKEN).claim(pool, owner="holder")
        with holder:
            holder.detach()
        gone = send_waiting_claim(dock, pool, "gone")
        stays = send_waiting_claim(dock, pool, "stays")
        eventually(lambda: dock.open_claims(pool) == 3)
        gone.close()
        time.sleep(0.5)
    assert b'"code":"stopping"' in stays.recv(65536), "it may ask another replica"
    stays.close()
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert not errors, [record.getMessage() for record in errors]
    assert "Traceback" not in "".join(capfd.readouterr())


def test_the_stream_of_a_claim_begins_with_it_and_ends_with_it(dock):
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme") as claim:
        claim.detach()
    events = []

    def listen():
        for line in Connection(Endpoint(dock.url, TOKEN)).lines(f"/v1/claims/{claim.id}/stream"):
            name, _, value = line.partition(": ")
            if name == "event":
                events.append((value, None))
            elif name == "data":
                events[-1] = (events[-1][0], json.loads(value))

    listening = threading.Thread(target=listen, daemon=True)
    listening.start()
    first, body = eventually(lambda: events and events[0][1] and events[0])
    assert (first, body["id"], body["state"]) == ("claim", claim.id, "running")
    Mooring(dock.url, TOKEN).release(claim.id, reason="needed elsewhere")
    listening.join(2)
    assert not listening.is_alive()
    name, body = events[-1]
    assert (name, body["cause"], body["reason"]) == ("claim", "revoked", "needed elsewhere (by operator)")


def test_a_holder_learns_of_a_revocation_in_under_two_seconds(dock):
    pool = dock.pool()
    mooring = Mooring(dock.url, TOKEN)
    with pytest.raises(LeaseLost) as raised, mooring.claim(pool, owner="acme", ttl="5m") as claim:
        time.sleep(0.5)
        mooring.release(claim.id, reason="needed elsewhere")
        revoked = time.monotonic()
        eventually(lambda: claim.lost, seconds=2)
        assert time.monotonic() - revoked < 2
    assert raised.value.cause is LossCause.REVOKED and "needed elsewhere" in raised.value.message


async def test_a_holder_in_an_event_loop_is_cancelled_in_under_two_seconds(dock):
    pool = dock.pool()

    started = time.monotonic()
    with pytest.raises(LeaseLost, match="needed elsewhere"):
        mooring = AsyncMooring(dock.url, TOKEN)
        async with mooring.claim(pool, owner="acme", ttl="5m") as claim:
            await mooring.release(claim.id, reason="needed elsewhere")
            await asyncio.sleep(60)
    assert time.monotonic() - started < 5


def test_without_the_stream_a_loss_is_still_learned_by_renewals(dock):
    pool = dock.pool()
    with Front(dock.url, only=b"/stream", refuse=10_000) as front:
        mooring = Mooring(front.url, TOKEN)
        with pytest.raises(LeaseLost), mooring.claim(pool, owner="acme", ttl="3s") as claim:
            time.sleep(0.3)
            mooring.release(claim.id)
            eventually(lambda: claim.lost, seconds=3)
        assert front.refuse < 10_000, "the stream was asked for"


@pytest.mark.parametrize("key", ["", "build-7"])
def test_a_waiting_claim_that_is_released_ends_its_client_with_the_reason(dock, key):
    pool = dock.pool()
    mooring, caught = Mooring(dock.url, TOKEN), []
    owner = f"unlucky{key}"

    def wait():
        try:
            with mooring.claim(pool, owner=owner, wait="1m", key=key):
                raise AssertionError("it got a worker")
        except LeaseLost as lost:
            caught.append(lost)

    with mooring.claim(pool, owner="holder"):
        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        claim = eventually(lambda: find_claim(dock, owner))
        mooring.release(claim.id, reason="the pool is closed")
        waiting.join(10)
        assert dock.open_claims(pool) == 1, "it does not queue again"
    (lost,) = caught
    assert lost.cause is LossCause.REVOKED and "the pool is closed (by operator)" in lost.message
    assert lost.at == dock.claim(claim.id).ended_at
    assert lost.fix == "ask who revoked it before you claim again"


def test_the_terminal_ends_with_6_and_the_reason_when_its_waiting_claim_is_released(dock, environment):
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="holder"):
        command = [sys.executable, "-m", "mooring", "claim", pool, "--owner", "queueing", "--wait", "5m", "--", "true"]
        process = subprocess.Popen(command, env=environment, text=True, stderr=subprocess.PIPE)
        claim = eventually(lambda: find_claim(dock, "queueing"))
        Mooring(dock.url, TOKEN).release(claim.id, reason="the pool is closed")
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 6, errors
    message = f"mooring: claim_revoked: claim {claim.id} was revoked while it waited: the pool is closed (by operator)"
    assert message in errors.splitlines() and "  fix: ask who revoked it" in errors and "lease_lost" not in errors


def test_a_detached_claim_of_the_terminal_keeps_its_place_when_the_command_is_killed(hurried, environment):
    pool = hurried.pool()
    with Mooring(hurried.url, TOKEN).claim(pool, owner="holder"):
        started = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "mooring",
                    "claim",
                    pool,
                    "--owner",
                    owner,
                    "--wait",
                    "5m",
                    *given,
                    "--",
                    "true",
                ],
                env={**environment, "MOORING_URL": hurried.url},
                stderr=subprocess.DEVNULL,
            )
            for owner, given in (("plain", ()), ("unattended", ("--detached",)))
        ]
        eventually(lambda: find_claim(hurried, "plain") and find_claim(hurried, "unattended"))
        for process in started:
            process.kill()
            process.wait()
        eventually(lambda: find_claim(hurried, "plain").cause is EndCause.ABANDONED)
        assert find_claim(hurried, "unattended").state is ClaimState.QUEUED


def test_while_the_ledger_does_not_answer_a_client_says_so_keeps_its_place_and_goes_on(dock):
    pool = dock.pool()
    mooring, told, got = Mooring(dock.url, TOKEN), [], []

    def wait():
        with mooring.claim(pool, owner="patient", wait="2m", on_wait=told.append) as claim:
            got.append(claim.id)

    holder = mooring.claim(pool, owner="holder", ttl="5m")
    with holder:
        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        claim = eventually(lambda: find_claim(dock, "patient"))
        eventually(lambda: told)
        dock.fault = lambda call: Fault.AWAY if call.noun == "claims" else Fault.NONE
        try:
            eventually(lambda: "the ledger is away" in told[-1].why.message)
            before = len(told)
            time.sleep(18)  # longer than an SDK waits for a server that never answered
            during = [report.why for report in told[before:]]
        finally:
            dock.fault = lambda _: Fault.NONE
        assert during and all("the ledger is away" in why.message for why in during), during
        assert waiting.is_alive()
        eventually(lambda: told[-1].why.code != "unavailable")
        assert find_claim(dock, "patient").id == claim.id
    waiting.join(20)
    assert got == [claim.id]


def test_a_wait_that_ends_while_the_ledger_does_not_answer_is_a_timeout_that_says_so(dock):
    pool = dock.pool()
    dock.fault = lambda call: Fault.AWAY if call.noun == "claims" else Fault.NONE
    began = time.monotonic()
    try:
        with pytest.raises(ClaimTimeout) as raised, Mooring(dock.url, TOKEN).claim(pool, owner="acme", wait="5s"):
            raise AssertionError("it got a worker")
    finally:
        dock.fault = lambda _: Fault.NONE
    assert time.monotonic() - began < 9
    assert "the ledger is away" in raised.value.why.message and "wait longer" not in raised.value.fix
