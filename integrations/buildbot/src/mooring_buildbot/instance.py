"""One claim for one build: asked for until it is held or refused, renewed, given back. Runs on the loop of the SDK."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hawser.backoff import Backoff
from hawser.clock import Clock, Entropy
from mooring.client import AsyncMooring, ClaimTimeout, LeaseLost, LimitReached, MintFailed, Unavailable, Waiting
from mooring.client.aio import AsyncClaim
from mooring.model.errors import MooringError
from mooring_buildbot.keys import plan_leftovers

MOST_CLAIMS = 1000
_LONG_SECONDS = 3600.0


class InstanceState(StrEnum):
    """How far an instance is."""

    WAITING = "waiting"  # no worker yet; `message` says why
    HELD = "held"
    FAILED = "failed"  # another instance may succeed
    REFUSED = "refused"  # another instance would be refused too
    ENDED = "ended"  # its worker reported the end of the session, or it was stopped


@dataclass(frozen=True, slots=True)
class ClaimWish:
    """What is asked for. Durations as the SDK takes them."""

    pool: str
    owner: str
    ttl: str
    wait: str
    priority: int
    prefix: str  # of the keys of this worker
    payload: Mapping[str, Any] = field(repr=False)


class Instance:
    """Starts with `run`, which never raises but when it is cancelled. `on_change` is called after each new state."""

    def __init__(
        self, mooring: AsyncMooring, wish: ClaimWish, clock: Clock, entropy: Entropy, on_change: Callable[[], None]
    ) -> None:
        self._mooring = mooring
        self._wish = wish
        self._clock = clock
        self._entropy = entropy
        self._on_change = on_change
        self.state = InstanceState.WAITING
        self.message = "asking for a worker"
        self._task: asyncio.Task[None] | None = None

    async def stop(self) -> None:
        """Give the worker, or the place in the queue, back. Called on the loop after `run`."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def run(self) -> None:
        """Until the instance is lost, refused or ended. Cancelling gives the worker back."""
        self._task = asyncio.current_task()
        backoff = Backoff(self._entropy, first_seconds=0.5, last_seconds=15.0)
        key = self._new_key()
        try:
            while self.state is InstanceState.WAITING:
                try:
                    await self._attempt(key)
                except (Unavailable, LimitReached) as error:  # the same key: the request may have taken effect
                    self.message = error.message
                    await self._clock.sleep(backoff.next_seconds())
                except (ClaimTimeout, MintFailed) as error:
                    self.message = error.message
                    key = self._new_key()
                    await self._clock.sleep(backoff.next_seconds())
        except LeaseLost as lost:
            self._become(InstanceState.FAILED, str(lost))
        except MooringError as error:
            self._become(InstanceState.REFUSED, f"{error.message}{f' (fix: {error.fix})' if error.fix else ''}")
        except asyncio.CancelledError:
            self._become(InstanceState.ENDED, "stopped")
            raise
        except Exception as error:
            self._become(InstanceState.FAILED, f"{type(error).__name__}: {error}")
            raise

    async def _attempt(self, key: str) -> None:
        wish = self._wish
        await release_leftovers(self._mooring, wish, key)
        claim = self._mooring.claim(
            wish.pool,
            owner=wish.owner,
            ttl=wish.ttl,
            wait=wish.wait,
            key=key,
            priority=wish.priority,
            payload=wish.payload,
            on_wait=self._note,
        )
        async with claim:
            self._become(InstanceState.HELD, f"claim {claim.id} on worker {claim.worker.name}")
            await self._wait_for_the_end(claim)

    async def _wait_for_the_end(self, claim: AsyncClaim) -> None:
        """Until the worker has reported its result; raises `LeaseLost` when the claim is lost."""
        while claim.result is None:
            if (lost := await claim.wait_lost(_LONG_SECONDS)) is not None:
                raise lost
        output = claim.result.output.strip().splitlines()
        said = f": {output[-1]}" if output else ""
        self._become(InstanceState.ENDED, f"buildbot-worker ended with exit code {claim.result.exit_code}{said}")

    def _note(self, waiting: Waiting) -> None:
        self.message = waiting.why.message

    def _become(self, state: InstanceState, message: str) -> None:
        self.state, self.message = state, message
        self._on_change()

    def _new_key(self) -> str:
        return f"{self._wish.prefix}{self._entropy.uuid()}"


async def release_leftovers(mooring: AsyncMooring, wish: ClaimWish, current: str) -> None:
    """Release what a master that is gone has left. Its worker stops within a heartbeat."""
    claims = await mooring.claims(wish.pool, owner=wish.owner, limit=MOST_CLAIMS)
    for claim in plan_leftovers(claims, wish.prefix, current):
        await mooring.release(claim.id, claim.epoch, reason="left by a Buildbot master that is gone")
