"""leaked-stamps: a deploy in the middle of a dispatch leaves workers that stay stamped for ever without a session."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from drydock import Nodes, NodeTemplate
from drydock.faults import Crash, Crashed, Rule
from hawser.cache import Change
from hawser.views import Pod
from mooring.controllers.activity import PolledActivity
from mooring.controllers.claims.refusals import WaitTimedOut
from mooring.incidents.agents import Agents
from mooring.incidents.incident import Figures, Incident
from mooring.incidents.replica import Replica
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.model import names
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest

POOL = f"{NAMESPACE}/linux"
MAX_WORKERS = 30
LEAKED = 28
HUNG_UP = 14  # of them: their callers gave up, so their rows are released; the rows of the others stay `claimed`
HUNG = 6  # of these: their agents hang too, so that nobody ever says that they are idle
WAITING = 6
RUNS_ON = "nightly"  # the owner of the job that runs all the time
JOB_SECONDS = 120.0
DEPLOY_SECONDS = 10.0
WATCHED_SECONDS = 7200.0
SILENT_SECONDS = 600.0
FEWEST_SILENT_SECONDS = 60  # that a pool accepts
HEALED_AFTER_SILENCE_SECONDS = 120.0

WORKER_GIB = 16
FULL_NODE_GIB = 227  # 14 workers: 98.7 %
SPARE_NODE_GIB = 17  # one worker
NODES_GIB = {"big-1": FULL_NODE_GIB, "big-2": FULL_NODE_GIB, "small-1": SPARE_NODE_GIB}


class LeakedStamps(Incident):
    """28 pods with 448 GiB on two nodes at 98-99 %, for two hours, while one job was running."""

    name = "leaked-stamps"
    title = "busy for ever, without a session"
    story = (
        "A deploy kills the control plane while it hands out 28 workers: they are stamped, and not used. "
        "The agents of 6 of them hang. The nodes are full, new jobs wait, and one job goes on running."
    )
    protections = ("stamped-has-claim", "claim-progresses")
    hurry = 12

    def nodes(self) -> Nodes:
        room = {"cpu": "64", "ephemeral-storage": "500Gi", "pods": "110"}
        return {name: NodeTemplate(capacity={**room, "memory": f"{gib}Gi"}) for name, gib in NODES_GIB.items()}

    async def play(self, stage: Stage, protected: bool) -> Figures:
        blue, agents = await _open_the_pool(stage)
        running = await _start_the_job_that_runs_on(stage, blue)
        leak = await _deploy_in_mid_dispatch(stage, blue, agents, running)
        await stage.clock.sleep(stage.hurried(DEPLOY_SECONDS))
        _start(stage, "green")
        jobs = _ask_for_more(stage)
        stage.enter(_tell_when(stage, lambda: leak.healed_after is not None, leak.describe))
        stage.enter(_tell_when(stage, lambda: not _waiting(jobs), lambda: "the queue is served"))
        await _watch(stage, lambda: leak.healed_after is not None and not _waiting(jobs))
        if leak.epochs:
            later = f"{stage.seconds - leak.started:.0f} s later"
            stage.narrate(f"{later} {len(leak.epochs)} workers are still stamped: {_memory(stage)}")
        return await _figures(stage, leak, jobs, running)


@dataclass(slots=True)
class Leak:
    """The leaked stamps by pod uid, and how each ended."""

    epochs: dict[str, str]
    started: float
    now: Callable[[], float]
    unstamped: int = 0
    deleted: int = 0
    healed_after: float | None = None

    def see(self, change: Change[Pod]) -> None:
        """Count a leaked worker once: when its stamp is removed, or when its pod is deleted."""
        pod = change.latest
        epoch = self.epochs.get(pod.metadata.uid)
        if epoch is None:
            return
        if change.new is None or change.new.terminating:
            self.deleted += 1
        elif pod.metadata.annotations.get(names.EPOCH) != epoch:
            self.unstamped += 1
        else:
            return
        del self.epochs[pod.metadata.uid]
        if not self.epochs:
            self.healed_after = self.now() - self.started

    def describe(self) -> str:
        return f"healed: {self.unstamped} workers are back in the pool, {self.deleted} were deleted"


@dataclass(slots=True)
class Job:
    """A job of a user: since when it waits, and when it began."""

    owner: str
    asked_at: float
    began_at: float | None = None

    def waited(self, now: float) -> float:
        return (now if self.began_at is None else self.began_at) - self.asked_at


def _start(stage: Stage, name: str, rules: Sequence[Rule] = ()) -> Replica:
    """A control plane that has no report from any worker yet."""
    stage.words = PolledActivity(stage.clock, stage.timeouts.worker_report)
    return stage.start(name, rules)


async def _open_the_pool(stage: Stage) -> tuple[Replica, Agents]:
    # The process dies when it would delete the first worker whose caller gave up.
    dying = Rule(Crash("before"), methods=frozenset({"DELETE"}), path=r"/pods/[^/]+$")
    blue = _start(stage, "blue", [dying])
    agents = Agents(stage, POOL, lambda session: inf if session.owner == RUNS_ON else JOB_SECONDS)
    resources = {"requests": {"memory": f"{WORKER_GIB}Gi"}}
    await stage.pool(
        warm=1,
        max=MAX_WORKERS,
        dispatch="Poll",
        mint={"url": "http://mint.example", "timeoutSeconds": 60},
        protection={"graceSeconds": 30},
        reclaim={"silentSeconds": _silent_seconds(stage)},
        template={"spec": {"containers": [{"name": "main", "image": "runner", "resources": resources}]}},
    )
    await stage.until_idle(1)
    return blue, agents


async def _start_the_job_that_runs_on(stage: Stage, control: Replica) -> Claim:
    running = await control.mooring.claims.desk.claim(
        POOL, ClaimRequest(RUNS_ON, ttl_seconds=max(5, round(stage.hurried(60))))
    )
    stage.narrate(f"one job runs on {running.pod_name}; it will run all the time")
    return running


async def _deploy_in_mid_dispatch(stage: Stage, control: Replica, agents: Agents, running: Claim) -> Leak:
    """Many jobs arrive at once, the mint is slow, and the control plane is killed while they wait for it."""
    stage.mint.hanging = True
    callers = [stage.enter(_ask(control, f"rush-{number}")) for number in range(LEAKED)]

    async def all_stamped() -> bool:
        return len(_stamps(stage)) == LEAKED + 1

    await stage.until(all_stamped, 50, f"{LEAKED} stamped workers")
    stage.narrate(f"{LEAKED} jobs have their workers stamped and wait for the mint: {_memory(stage)}")
    claims = [claim for claim in (await stage.ledger.claims.live()).claims if claim.id != running.id]
    await asyncio.gather(*(_hang_up(control, claim) for claim in claims[:HUNG_UP]))
    agents.hang(claim.pod_uid or "" for claim in claims[:HUNG])
    await control.kill()
    await stage.leave(callers)
    stage.mint.hanging = False
    leak = Leak(_stamps(stage), stage.seconds, lambda: stage.seconds)
    del leak.epochs[running.pod_uid or ""]
    stage.watch.subscribe(leak.see)
    stage.gauges["leaked stamps"] = lambda: len(leak.epochs)
    rows = Counter([row.state.value for claim in claims if (row := await stage.ledger.claims.get(claim.id))])
    states = ", ".join(f"{count} {state}" for state, count in sorted(rows.items()))
    stay = f"{len(leak.epochs)} stamps stay, their rows are {states}, {HUNG} agents hang"
    stage.narrate(f"the deploy kills the control plane: {stay}")
    return leak


def _ask_for_more(stage: Stage) -> list[Job]:
    stage.narrate(f"the new control plane is up, and {WAITING} new jobs ask for workers")
    jobs = [Job(f"new-{number}", stage.seconds) for number in range(WAITING)]
    stage.gauges["jobs waiting"] = lambda: _waiting(jobs)
    for job in jobs:
        stage.enter(_wait(stage, job))
    return jobs


async def _figures(stage: Stage, leak: Leak, jobs: list[Job], running: Claim) -> Figures:
    now = stage.seconds
    claim = await stage.ledger.claims.get(running.id)
    untouched = running.pod_uid in _stamps(stage) and claim is not None and claim.state is ClaimState.RUNNING
    healed = leak.healed_after is not None and leak.healed_after <= _patience(stage)
    return Figures(
        outage=not healed or bool(_waiting(jobs)) or not untouched,
        measured={
            "leaked": leak.unstamped + leak.deleted + len(leak.epochs),
            "stillStampedAtTheEnd": len(leak.epochs),
            "healedAfterSeconds": None if leak.healed_after is None else round(leak.healed_after, 1),
            "queuedLongestSeconds": round(max(job.waited(now) for job in jobs), 1),
            "jobsStillQueued": _waiting(jobs),
            "idleWorkers": (await stage.status()).get("idle", 0),
            "runningWorkKilled": 0 if untouched else 1,
            "workersDeleted": leak.deleted,
            "workersUnstamped": leak.unstamped,
        },
    )


async def _ask(control: Replica, owner: str) -> None:
    """A caller whose connection ends with the control plane."""
    with contextlib.suppress(Crashed):
        await control.mooring.claims.desk.claim(POOL, ClaimRequest(owner, wait=600))


async def _hang_up(control: Replica, claim: Claim) -> None:
    with contextlib.suppress(Crashed):
        await control.mooring.claims.desk.release(claim.id, claim.epoch, "its caller hung up")


async def _wait(stage: Stage, job: Job) -> None:
    """A waiting job repeats its request until it gets a worker."""
    mooring = stage.replicas[-1].mooring
    await mooring.wait_synced()
    while job.began_at is None:
        with contextlib.suppress(WaitTimedOut):
            await mooring.claims.desk.claim(POOL, ClaimRequest(job.owner, wait=3600))
            job.began_at = stage.seconds


async def _watch(stage: Stage, is_over: Callable[[], bool]) -> None:
    """Watch for two hours; in real time only until the outcome is decided."""
    if stage.hurry == 1:
        await stage.clock.sleep(WATCHED_SECONDS)
        return
    until = stage.seconds + _patience(stage)
    while not is_over() and stage.seconds < until:
        await stage.clock.sleep(0.5)


async def _tell_when(stage: Stage, holds: Callable[[], bool], text: Callable[[], str]) -> None:
    while not holds():
        await stage.clock.sleep(1.0)
    stage.narrate(text())


def _silent_seconds(stage: Stage) -> int:
    return max(FEWEST_SILENT_SECONDS, round(stage.hurried(SILENT_SECONDS)))


def _patience(stage: Stage) -> float:
    """Within how many seconds the leak must be healed."""
    return _silent_seconds(stage) + stage.hurried(HEALED_AFTER_SILENCE_SECONDS)


def _waiting(jobs: list[Job]) -> int:
    return sum(job.began_at is None for job in jobs)


def _stamps(stage: Stage) -> dict[str, str]:
    """Epochs of all stamps, by pod uid."""
    stamped = [pod.metadata for pod in stage.watch.cache.values() if names.OWNER in pod.metadata.labels]
    return {meta.uid: meta.annotations.get(names.EPOCH, "") for meta in stamped}


def _memory(stage: Stage) -> str:
    """The memory use of the big nodes."""
    workers = Counter(pod.spec.node_name for pod in stage.watch.cache.values())
    return ", ".join(f"{name} at {workers[name] * WORKER_GIB / NODES_GIB[name]:.1%}" for name in ("big-1", "big-2"))
