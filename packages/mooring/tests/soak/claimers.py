"""Claimers as a careful program behaves: one key a wish, the same key after every lost answer, release at the end."""

import asyncio
import random
from dataclasses import dataclass
from typing import Any

import aiohttp

from hawser.clock import Entropy
from packages.mooring.tests.soak.witness import Witness

_AGAIN_SECONDS = 0.2
_LONGEST_HOLD_SECONDS = 0.03
_ENDED = frozenset({"conflict", "wait_timed_out", "no_idle_worker"})


@dataclass
class Tickets:
    """How many claims are still to be made."""

    left: int

    def draw(self) -> bool:
        self.left -= 1
        return self.left >= 0


class Claimer:
    """Claims, holds for a moment, beats now and then, releases; over and over."""

    def __init__(self, session: aiohttp.ClientSession, pool: str, witness: Witness, chance: random.Random) -> None:
        self._session = session
        self._pool = pool
        self._witness = witness
        self._chance = chance
        self._entropy = Entropy()

    async def run(self, tickets: Tickets) -> None:
        while tickets.draw():
            claim = await self._claim()
            uid, epoch = claim["worker"]["uid"], claim["epoch"]
            self._witness.takes(uid, epoch)
            await asyncio.sleep(self._chance.uniform(0, _LONGEST_HOLD_SECONDS))
            if self._chance.random() < 0.1:
                await self._beat(claim["id"], uid, epoch)
            self._witness.gives_back(uid, epoch)
            await self._release(claim["id"], epoch)

    async def _claim(self) -> dict[str, Any]:
        """Until a worker is held; a wish that ended without one is wished again under a new key."""
        wish = {"owner": "soak", "ttlSeconds": 3600, "wait": 20, "idempotencyKey": self._entropy.uuid()}
        while True:
            status, answer = await self._ask("POST", f"/v1/pools/{self._pool}/claims", wish)
            if status == 201 and answer["state"] == "running":
                return answer
            if answer.get("code") in _ENDED or answer.get("state") == "released":
                wish["idempotencyKey"] = self._entropy.uuid()
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _beat(self, claim: str, uid: str, epoch: int) -> None:
        status, answer = await self._ask("POST", f"/v1/claims/{claim}/heartbeat", {"epoch": epoch})
        if status in (404, 409):
            self._witness.complains(uid, f"a heartbeat of its holder was refused: {answer}")

    async def _release(self, claim: str, epoch: int) -> None:
        while True:
            status, _ = await self._ask("DELETE", f"/v1/claims/{claim}?epoch={epoch}", None)
            if status in (200, 404, 409):
                return
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        """The status and the answer; 0 when there was none."""
        try:
            async with self._session.request(method, path, json=body) as answer:
                return answer.status, await answer.json()
        except (aiohttp.ClientError, TimeoutError, ConnectionError):
            return 0, {}
