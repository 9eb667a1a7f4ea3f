"""Crash before and after every external call of the whole submit path, found by recording.

A fault-free run tells which calls there are, from the first request to the last status; then each of them that has to
do with submissions kills the control plane once before and once after. The client repeats its request at the next one,
as programs do. In the end there is exactly one Job for every step, and an accepted submission was never lost.

`MOORING_SWEEP_STRIDE` tries only every n-th point (default 1: all of them).
"""

import asyncio
import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from drydock.faults import Crash, Crashed, Rule
from hawser.resources import CONFIGMAPS, JOBS
from mooring.ledger.faults import Fault, LedgerCall
from mooring.model.names import SUBMISSION
from mooring.model.submission import job_name
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour, no_fault, play
from packages.mooring.tests.scenarios.submits import jobs, read, spec, step_of, submit, until_phase
from packages.testing.lanes import fast_first

STRIDE = int(os.environ.get("MOORING_SWEEP_STRIDE", "1"))
PARTS = 24  # that may run side by side; the first one is in the fast lane
ORDER = spec(scripts={"split.py": "print()"}, requires={"configMaps": ["databases"]})
NOT_OURS = re.compile(
    r"/(nodes|workerpools|warmups|managedservices|pods|services|endpointslices)$|karpenter|serviceaccounts"
)
STEPS = ["batch-0", "batch-1", "finalizer", "setup"]


@dataclass(frozen=True)
class Point:
    """Where to crash: which port, at which call of the process, before or after it took effect."""

    port: str
    index: int
    moment: str


async def _begin(world: Harbour, point: Point | None) -> Replica:
    rules, fault = [], no_fault
    if point is not None and point.port == "cluster":
        rules = [Rule(Crash(point.moment), nth=frozenset({point.index + 1}))]  # type: ignore[arg-type]
    elif point is not None:

        def fault(call: LedgerCall) -> Fault:
            assert point is not None
            if call.index != point.index:
                return Fault.NONE
            return Fault.CRASH_BEFORE if point.moment == "before" else Fault.CRASH_AFTER

    leftover = {"restartPolicy": "Never", "containers": [{"name": "old", "image": "old"}]}
    metadata = {"name": job_name(ORDER.key, "setup"), "labels": {SUBMISSION: "gone"}}
    await world.client.create(JOBS, {"metadata": metadata, "spec": {"template": {"spec": leftover}}}, NAMESPACE)
    await world.client.create(CONFIGMAPS, {"metadata": {"name": "databases"}}, NAMESPACE)
    replica = world.start("first", rules, fault)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(10):
            await replica.mooring.wait_synced()
    await world.clock.sleep(1)
    return replica


def _record() -> list[tuple[str, int]]:
    """Port and index of every call of the path. Heartbeats and what other parts ask for are not of it."""

    async def scenario() -> list[tuple[str, int]]:
        async with harbour(3) as world:
            replica = await _begin(world, None)
            of_cluster, of_ledger = len(replica.transport.calls), len(replica.ledger.calls)
            await submit(replica, ORDER)
            await until_phase(world, "Succeeded")
            asked = [call for call in replica.transport.calls[of_cluster:] if NOT_OURS.search(call.path) is None]
            written = [call for call in replica.ledger.calls[of_ledger:] if call.path.startswith("audit")]
            return [("cluster", call.index) for call in asked] + [("ledger", call.index) for call in written]

    found: list[tuple[str, int]] = play(scenario, None)
    return found


def _points() -> Iterator[Point]:
    for port, index in _record():
        for moment in ("before", "after"):
            yield Point(port, index, moment)


async def _survive(world: Harbour, point: Point) -> bool:
    """One crash, one restart; answers whether the crash happened at all."""
    replica = await _begin(world, point)
    accepted = ""
    try:
        async with asyncio.timeout(60):
            accepted = (await submit(replica, ORDER)).metadata.uid
            while replica.process.alive and (await read(world, ORDER.key)).status.phase != "Succeeded":
                await world.clock.sleep(0.25)
    except (Crashed, TimeoutError):
        pass
    crashed = not replica.process.alive
    await replica.kill()
    second = world.start("second")
    await second.mooring.wait_synced()
    await world.clock.sleep(1)
    again = await submit(second, ORDER)
    assert accepted in ("", again.metadata.uid), "an accepted submission was lost"
    await until_phase(world, "Succeeded", ORDER.key, within=240)
    made = await jobs(world)
    assert sorted(step_of(job) for job in made) == STEPS
    assert all((job.status.succeeded, job.status.failed) == (1, 0) for job in made)
    return crashed


@pytest.mark.slow
@pytest.mark.parametrize("part", fast_first(range(PARTS), 1))
def test_a_crash_at_any_call_of_the_submit_path_leaves_one_job_a_step(part: int):
    points = list(_points())
    assert len({point.port for point in points}) == 2 and len(points) > 40
    points = points[part * STRIDE :: PARTS * STRIDE]
    crashed = 0
    for point in points:

        async def scenario(point: Point = point) -> bool:
            async with harbour(3) as world:
                return await _survive(world, point)

        try:
            crashed += play(scenario, None)
        except BaseException as error:
            error.add_note(f"crash {point.moment} {point.port} call {point.index}")
            raise
    print(f"{len(points)} crash points of the submit path, {crashed} crashes")
    assert crashed > len(points) * 0.9
