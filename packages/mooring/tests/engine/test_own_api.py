"""Silence is not counted for a time in which this replica could not be reached."""

import pytest
from aiohttp import web

from drydock import VirtualLoop
from hawser.clock import Entropy, LoopClock
from mooring.engine.liveness import SignsOfLife, SilenceMeter
from mooring.engine.own_api import DOUBT_SECONDS, HttpOwnApi, Reachability
from mooring.incidents.fakes import Gateway
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.timeouts import Timeouts
from packages.testing.coroutines import START

FLUSH = Timeouts().liveness_flush
WORKER = {"worker": ("worker",)}


class Listening:
    """A replica that hears one worker, or nobody."""

    def __init__(self) -> None:
        self.clock = LoopClock(START)
        self.gateway = Gateway()
        ledger = MemoryLedger(MemoryStore(), clock=self.clock, entropy=Entropy(1))
        self.signs = SignsOfLife(ledger, self.clock, Timeouts(), "a", self.gateway)
        self.meter: SilenceMeter = self.signs.meter()

    async def listen(self, seconds: float) -> dict[str, float]:
        """Flush and measure as a running replica does; the last measure."""
        measured: dict[str, float] = {}
        for _ in range(int(seconds / FLUSH)):
            await self.signs.flush()
            measured = await self.meter.measure(WORKER)
            await self.clock.sleep(FLUSH)
        return measured


async def test_silence_is_measured_while_the_api_answers() -> None:
    assert (await Listening().listen(300))["worker"] == 290


async def test_silence_is_not_measured_while_the_api_does_not_answer_and_starts_anew_afterwards() -> None:
    replica = Listening()
    await replica.listen(300)
    replica.gateway.broken = "connection refused"
    assert await replica.listen(600) == {}
    assert replica.signs.reach.failure == "connection refused"
    replica.gateway.broken = ""
    assert (await replica.listen(100))["worker"] == 90


async def test_a_word_that_came_in_proves_that_the_api_is_reached() -> None:
    replica = Listening()
    replica.gateway.broken = "no route from here"
    for _ in range(5):
        replica.signs.record("another")
        await replica.listen(FLUSH)
    assert replica.signs.reach.failure == "" and replica.signs.reach.since == 0


@pytest.mark.parametrize("first", ["measure", "flush"])
async def test_the_time_in_which_the_process_was_stopped_is_no_silence(first: str) -> None:
    replica = Listening()
    await replica.listen(100)
    await replica.clock.sleep(700)  # SIGSTOP: nothing runs, and time passes
    if first == "measure":
        assert await replica.meter.measure(WORKER) == {}
    assert (await replica.listen(FLUSH))["worker"] == 0
    assert (await replica.listen(50))["worker"] == 50


@pytest.mark.realtime
async def test_the_api_is_asked_over_http() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=200 if request.path == "/healthz" else 503)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    assert await HttpOwnApi(f"{url}/").failure() == ""
    assert await HttpOwnApi(f"{url}/elsewhere").failure() == "it answered 503"
    await runner.cleanup()
    assert "onnect" in await HttpOwnApi(url).failure()


async def test_a_way_to_itself_that_stays_closed_is_doubted_for_a_while_only():
    clock, gateway = VirtualLoop.running().clock, Gateway(broken="connection refused")
    reach, began = Reachability(gateway, clock, 5.0), VirtualLoop.running().clock.monotonic()
    while clock.monotonic() - began < DOUBT_SECONDS:
        await reach.look(proven=False)
        assert reach.doubted and reach.since is None
        await clock.sleep(5)
    await reach.look(proven=False)
    assert not reach.doubted and reach.since == clock.monotonic() and reach.failure
    gateway.broken = ""
    await reach.look(proven=False)
    gateway.broken = "connection refused"
    await reach.look(proven=False)
    assert reach.doubted and reach.since is None
