"""Crash before and after every external call of the claim and release paths, found by recording, never by listing.

A fault-free run tells which calls there are; then each of them kills the control plane once before and once after,
with a watch of the workers that is up to date and with one that lags.
The client repeats its request at the next control plane, as the SDK does: it gets its worker, at once or, after an
error that it may see, when everything has settled. In the end nothing is held twice, nothing is leaked, every
credential of an ended claim is revoked, and the work of a bystander was never touched.

`MOORING_SWEEP_STRIDE` tries only every n-th point (default 1: all of them).
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from drydock.faults import Crash, Crashed, LagEvents, Rule
from mooring.ledger.faults import Fault, LedgerCall
from mooring.model import names
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import MooringError
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour, no_fault, play
from packages.testing.lanes import fast_first

POOL = f"{NAMESPACE}/linux"
STRIDE = int(os.environ.get("MOORING_SWEEP_STRIDE", "1"))
VIEWS = {"fresh": [], "stale": [Rule(LagEvents(8.0), resource="pods", watch=True)]}
WISH = ClaimRequest("acme", ttl_seconds=60, idempotency_key="the-one", wait=30)


@dataclass(frozen=True)
class Point:
    """Where to crash: which port, at which call of the process, before or after it took effect."""

    port: str
    index: int
    moment: str


@dataclass(frozen=True)
class Case:
    """What a worker is after its release, and how fresh the control planes' view of the workers is."""

    reuse: str
    view: Sequence[Rule]


@dataclass
class Calls:
    """How many calls each port had seen when the path began and when it ended."""

    begin: tuple[int, int] = (0, 0)
    end: tuple[int, int] = (0, 0)


def _counts(replica: Replica) -> tuple[int, int]:
    return len(replica.transport.calls), len(replica.ledger.calls)


@dataclass
class Customer:
    """One client: claims, beats, releases, and knows whether it ever got its worker."""

    served: bool = False

    async def ask(self, replica: Replica) -> None:
        desk = replica.mooring.claims.desk
        claim = await desk.claim(POOL, WISH)
        if claim.state is ClaimState.RUNNING:
            self.served = True
            await desk.heartbeat(claim.id, claim.epoch)
            await desk.release(claim.id, claim.epoch)


async def _begin(world: Harbour, case: Case, point: Point | None) -> tuple[Replica, Claim]:
    rules = case.view
    fault = no_fault
    if point is not None and point.port == "cluster":
        rules = [*rules, Rule(Crash(point.moment), nth=frozenset({point.index + 1}))]  # type: ignore[arg-type]
    elif point is not None:

        def fault(call: LedgerCall) -> Fault:
            assert point is not None
            if call.index != point.index:
                return Fault.NONE
            return Fault.CRASH_BEFORE if point.moment == "before" else Fault.CRASH_AFTER

    replica = world.start("first", rules, fault)
    mint = {"url": "http://127.0.0.1:1/mint", "revokeURL": "http://127.0.0.1:1/revoke"}
    await world.pool(warm=3, max=6, reuse=case.reuse, mint=mint, protection={"graceSeconds": 1})
    await world.until_idle(3)
    bystander = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("bystander", ttl_seconds=80_000))
    assert bystander.pod_name is not None and bystander.pod_uid is not None
    world.words.otherwise = False  # type: ignore[attr-defined]
    world.words.said[bystander.pod_name] = True  # type: ignore[attr-defined]
    await world.clock.sleep(3)
    return replica, bystander


def _record(case: Case) -> Calls:
    async def scenario() -> Calls:
        async with harbour(3) as world:
            replica, _ = await _begin(world, case, None)
            calls = Calls(begin=_counts(replica))
            await Customer().ask(replica)
            calls.end = _counts(replica)
            return calls

    return play(scenario, None)


def _points(case: Case) -> Iterator[Point]:
    calls = _record(case)
    for port, first, last in (
        ("cluster", calls.begin[0], calls.end[0]),
        ("ledger", calls.begin[1], calls.end[1]),
    ):
        for index in range(first, last):
            for moment in ("before", "after"):
                yield Point(port, index, moment)


async def _survive(world: Harbour, case: Case, point: Point) -> None:
    replica, bystander = await _begin(world, case, point)
    customer = Customer()
    try:
        async with asyncio.timeout(20):
            await customer.ask(replica)
    except (Crashed, TimeoutError):
        pass
    await replica.kill()
    second = world.start("second", case.view)
    await second.mooring.wait_synced()
    await world.clock.sleep(2)
    with contextlib.suppress(MooringError):
        await customer.ask(second)

    async def converged() -> bool:
        live = (await second.ledger.claims.live()).claims
        pods = [pod for pod in await world.pods() if not pod.terminating]
        stamped = {pod.metadata.uid for pod in pods if names.OWNER in pod.metadata.labels}
        held = {claim.pod_uid for claim in live}
        return held == stamped == {bystander.pod_uid} and len(pods) == 4 and world.mint.alive == {bystander.id}

    await _settle(world, converged)
    if not customer.served:
        await customer.ask(second)
        await _settle(world, converged)
    assert customer.served, "accepted work is never lost"
    assert world.witness.most <= 6
    assert bystander.pod_uid in world.witness.alive
    claims = (await second.ledger.claims.live()).claims
    assert [claim.owner for claim in claims] == ["bystander"]


async def _settle(world: Harbour, converged: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(300):
        if await converged():
            return
        await world.clock.sleep(5)
    raise AssertionError(f"a leak: {(await world.ledger.claims.live()).claims}")


@pytest.mark.parametrize("view", fast_first(["fresh", "stale"], 1))
@pytest.mark.parametrize("reuse", fast_first(["Always", "Never", "SameOwner"], 1))
def test_a_crash_at_any_call_loses_and_leaks_nothing_and_kills_no_work(reuse: str, view: str):
    case = Case(reuse, VIEWS[view])
    points = list(_points(case))
    assert len({point.port for point in points}) == 2
    for point in points[::STRIDE]:

        async def scenario(point: Point = point) -> None:
            async with harbour(3) as world:
                await _survive(world, case, point)

        try:
            play(scenario, None)
        except BaseException as error:
            error.add_note(f"crash {point.moment} {point.port} call {point.index}")
            raise
