"""Programs that hold workers of a pool under fire, with the SDK, and write down what they asked and were told."""

import asyncio
import random
import time
from typing import Any

from hawser.backoff import Backoff
from hawser.clock import Entropy
from mooring.client.acquisition import Acquisition
from mooring.client.claims_api import CLOSE_SECONDS, release, renew
from mooring.client.errors import RemoteError
from mooring.client.records import ClaimView
from mooring.client.request import make_request
from packages.mooring.tests.fire.parts import NAMESPACE, POOL, Parts, Replica
from packages.mooring.tests.fire.service import Service, ServiceRuntime
from packages.testing.judge import History

TTL_SECONDS, WAIT_SECONDS = 300, 120
_AGAIN_SECONDS, _LATEST_SECONDS = 0.3, 10.0
_OVER = (404, 409)


class Sessions:
    """So many new sessions a second, whether others have ended or not."""

    def __init__(self, parts: Parts, history: History, began: float) -> None:
        self.history = history
        self._began = began
        self._chance = random.Random(16)
        self._entropy = Entropy(16)
        self._parts = parts
        self._service = Service(parts.replicas, parts.session, random.Random(17))
        self._runtime = self._at()
        self._running: set[asyncio.Task[None]] = set()
        self.begun = 0
        self.failed = 0
        self.waits: list[float] = []

    def _at(self, replica: Replica | None = None) -> ServiceRuntime:
        return ServiceRuntime(self._service, self._parts.session, self._parts.headers, replica)

    async def run(self, rate: float, seconds: float) -> None:
        """Until the time is over and all sessions have ended."""
        probing = asyncio.create_task(self._service.run())
        until, due = time.monotonic() + seconds, time.monotonic()
        try:
            while due < until:
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                task = asyncio.create_task(self._session(self.begun))
                self._running.add(task)
                task.add_done_callback(self._running.discard)
                self.begun += 1
                due += 1 / rate
            await asyncio.gather(*self._running)
        finally:
            probing.cancel()

    def _note(self, event: str, **fields: Any) -> None:
        self.history.note(time.monotonic() - self._began, event, **fields)

    async def _session(self, number: int) -> None:
        claim = await self._claim(f"s{number}", self._runtime)
        if claim is None:
            self.failed += 1
        elif await self._hold(claim):
            await self._give_back(claim, self._runtime)

    async def _hold(self, claim: ClaimView) -> bool:
        """For a moment, with heartbeats; False when it was lost."""
        for _ in range(self._chance.randrange(1, 4)):
            await asyncio.sleep(self._chance.uniform(0.2, 1.0))
            try:
                await renew(self._runtime, claim, CLOSE_SECONDS)
            except RemoteError as error:
                if error.status in _OVER:
                    self._note("lost", **_about(claim))
                    return False
            else:
                self._note("beat", claim=claim.id, ttl=TTL_SECONDS)
        return True

    async def _give_back(self, claim: ClaimView, runtime: ServiceRuntime) -> None:
        self._note("gives-back", **_about(claim))
        backoff = Backoff(self._entropy, first_seconds=_AGAIN_SECONDS, last_seconds=_LATEST_SECONDS)
        while True:
            try:
                await release(runtime, claim.id, claim.epoch, CLOSE_SECONDS)
            except RemoteError as error:
                if error.status in _OVER:
                    return
                await asyncio.sleep(backoff.next_seconds())
            else:
                self._note("released", **_about(claim))
                return

    async def claim_all(self, replica: Replica, workers: int) -> int:
        """So many claims at once at one replica, all given back: how many got a worker."""
        runtime = self._at(replica)
        keys = [f"{replica.name}-{number}" for number in range(workers)]
        claims = [claim for claim in await asyncio.gather(*(self._claim(key, runtime) for key in keys)) if claim]
        await asyncio.gather(*(self._give_back(claim, runtime) for claim in claims))
        return len(claims)

    async def _claim(self, key: str, runtime: ServiceRuntime) -> ClaimView | None:
        """A worker within the wait, or None."""
        request = make_request(f"{NAMESPACE}/{POOL}", "fire", ttl=TTL_SECONDS, wait=WAIT_SECONDS, key=key)
        asked_at = time.monotonic() - self._began
        about = {"op": "claim", "key": key, "asked_at": asked_at, "wait": WAIT_SECONDS}
        self._note("ask", op="claim", key=key, wait=WAIT_SECONDS)
        try:
            claim = await Acquisition(runtime, request, None).run()
        except RemoteError as error:
            self._note("told", **about, code=error.remote_code)
            return None
        assert claim.worker is not None
        self._note("told", **about, claim=claim.id, epoch=claim.epoch, pod=claim.worker.uid)
        self.waits.append(time.monotonic() - self._began - asked_at)
        return claim


def _about(claim: ClaimView) -> dict[str, str]:
    assert claim.worker is not None
    return {"claim": claim.id, "pod": claim.worker.uid}
