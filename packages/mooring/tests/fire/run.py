"""Real parts under load and fire, then calm, then the judge."""

import asyncio
import contextlib
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hawser.errors import KubeError
from packages.mooring.tests.fire.fire import Fire, Leaders
from packages.mooring.tests.fire.parts import Parts, real_parts
from packages.mooring.tests.fire.recording import PodLooks, count_writes, find_leftovers, note_rows, note_writes
from packages.mooring.tests.fire.sessions import Sessions
from packages.testing.judge import History, judge

SETTLED_WITHIN_SECONDS = 420.0
QUIET_SECONDS = 30.0


@dataclass(frozen=True)
class Plan:
    """How much, how long, and how often a fault."""

    workers: int = 200
    rate: float = 50.0
    seconds: float = 300.0
    fault_every: float = 10.0
    seed: int = 1


@dataclass
class Report:
    """What came out of a run."""

    violations: list[str]
    sessions: int
    failed: int
    faults: list[str]
    waits: list[float]
    gaps: list[float]
    settled_after: float

    @property
    def success(self) -> float:
        return 1 - self.failed / self.sessions if self.sessions else 0.0

    def lines(self) -> list[str]:
        return [
            f"{self.sessions} sessions, {self.success:.2%} got a worker; waits {_quantiles(self.waits)}",
            f"{len(self.faults)} faults: {', '.join(self.faults)}",
            f"nobody led: {len(self.gaps)} times, {_quantiles(self.gaps)}",
            f"settled {self.settled_after:.0f} s after the end",
            f"{len(self.violations)} violations",
            *self.violations[:20],
        ]


def _quantiles(seconds: list[float]) -> str:
    if not seconds:
        return "none"
    ordered = sorted(seconds)
    return " ".join(
        f"{name} {ordered[min(len(ordered) - 1, int(part * len(ordered)))]:.2f} s"
        for name, part in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
    )


async def burn(folder: Path, plan: Plan) -> Report:
    """One run, from the start of all parts to the verdict."""
    async with real_parts(folder, plan.workers) as parts:
        return await judged_run(parts, plan)


async def judged_run(parts: Parts, plan: Plan) -> Report:
    """Load and faults on parts that run, then calm, then the verdict."""
    await _until_settled(parts, plan.workers, SETTLED_WITHIN_SECONDS)
    history, began, zero = History(), datetime.now(UTC), time.monotonic()
    leaders, fire, sessions = Leaders(parts), Fire(parts, plan.seed, history, zero), Sessions(parts, history, zero)
    beside = [
        asyncio.create_task(_record_pods(PodLooks(parts, history, began), zero)),
        asyncio.create_task(leaders.watch()),
    ]
    burning = asyncio.create_task(fire.run(plan.fault_every, plan.seconds))
    try:
        await sessions.run(plan.rate, plan.seconds)
        await burning
        settled_after = await _settle(parts, plan, sessions, zero)
    finally:
        for task in (*beside, burning):
            task.cancel()
        await asyncio.gather(*beside, burning, return_exceptions=True)
        history.write(parts.folder / "history.jsonl")  # also of a run that is ended
    note_writes(parts, history, began)
    await note_rows(parts, history, began)
    history.write(parts.folder / "history.jsonl")
    return Report(
        violations=judge(history),
        sessions=sessions.begun,
        failed=sessions.failed,
        faults=fire.made,
        waits=sessions.waits,
        gaps=leaders.gaps,
        settled_after=settled_after,
    )


async def _settle(parts: Parts, plan: Plan, sessions: Sessions, zero: float) -> float:
    """Until nothing is left, also after each replica gave out all workers once."""
    ended, history = time.monotonic(), sessions.history
    await parts.until_ready()
    await _until_settled(parts, plan.workers, SETTLED_WITHIN_SECONDS)
    for replica in parts.replicas:
        got = await sessions.claim_all(replica, plan.workers)
        history.note(time.monotonic() - zero, "served", who=replica.name, wanted=plan.workers, got=got)
    state = await _until_settled(parts, plan.workers, SETTLED_WITHIN_SECONDS)
    history.note(time.monotonic() - zero, "settled", wanted=plan.workers, **state)
    took, calm_since = time.monotonic() - ended, datetime.now(UTC)
    await asyncio.sleep(QUIET_SECONDS)
    history.note(time.monotonic() - zero, "quiet", writes=count_writes(parts, calm_since))
    return took


async def _until_settled(parts: Parts, workers: int, within: float) -> dict[str, object]:
    """What is left, once nothing is, or after a long time."""
    deadline, whole = time.monotonic() + within, 0
    while True:
        state = await find_leftovers(parts)
        whole = whole + 1 if state == {"idle": workers, "stamped": [], "live": [], "unfinished": []} else 0
        if whole == 3 or time.monotonic() > deadline:
            return state
        await asyncio.sleep(2)


async def _record_pods(looks: PodLooks, zero: float) -> None:
    """Looks often enough: a pod that comes and goes between two looks is in no answer."""
    while True:
        with contextlib.suppress(KubeError):  # the API server is one of the parts that burn
            await looks.take(time.monotonic() - zero)
        await asyncio.sleep(0.5)
