"""Submissions on a stage: a spec to start from, and what the cluster shows of them."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from drydock import Script
from hawser.resources import JOBS
from hawser.views import Job
from mooring.incidents.replica import Replica
from mooring.kinds.resources import SUBMISSIONS
from mooring.kinds.views import Submission
from mooring.model.names import STEP, SUBMISSION
from mooring.model.submission import Gate, SubmissionSpec, name_for
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour


def spec(key: str = "night-1", **changes: Any) -> SubmissionSpec:
    """Setup, two batches, a finalizer."""
    plain: dict[str, Any] = {
        "key": key,
        "program": "search",
        "args": ["--db", "core_nt"],
        "setup": {"args": ["prepare"]},
        "batches": [{"args": ["q0"]}, {"args": ["q1"]}],
        "finalizer": {"args": ["merge"]},
    }
    return msgspec.convert({**plain, **changes}, SubmissionSpec)


async def submit(replica: Replica, order: SubmissionSpec) -> Submission:
    view, _ = await replica.mooring.submissions.commands.submit(NAMESPACE, order, actor="ann")
    return view


async def read(world: Harbour, key: str = "night-1") -> Submission:
    return await world.client.get(SUBMISSIONS, name_for(key), NAMESPACE)


async def jobs(world: Harbour, selector: str = SUBMISSION) -> list[Job]:
    return (await world.client.list(JOBS, NAMESPACE, label_selector=selector)).items


async def until_phase(world: Harbour, phase: str, key: str = "night-1", within: float = 180.0) -> Submission:
    for _ in range(int(within * 4)):
        found = await read(world, key)
        if found.status.phase == phase:
            return found
        await world.clock.sleep(0.25)
    raise AssertionError(f"{key} is not {phase} within {within} s: {found.status}")


async def until(world: Harbour, holds: Callable[[], Awaitable[bool]], within: float) -> None:
    for _ in range(int(within * 4)):
        if await holds():
            return
        await world.clock.sleep(0.25)
    raise AssertionError(f"not within {within} s")


def gate_of(view: Submission, gate: str) -> Gate:
    return next(one for one in view.status.gates if one.id == gate)


def step_of(job: Job) -> str:
    return job.metadata.labels[STEP]


def slow_batches(run: Any) -> Script | None:
    """Batches that still run while a test does something; other steps end at once."""
    slow = run.pod["metadata"]["labels"].get(STEP, "").startswith("batch")
    return Script(run_seconds=20) if slow else None
