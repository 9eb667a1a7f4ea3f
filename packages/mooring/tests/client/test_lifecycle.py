"""Claims and the process around them: signals, threads, forks, event loops, and holders that never close."""

import asyncio
import signal
import threading
import time

import pytest

from mooring.client import AsyncMooring, LeaseLost, Mooring
from mooring.model.claim import ClaimState, EndCause
from packages.mooring.tests.client.dock import TOKEN, Front
from packages.mooring.tests.client.processes import eventually


@pytest.fixture
def start(spawn):
    """Start a Python program that uses the SDK."""
    return lambda code, *arguments: spawn("-W", "error", "-c", f"from mooring.client import *\n{code}", *arguments)


WAITS = 'import sys\nwith Mooring().claim(sys.argv[1], owner="second", wait="60s"): pass'
HOLDS = """
import sys, time
with Mooring().claim(sys.argv[1], owner="acme") as claim:
    print(claim.id, flush=True)
    time.sleep(60)
"""


def test_an_interrupt_while_a_claim_waits_takes_it_out_of_the_queue(dock, start):
    pool = dock.pool()
    with Mooring(dock.url, TOKEN).claim(pool, owner="first"):
        process = start(WAITS, pool)
        eventually(lambda: dock.open_claims(pool) == 2, "the second claim is in the queue")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors
        assert dock.open_claims(pool) == 1


def test_an_interrupt_in_the_block_releases_the_worker(dock, start):
    pool = dock.pool()
    process = start(HOLDS, pool)
    claim_id = process.stdout.readline().strip()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert dock.claim(claim_id).state is ClaimState.RELEASED


ABANDONS = """
import sys
claim = Mooring().claim(sys.argv[1], owner="acme", ttl="1h")
print(claim.__enter__().id)
"""
ABANDONS_IN_A_LOOP = """
import asyncio, sys
async def main():
    claim = await AsyncMooring().claim(sys.argv[1], owner="acme", ttl="1h").__aenter__()
    print(claim.id)
asyncio.run(main())
"""


@pytest.mark.parametrize("code", [ABANDONS, ABANDONS_IN_A_LOOP], ids=["blocking", "asyncio"])
def test_a_claim_that_is_never_closed_does_not_delay_the_end_of_its_process(dock, start, code):
    process = start(code, dock.pool())
    output, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (0, "")
    assert dock.claim(output.strip()).state is ClaimState.RUNNING  # until its ttl ends
    dock.end(output.strip(), EndCause.RELEASED, "the test is over")


FORKS = """
import os, sys, time
with Mooring().claim(sys.argv[1], owner="acme", ttl="1s") as claim:
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    time.sleep(1.5)
    claim.check()
print(claim.id)
"""


def test_a_fork_in_the_block_leaves_the_renewals_to_the_parent(dock, start):
    output, errors = start(FORKS, dock.pool()).communicate(timeout=20)
    assert dock.claim(output.strip()).state is ClaimState.RELEASED, errors


async def test_the_blocking_sdk_works_inside_a_running_event_loop(dock):
    pool = dock.pool()

    async def main():
        with Mooring(dock.url, TOKEN).claim(pool, owner="acme", wait="5s", ttl="1s") as claim:
            await asyncio.sleep(1.5)
            claim.check()
            return claim.id

    assert dock.claim(await main()).state is ClaimState.RELEASED


def test_threads_share_one_mooring(dock):
    pool = dock.pool(warm=4, max=4)
    mooring, together, workers = Mooring(dock.url, TOKEN), threading.Barrier(4), []

    def hold():
        with mooring.claim(pool, owner="acme", wait="5s") as claim:
            workers.append(claim.worker.name)
            together.wait(20)

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(workers)) == 4 and dock.open_claims(pool) == 0


async def test_a_loss_that_a_thread_notices_cancels_the_block_of_the_event_loop(dock):
    pool = dock.pool()

    def wait_for_loss(claim):
        while True:
            claim.check()
            time.sleep(0.01)

    started = time.monotonic()
    with pytest.raises(LeaseLost), Front(dock.url) as front:
        async with AsyncMooring(front.url, TOKEN).claim(pool, owner="acme", ttl="1s") as claim:
            front.closed = True
            with pytest.raises(LeaseLost):
                await asyncio.to_thread(wait_for_loss, claim)
            await asyncio.sleep(30)
    assert time.monotonic() - started < 10


def test_an_answer_that_is_no_claim_is_asked_for_again_and_nothing_is_left(dock, monkeypatch):
    pool = dock.pool(warm=2, max=2)
    from mooring.client import blocking_runtime

    honest, spoilt = blocking_runtime.Connection.request, []

    def request(self, method, path, *arguments):
        answer = honest(self, method, path, *arguments)
        if method == "POST" and path.endswith("/claims") and not spoilt:
            spoilt.append(answer)
            return {"unexpected": True}
        return answer

    monkeypatch.setattr(blocking_runtime.Connection, "request", request)
    with Mooring(dock.url, TOKEN).claim(pool, owner="acme") as claim:
        assert claim.id == spoilt[0]["id"] and dock.open_claims(pool) == 1
    assert dock.open_claims(pool) == 0
