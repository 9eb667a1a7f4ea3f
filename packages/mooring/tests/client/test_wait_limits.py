"""A wait ends in time whatever the server does: requests that hang, that fail late, that are answered at once."""

import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from hawser.clock import Entropy, LoopClock, SystemClock
from mooring.cli.remote.claim import ClaimCommand, run_claim
from mooring.client.acquisition import Acquisition
from mooring.client.asyncio_runtime import AsyncioRuntime
from mooring.client.connection import Endpoint
from mooring.client.errors import ClaimTimeout, Unavailable, Unreachable, WaitRevoked
from mooring.client.operations import Operations
from mooring.client.records import Waiting
from mooring.client.request import make_request

POOL = "runners/linux"
HUNG = "the database mooring does not answer"
UNREADY = "not ready: the ledger does not answer"
START = datetime(2026, 1, 1, tzinfo=UTC)
LATEST_SECONDS = 2.0  # after the wait


class Hung(AsyncioRuntime):
    """A Mooring whose database hangs: it answers 503 after a while that differs from request to request, or never."""

    def __init__(self, seed: int, longest_seconds: float) -> None:
        super().__init__(Endpoint("http://127.0.0.1:9", ""))
        self.clock = LoopClock(START)
        self.entropy = Entropy(seed)
        self.longest_seconds = longest_seconds

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        timeout_seconds: float = 30.0,
    ) -> Any:
        if path == "/readyz":
            raise Unavailable(503, "unavailable", UNREADY, {})
        takes = self.entropy.between(0, self.longest_seconds)
        if takes > timeout_seconds:
            await self.clock.sleep(timeout_seconds)
            raise Unavailable(0, "unreachable", "no answer in time", {}) from TimeoutError()
        await self.clock.sleep(takes)
        raise Unavailable(503, "unavailable", HUNG, {})


@pytest.mark.parametrize("reported", [True, False])
@pytest.mark.parametrize("longest_seconds", [0.5, 6.0, 12.0, 1000.0])
async def test_a_wait_ends_in_time_and_names_the_database_however_it_hangs(longest_seconds, reported):
    for seed in range(40):
        runtime, told = Hung(seed, longest_seconds), []
        wait_seconds = 1.0 + seed
        request = make_request(POOL, "night", ttl="5m", wait=wait_seconds)
        began = runtime.clock.monotonic()
        with pytest.raises(ClaimTimeout) as raised:
            await Acquisition(runtime, request, told.append if reported else None).run()
        took = runtime.clock.monotonic() - began
        assert wait_seconds - 0.5 <= took <= wait_seconds + LATEST_SECONDS, (seed, took)
        assert "does not answer" in raised.value.why.message and "mooring doctor" in raised.value.fix
        assert all("does not answer" in report.why.message for report in told), told


@pytest.mark.parametrize("longest_seconds", [0.5, 6.0, 12.0, 1000.0])
async def test_the_look_at_the_pool_before_a_session_is_part_of_its_wait(longest_seconds):
    for seed in range(40):
        runtime = Hung(seed, longest_seconds)
        wait_seconds = 1.0 + seed % 14  # beyond 15 s without any answer, the address may be wrong
        request = make_request(POOL, "night", ttl="5m", wait=wait_seconds)
        began = runtime.clock.monotonic()
        with pytest.raises(ClaimTimeout):
            await Operations(runtime).run(request, None, 3600.0)
        assert runtime.clock.monotonic() - began <= wait_seconds + LATEST_SECONDS, seed


@pytest.mark.realtime
def test_a_command_ends_with_its_wait_when_nothing_at_all_is_answered():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = Endpoint(f"http://127.0.0.1:{silent.getsockname()[1]}", "")
        asked = ClaimCommand(POOL, ("true",), "night", "5m", "3s", "", 0)
        began = SystemClock().monotonic()
        with pytest.raises(ClaimTimeout):
            run_claim(asked, endpoint)
        assert SystemClock().monotonic() - began < 3.0 + 4 * LATEST_SECONDS  # it took 30 s more


class Restarting(Hung):
    """A Mooring that lists the waiting claim, is away for a while, and has a worker when it is back."""

    def __init__(self, away_seconds: float) -> None:
        super().__init__(0, 0.0)
        self.away = (5.0, 5.0 + away_seconds)

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        timeout_seconds: float = 30.0,
    ) -> Any:
        began = self.clock.monotonic()
        if path == f"/v1/pools/{POOL}":
            return {"spec": {"max": 1}, "status": {}}
        if began >= self.away[1]:
            return claim("running") if method == "POST" else {"items": [claim("running")]}
        if began < self.away[0] and method == "GET":
            return {"items": [claim("queued")]}
        await self.clock.sleep(max(0.0, self.away[0] - began))
        raise Unreachable("connection refused") from ConnectionRefusedError()


def claim(state: str) -> dict[str, Any]:
    running = {"worker": {"name": "linux-0", "uid": "u", "address": "10.0.0.1", "namespace": "runners"}}
    return {
        "id": "11111111-2222-4333-8444-555555555555",
        "epoch": 7,
        "state": state,
        "idempotencyKey": "build-42",
        "namespace": "runners",
        "pool": "linux",
        "owner": "night",
        "ttlSeconds": 300,
        **(running if state == "running" else {}),
    }


@pytest.mark.parametrize("reported", [True, False])
async def test_a_claim_that_waits_outlives_a_restart_of_mooring(reported):
    runtime = Restarting(away_seconds=40.0)
    request = make_request(POOL, "night", ttl="5m", wait="2m", key="build-42")
    told: list[Waiting] = []
    assert (await Acquisition(runtime, request, told.append if reported else None).run()).state == "running"


async def test_without_any_answer_a_wait_is_given_up_early_because_the_address_may_be_wrong():
    runtime = Restarting(away_seconds=1000.0)
    runtime.away = (0.0, 1000.0)
    request = make_request(POOL, "night", ttl="5m", wait="5m", key="build-42")
    with pytest.raises(Unreachable):
        await Acquisition(runtime, request, None).run()
    assert runtime.clock.monotonic() < 30


class Revoking(Restarting):
    """A Mooring that loses the request, and whose operator revokes the claim that waits meanwhile."""

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        timeout_seconds: float = 30.0,
    ) -> Any:
        if method == "GET" and path == "/v1/claims":
            return {"items": [claim("queued")]}
        if path.endswith(claim("queued")["id"]):
            return {**claim("released"), "cause": "revoked", "reason": "not today (by ana)"}
        return await super().request(method, path, query, body, timeout_seconds)


async def test_a_claim_that_is_revoked_while_its_answer_is_lost_ends_as_revoked_while_it_waited():
    runtime = Revoking(away_seconds=0.0)
    runtime.away = (5.0, 1000.0)
    with pytest.raises(WaitRevoked, match="not today"):
        await Acquisition(runtime, make_request(POOL, "night", ttl="5m", wait="2m", key="build-42"), None).run()


class Stopped(Restarting):
    """Two replicas: the one with the request is stopped (SIGSTOP) and keeps it for ever, the other answers looks."""

    def __init__(self, *, ended_as: str, after_seconds: float) -> None:
        super().__init__(0.0)
        self.ended_as = ended_as
        self.after_seconds = after_seconds
        self.posts: list[float] = []

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        timeout_seconds: float = 30.0,
    ) -> Any:
        now = self.clock.monotonic()
        served = now >= self.after_seconds
        if method == "GET" and path == "/v1/claims":
            if not served:
                return {"items": [claim("queued")]}
            return {"items": [claim("running")] if self.ended_as == "running" else []}
        if method == "GET":
            return {"spec": {"max": 1}, "status": {}}
        self.posts.append(now)
        if not served:
            await self.clock.sleep(timeout_seconds)
            raise Unreachable("no answer in time") from TimeoutError()
        return claim("running")


@pytest.mark.parametrize("reported", [True, False])
@pytest.mark.parametrize("ended_as", ["running", "gone"])
async def test_a_request_that_a_stopped_replica_keeps_is_sent_again_when_its_claim_waits_no_more(ended_as, reported):
    runtime = Stopped(ended_as=ended_as, after_seconds=60.0)
    request = make_request(POOL, "night", ttl="5m", wait="10m", key="build-42")
    told: list[Waiting] = []
    assert (await Acquisition(runtime, request, told.append if reported else None).run()).state == "running"
    first, second = runtime.posts
    assert first < 1 and 60 <= second <= (66 if reported else 72), "it waited until its timeout, ten minutes later"


async def test_a_request_whose_claim_waits_is_never_sent_again_before_its_wait_is_over():
    runtime = Stopped(ended_as="running", after_seconds=10_000.0)
    request = make_request(POOL, "night", ttl="5m", wait="10m", key="build-42")
    with pytest.raises(ClaimTimeout):
        await Acquisition(runtime, request, None).run()
    assert len(runtime.posts) == 1
