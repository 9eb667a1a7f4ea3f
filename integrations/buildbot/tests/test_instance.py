"""One claim for one build, in virtual time: how long it is asked for, and what ends it."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from drydock import VirtualLoop
from hawser.clock import Entropy
from mooring.client.errors import ClaimTimeout, LeaseLost, LimitReached, LossCause, RemoteError, Unavailable
from mooring.model.errors import InvalidInput
from mooring_buildbot.instance import ClaimWish, Instance, InstanceState

WISH = ClaimWish("ci/builders", "ci", "60s", "1h", 0, "buildbot-abc-", {})
LOST = LeaseLost("c-1", LossCause.REVOKED, datetime(2026, 3, 1, tzinfo=UTC), "the operator needs the node")


def ended(code: int, output: str) -> SimpleNamespace:
    return SimpleNamespace(exit_code=code, output=output)


class FakeMooring:
    """Fails as it is told to, then gives a claim, which ends as `end` says. It is its own claim."""

    def __init__(self, failures: Iterable[Exception] = (), end: Callable[["FakeMooring"], None] | None = None) -> None:
        self._failures = list(failures)
        self._end = end
        self.keys: list[str] = []
        self.given_back = False
        self.result: SimpleNamespace | None = None
        self.id, self.worker = "c-1", SimpleNamespace(name="builders-1")
        self._over = asyncio.Event()
        self._lost: LeaseLost | None = None

    async def claims(self, pool: str, *, owner: str, limit: int) -> list[Any]:
        return []

    def claim(self, pool: str, *, key: str, **options: Any) -> "FakeMooring":
        self.keys.append(key)
        return self

    async def __aenter__(self) -> "FakeMooring":
        if self._failures:
            raise self._failures.pop(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.given_back = True

    async def wait_lost(self, seconds: float) -> LeaseLost | None:
        if self._end is not None:
            self._end(self)
        await self._over.wait()
        return self._lost

    def lose(self) -> None:
        self._lost = LOST
        self._over.set()

    def finish(self) -> None:
        self.result = ended(1, "log\nunauthorized login\n")
        self._over.set()


def start(mooring: Any) -> tuple[Instance, list[InstanceState], "asyncio.Task[None]"]:
    seen: list[InstanceState] = []
    instance = Instance(mooring, WISH, VirtualLoop.running().clock, Entropy(1), lambda: seen.append(instance.state))
    return instance, seen, asyncio.create_task(instance.run())


async def test_a_claim_is_held_until_the_build_ends_and_then_given_back() -> None:
    mooring = FakeMooring()
    instance, seen, running = start(mooring)
    await VirtualLoop.running().clock.sleep(3600)
    assert instance.state is InstanceState.HELD and not mooring.given_back
    await instance.stop()
    assert mooring.given_back and running.cancelled()
    assert seen == [InstanceState.HELD, InstanceState.ENDED]


async def test_it_asks_again_with_the_same_key_while_mooring_is_silent_and_with_another_after_a_wait() -> None:
    silent = Unavailable(0, "unreachable", "no answer", {})
    full = LimitReached(429, "limit_reached", "ci holds enough", {})
    late = ClaimTimeout(409, "wait_timed_out", "nobody became free", {})
    mooring = FakeMooring([silent, full, silent, late])
    instance, _, running = start(mooring)
    await VirtualLoop.running().clock.sleep(600)
    assert instance.state is InstanceState.HELD
    first, last = mooring.keys[0], mooring.keys[-1]
    assert mooring.keys == [first] * 4 + [last] and first != last
    assert all(key.startswith(WISH.prefix) for key in mooring.keys)
    running.cancel()


@pytest.mark.parametrize("error", [RemoteError(404, "unknown_pool", "no pool", {}), InvalidInput("ttl", 0, "more")])
async def test_what_cannot_succeed_is_refused_with_its_message(error: Any) -> None:
    instance, seen, running = start(FakeMooring([error]))
    await running
    assert seen == [InstanceState.REFUSED] and error.message in instance.message


async def test_a_lost_claim_ends_the_instance_with_the_cause() -> None:
    instance, seen, running = start(FakeMooring(end=FakeMooring.lose))
    await running
    assert seen == [InstanceState.HELD, InstanceState.FAILED]
    assert "the operator needs the node" in instance.message


async def test_a_worker_that_ends_by_itself_says_why() -> None:
    instance, seen, running = start(FakeMooring(end=FakeMooring.finish))
    await running
    assert seen == [InstanceState.HELD, InstanceState.ENDED]
    assert instance.message == "buildbot-worker ended with exit code 1: unauthorized login"
