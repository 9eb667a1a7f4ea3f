"""What an earlier master left is released; the claim of a build that starts meanwhile is not."""

import asyncio
import concurrent.futures
import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from mooring.client.records import ClaimView, read_claim
from mooring_buildbot.keys import make_prefix
from mooring_buildbot.loop import LOOP
from mooring_buildbot.worker import MooringLatentWorker, PoolClaims

PREFIX = make_prefix("ci", "w")

pytestmark = pytest.mark.realtime


class SlowMooring:
    """Its first list of claims is made after the build's claim, as by a Mooring that has just started."""

    def __init__(self) -> None:
        self.open = [f"{PREFIX}left"]
        self.released: list[str] = []
        self.listing, self.claimed = threading.Event(), threading.Event()
        self._listed_again = asyncio.Event()
        self.id, self.worker, self.result = "c-1", SimpleNamespace(name="builders-1"), None

    async def claims(self, pool: str, *, owner: str, limit: int) -> list[ClaimView]:
        if not self.listing.is_set():
            self.listing.set()
            await self._listed_again.wait()
        return [view(key) for key in self.open]

    async def release(self, claim: str, epoch: int, *, reason: str) -> None:
        self.released.append(claim)

    def claim(self, pool: str, *, key: str, **_: Any) -> "SlowMooring":
        self.open.append(key)
        return self

    async def __aenter__(self) -> "SlowMooring":
        self.claimed.set()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.open.pop()

    async def wait_lost(self, seconds: float) -> None:
        await asyncio.Event().wait()

    async def answer(self) -> None:
        self._listed_again.set()


def view(key: str) -> ClaimView:
    body = {"id": key, "namespace": "ci", "pool": "builders", "owner": "ci", "ttlSeconds": 60, "epoch": 1}
    return read_claim({**body, "state": "running", "idempotencyKey": key})


@dataclass(frozen=True)
class SlowClaims(PoolClaims):
    mooring: Any = None

    def connect(self) -> Any:
        return self.mooring


def test_a_build_that_starts_while_the_master_cleans_up_keeps_its_claim() -> None:
    mooring = SlowMooring()
    worker: Any = MooringLatentWorker("w", SlowClaims("ci/builders", mooring=mooring))
    worker._claims, worker._endpoint, worker._prefix = SlowClaims("ci/builders", mooring=mooring), "tcp:host=h", PREFIX
    worker.password = "secret"
    reactor = SimpleNamespace(callFromThread=lambda work, *arguments: None)
    worker.parent = SimpleNamespace(master=SimpleNamespace(reactor=reactor))
    worker._cleaning = LOOP.start(worker._clean())
    assert mooring.listing.wait(10)
    worker.start_instance(None)
    assert mooring.claimed.wait(10)
    LOOP.start(mooring.answer())
    concurrent.futures.wait({worker._cleaning}, 10)
    LOOP.start(worker._instance.stop()).result(10)
    assert set(mooring.released) == {f"{PREFIX}left"}, "the build releases what was left, and keeps its own"
