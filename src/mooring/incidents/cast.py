"""Who plays along on a stage: a mint, what workers say of themselves, and a witness of every pod."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from mooring.clock import Clock
from mooring.control.claiming.activity import PolledActivity
from mooring.control.claiming.minting import MintFailed
from mooring.control.probing import Answer, Target
from mooring.kube.cache import Change
from mooring.kube.views import Pod
from mooring.model.claim import Claim
from mooring.model.pool import Pool
from mooring.model.worker import Worker


@dataclass(slots=True)
class Witness:
    """Sees every pod as the API server stores it, and keeps the highest count ever."""

    most: int = 0
    added: int = 0
    alive: set[str] = field(default_factory=set)

    def see(self, change: Change[Pod]) -> None:
        """One change of the watch."""
        pod = change.latest
        if change.new is None:
            self.alive.discard(pod.metadata.uid)
        elif pod.metadata.uid not in self.alive:
            self.alive.add(pod.metadata.uid)
            self.added += 1
        self.most = max(self.most, len(self.alive))


@dataclass(slots=True)
class Mint:
    """A mint in memory: counts what it made, fails or hangs when told to."""

    made: int = 0
    failing: int = 0
    hanging: bool = False

    async def mint(self, pool: Pool, claim: Claim) -> dict[str, Any] | None:
        """As the webhook would answer."""
        if pool.spec.mint is None:
            return None
        if self.failing:
            self.failing -= 1
            raise MintFailed("the mint is closed")
        if self.hanging:
            await _hang(pool.spec.mint.timeout_seconds)
        self.made += 1
        return {"secret": f"for {claim.id}"}


async def _hang(seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().create_future()
    except TimeoutError:
        raise MintFailed("the mint did not answer") from None


class Words(PolledActivity):
    """What workers say of themselves, by name; silent ones are unknown."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.said: dict[str, bool] = {}
        self.otherwise: bool | None = None

    def executing(self, worker: Worker) -> bool | None:
        """As the worker would answer now."""
        return self.said.get(worker.name, self.otherwise)


HEALTHY = Answer(True, "200 OK")
REFUSED = Answer(False, "connection refused", refused=True)
SILENT = Answer(False, "no answer within 3 s")


@dataclass(slots=True)
class Doctor:
    """Health checks without a network: every address answers as it is told to, and well unless told otherwise."""

    answers: dict[str, Answer] = field(default_factory=dict)  # by address
    otherwise: Answer = HEALTHY
    checks: list[Target] = field(default_factory=list)

    async def check(self, target: Target) -> Answer:
        """As the worker would answer now."""
        self.checks.append(target)
        return self.answers.get(target.address, self.otherwise)
