"""Claims that nobody waits for: put into the queue, and found again by their key."""

import pytest

from mooring.client import AsyncMooring, Mooring
from mooring.client.errors import Unavailable
from mooring.model.claim import ClaimState
from mooring.model.errors import InvalidInput
from packages.mooring.tests.client.dock import TOKEN, Front


@pytest.fixture
def mooring(dock):
    return Mooring(dock.url, TOKEN)


def test_a_claim_without_a_free_worker_waits_in_the_queue_when_the_call_has_returned(dock, mooring):
    pool = dock.pool()
    with mooring.claim(pool, owner="acme"):
        queued = mooring.enqueue(pool, key="job-1", owner="acme", payload={"job": 1})
        assert (queued.state, queued.key) == ("queued", "job-1")
        assert dock.claim(queued.id).detached
        assert mooring.enqueue(pool, key="job-1", owner="acme", payload={"job": 1}).id == queued.id
        assert mooring.get_claim(queued.id).payload == {"job": 1}
    mooring.release(queued.id, reason="the job was cancelled")


def test_a_free_worker_is_bound_at_once_and_an_ended_claim_is_returned_as_it_ended(dock, mooring, run):
    pool = dock.pool()
    running = run(AsyncMooring(dock.url, TOKEN).enqueue(pool, key="job-1", owner="acme"))
    assert running.state == "running" and running.worker is not None
    mooring.release(running.id, running.epoch)
    ended = mooring.enqueue(pool, key="job-1", owner="acme")
    assert (ended.id, ended.open) == (running.id, False)
    assert dock.claim(running.id).state is ClaimState.RELEASED


def test_a_claim_needs_a_key_and_a_mooring_that_answers(dock, mooring):
    pool = dock.pool()
    for key in ("", 7):
        with pytest.raises(InvalidInput, match="key"):
            mooring.enqueue(pool, key=key, owner="acme")
    with Front(dock.url) as front:
        front.closed = True
        with pytest.raises(Unavailable):
            Mooring(front.url, TOKEN).enqueue(pool, key="job-1", owner="acme")
