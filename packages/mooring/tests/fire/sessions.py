"""Programs that hold workers of a pool under fire, and write down what they asked and were told."""

import asyncio
import random
import time
from typing import Any

import aiohttp

from hawser.backoff import Backoff
from hawser.clock import Entropy
from packages.mooring.tests.fire.parts import NAMESPACE, POOL, Parts, Replica
from packages.testing.judge import History

TTL_SECONDS, WAIT_SECONDS = 300, 20
GIVEN_UP_AFTER_SECONDS = 120.0
_AGAIN_SECONDS, _LATEST_SECONDS = 0.3, 10.0  # clients back off, as the SDK does
_ANSWER_SECONDS = WAIT_SECONDS + 10.0
_OVER = frozenset({"released", "expired", "failed", "lost"})
_ENDED = frozenset({"wait_timed_out", "no_idle_worker", "abandoned"})


class Sessions:
    """So many new sessions a second, whether others have ended or not."""

    def __init__(self, parts: Parts, history: History, began: float) -> None:
        self._parts = parts
        self.history = history
        self._began = began
        self._chance = random.Random(16)
        self._entropy = Entropy(16)
        self._running: set[asyncio.Task[None]] = set()
        self.begun = 0
        self.failed = 0
        self.waits: list[float] = []

    async def run(self, rate: float, seconds: float) -> None:
        """Until the time is over and all sessions have ended."""
        until, due = time.monotonic() + seconds, time.monotonic()
        while due < until:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            task = asyncio.create_task(self._session(self.begun))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            self.begun += 1
            due += 1 / rate
        await asyncio.gather(*self._running)

    def _note(self, event: str, **fields: Any) -> None:
        self.history.note(time.monotonic() - self._began, event, **fields)

    async def _session(self, number: int) -> None:
        claim = await self._claim(f"s{number}")
        if claim is None:
            self.failed += 1
        elif await self._hold(claim):
            await self._give_back(claim)

    async def _hold(self, claim: dict[str, Any]) -> bool:
        """For a moment, with heartbeats; False when it was lost."""
        about = {"claim": claim["id"], "pod": claim["worker"]["uid"]}
        for _ in range(self._chance.randrange(1, 4)):
            await asyncio.sleep(self._chance.uniform(0.2, 1.0))
            status, _ = await self._ask("POST", f"/v1/claims/{claim['id']}/heartbeat", {"epoch": claim["epoch"]})
            if status in (404, 409):
                self._note("lost", **about)
                return False
            if status == 200:
                self._note("beat", claim=claim["id"], ttl=TTL_SECONDS)
        return True

    async def _give_back(self, claim: dict[str, Any]) -> None:
        about = {"claim": claim["id"], "pod": claim["worker"]["uid"]}
        self._note("gives-back", **about)
        backoff = self._backoff()
        while True:
            status, _ = await self._ask("DELETE", f"/v1/claims/{claim['id']}?epoch={claim['epoch']}", None)
            if status == 200:
                self._note("released", **about)
            if status in (200, 404, 409):
                return
            await asyncio.sleep(backoff.next_seconds())

    async def claim_all(self, replica: Replica, workers: int) -> int:
        """So many claims at once at one replica, all given back: how many got a worker."""
        keys = [f"{replica.name}-{number}" for number in range(workers)]
        claims = [claim for claim in await asyncio.gather(*(self._claim(key, replica) for key in keys)) if claim]
        await asyncio.gather(*(self._give_back(claim) for claim in claims))
        return len(claims)

    async def _claim(self, key: str, replica: Replica | None = None) -> dict[str, Any] | None:
        """The same key at any replica, or at this one, until there is an answer; None after two minutes."""
        began, attempt, backoff = time.monotonic(), 0, self._backoff()
        while time.monotonic() - began < GIVEN_UP_AFTER_SECONDS:
            wish = {"owner": "fire", "ttlSeconds": TTL_SECONDS, "wait": WAIT_SECONDS}
            asked_at, name = time.monotonic() - self._began, f"{key}-{attempt}"
            self._note("ask", op="claim", key=name, wait=WAIT_SECONDS)
            about = {"op": "claim", "key": name, "asked_at": asked_at, "wait": WAIT_SECONDS}
            status, answer = await self._ask(
                "POST", f"/v1/pools/{NAMESPACE}/{POOL}/claims", {**wish, "idempotencyKey": name}, replica
            )
            if status == 201 and answer["state"] == "running":
                told = {"claim": answer["id"], "epoch": answer["epoch"], "pod": answer["worker"]["uid"]}
                self._note("told", **about, **told)
                self.waits.append(time.monotonic() - began)
                return answer
            if answer.get("code"):
                self._note("told", **about, code=answer["code"])
            if status == 409 or answer.get("code") in _ENDED or answer.get("state") in _OVER:
                attempt += 1  # that wish has ended: a new one
                backoff.reset()
            await asyncio.sleep(backoff.next_seconds())
        return None

    def _backoff(self) -> Backoff:
        return Backoff(self._entropy, first_seconds=_AGAIN_SECONDS, last_seconds=_LATEST_SECONDS)

    async def _ask(
        self, method: str, path: str, body: dict[str, Any] | None, replica: Replica | None = None
    ) -> tuple[int, dict[str, Any]]:
        """The status and the answer of any replica, or of this one; 0 when there was none."""
        replica = replica or self._chance.choice(self._parts.replicas)
        timeout = aiohttp.ClientTimeout(total=_ANSWER_SECONDS, sock_connect=2.0)
        try:
            async with self._parts.session.request(
                method, f"{replica.url}{path}", json=body, headers=self._parts.headers, timeout=timeout
            ) as answer:
                return answer.status, await answer.json()
        except (aiohttp.ClientError, TimeoutError, OSError):
            return 0, {}
