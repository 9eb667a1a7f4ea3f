"""Fakes for a stage: a mint, activity and health of workers, the way to the API, and a witness of every pod."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from hawser.cache import Change
from hawser.clock import Clock
from hawser.views import Pod
from mooring.controllers.activity import PolledActivity
from mooring.controllers.claims.mint import MintFailed
from mooring.controllers.pools.probe import Answer, Target
from mooring.model.claim import Claim
from mooring.model.pool import Mint as MintSpec
from mooring.model.pool import Pool
from mooring.model.worker import Worker


@dataclass(slots=True)
class Witness:
    """Sees every pod as the API server stores it, and records the highest number of pods."""

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
    """A mint in memory that counts its calls, and fails or hangs if the play says so."""

    made: int = 0
    failing: int = 0
    hanging: bool = False
    refusing: int = 0  # how many revocations fail
    alive: set[str] = field(default_factory=set)  # claims whose credentials are not revoked
    revoked: list[tuple[str, str]] = field(default_factory=list)  # every call: its URL and claim
    refused: dict[str, str] = field(default_factory=dict)  # URLs that may not be called, and why

    async def mint(self, pool: Pool, claim: Claim) -> dict[str, Any] | None:
        """The answer of the webhook."""
        if pool.spec.mint is None:
            return None
        if self.failing:
            self.failing -= 1
            raise MintFailed("the mint is closed")
        if self.hanging:
            await _hang(pool.spec.mint.timeout_seconds)
        self.made += 1
        self.alive.add(claim.id)
        return {"secret": f"for {claim.id}"}

    async def revoke(self, mint: MintSpec, claim: Claim) -> None:
        """The answer of the second webhook."""
        self.revoked.append((mint.revoke_url, claim.id))
        if self.refusing:
            self.refusing -= 1
            raise MintFailed("the mint is closed")
        self.alive.discard(claim.id)

    async def refusal(self, url: str) -> str:
        """As the policy of the play says."""
        return self.refused.get(url, "")


async def _hang(seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().create_future()
    except TimeoutError:
        raise MintFailed("the mint did not answer") from None


class ScriptedActivity(PolledActivity):
    """What workers report about themselves, by name; others are unknown."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.said: dict[str, bool] = {}
        self.otherwise: bool | None = None

    def executing(self, worker: Worker) -> bool | None:
        """The report of the worker."""
        return self.said.get(worker.name, self.otherwise)


HEALTHY = Answer(True, "200 OK")
REFUSED = Answer(False, "connection refused", refused=True)
SILENT = Answer(False, "no answer within 3 s")


@dataclass(slots=True)
class Doctor:
    """Health checks without a network: every address answers well, unless the play changes that."""

    answers: dict[str, Answer] = field(default_factory=dict)  # by address
    otherwise: Answer = HEALTHY
    checks: list[Target] = field(default_factory=list)

    async def check(self, target: Target) -> Answer:
        """The answer of the worker."""
        self.checks.append(target)
        return self.answers.get(target.address, self.otherwise)


@dataclass(slots=True)
class Gateway:
    """Mooring's own API without a network: it answers, unless the play gives a reason why it does not."""

    url: str = "http://mooring"
    broken: str = ""

    async def failure(self) -> str:
        """Why the API does not answer."""
        return self.broken
