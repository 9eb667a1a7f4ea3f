"""Programs that hold workers, and repeat what was not answered under the same key, at another replica."""

import asyncio

from drydock.faults import Crashed
from hawser.clock import Entropy
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Conflict, MooringError, NotFound
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica
from packages.testing.judge import History

POOL = f"{NAMESPACE}/linux"
TTL_SECONDS = 240
WAIT_SECONDS = 12
_PATIENCE_SECONDS = 25.0


class Client:
    """Claims, holds, beats and releases, until it is told to stop."""

    def __init__(self, name: str, world: Harbour, chance: Entropy, history: History) -> None:
        self._name = name
        self._world = world
        self._chance = chance
        self._history = history
        self._count = 0
        self.stopping = False

    async def run(self) -> None:
        while not self.stopping:
            claim = await self._claim()
            if claim is not None and await self._hold(claim, self._chance.between(5, 30)):
                await self.give_back(claim)
            await self._world.clock.sleep(self._chance.between(0.5, 6))

    async def claim_at(self, replica: Replica) -> Claim | None:
        """One claim at that replica, which has to have a worker in time."""
        claim, _ = await self._ask(f"{self._name}-only", replica)
        return claim

    def _note(self, event: str, **fields: object) -> None:
        self._history.note(self._world.seconds, event, who=self._name, **fields)

    async def _replica(self) -> Replica:
        """One that lives, any of them."""
        while True:
            alive = [one for one in self._world.replicas if one.process.alive and not one.task.done()]
            if alive:
                return alive[self._chance.below(len(alive))]
            await self._world.clock.sleep(1)

    async def _claim(self) -> Claim | None:
        self._count += 1
        key = f"{self._name}-{self._count}"
        repeats = self._chance.below(4) == 0
        while True:
            claim, ended = await self._ask(key, await self._replica())
            if claim is not None and repeats:
                repeats = False
                await self._ask(key, await self._replica())
            if claim is not None or ended:
                return claim
            if self.stopping and self._world.seconds > 2000:
                return None
            await self._world.clock.sleep(self._chance.between(0.5, 3))

    async def _ask(self, key: str, replica: Replica) -> tuple[Claim | None, bool]:
        """The claim if it runs, and whether the wish has ended without one."""
        wish = ClaimRequest("acme", ttl_seconds=TTL_SECONDS, wait=WAIT_SECONDS, idempotency_key=key)
        asked_at = self._world.seconds
        self._note("ask", op="claim", key=key, wait=WAIT_SECONDS)
        about = {"op": "claim", "key": key, "asked_at": asked_at, "wait": WAIT_SECONDS}
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                claim = await replica.mooring.claims.desk.claim(POOL, wish)
        except (TimeoutError, Crashed):
            return None, False
        except MooringError as error:
            self._note("told", **about, code=error.code)
            return None, error.code == "wait_timed_out" or isinstance(error, Conflict)
        if not replica.process.alive:
            return None, False
        if claim.state is not ClaimState.RUNNING:
            return None, claim.ended_at is not None
        self._note("told", **about, claim=claim.id, epoch=claim.epoch, pod=claim.pod_uid)
        return claim, True

    async def _hold(self, claim: Claim, seconds: float) -> bool:
        """Work on it; False when it was lost."""
        until = self._world.seconds + seconds
        while self._world.seconds < until:
            if not await self._beat(claim):
                return False
            await self._world.clock.sleep(5)
        return True

    async def _beat(self, claim: Claim) -> bool:
        replica = await self._replica()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await replica.mooring.claims.desk.heartbeat(claim.id, claim.epoch)
        except (Conflict, NotFound):
            self._note("lost", claim=claim.id, pod=claim.pod_uid)
            return False
        except (MooringError, TimeoutError, Crashed):
            return True  # nobody said that it is lost
        self._note("beat", claim=claim.id, ttl=TTL_SECONDS)
        return True

    async def give_back(self, claim: Claim) -> None:
        self._note("gives-back", claim=claim.id, pod=claim.pod_uid)
        while True:
            replica = await self._replica()
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
                if replica.process.alive:
                    self._note("released", claim=claim.id, pod=claim.pod_uid)
                    return
            except (Conflict, NotFound):
                return
            except (MooringError, TimeoutError, Crashed):
                await self._world.clock.sleep(2)
