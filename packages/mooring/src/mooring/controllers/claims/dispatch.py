"""Poll dispatch: workers fetch their sessions, keep them alive, and report how they ended.

A session is handed out at most once an epoch: `deliver_next` marks it in the same write that finds it.
"""

import asyncio
import contextlib
from dataclasses import dataclass

import structlog

from mooring.controllers.activity import PolledActivity
from mooring.controllers.claims.forgotten_sessions import ForgottenSessions
from mooring.controllers.claims.release import ClaimRelease
from mooring.controllers.claims.wakeups import Wakeups
from mooring.controllers.fleet import Fleet
from mooring.controllers.idleness import prove_idle
from mooring.controllers.polls import Polls
from mooring.engine.context import Context
from mooring.engine.nodes.informer import NODE
from mooring.ledger.records import AuditFilter, Channel, Wake
from mooring.model.audit import AuditEntry, AuditOutcome, AuditRecord, Subject
from mooring.model.claim import Claim, EndCause
from mooring.model.errors import Forbidden, MooringError, NotFound, StaleEpoch, Unavailable
from mooring.model.evidence import clean_line_end, clean_log
from mooring.model.worker import Worker, WorkerState
from mooring.planning.workers import classify_worker

log = structlog.get_logger()

MOST_WAIT_SECONDS = 30.0
_KIND, _ACTION = "Claim", "finish"


class WorkerDraining(MooringError):
    """The worker gets no more sessions: it should exit."""

    code = "draining"


class NoResult(NotFound):
    """No worker has reported how the session ended."""

    code = "no_result"


@dataclass(frozen=True, slots=True)
class Result:
    """How a session ended, as its worker reports it."""

    exit_code: int
    output: str


class Dispatch:
    """The workers' side of the claim path."""

    def __init__(
        self,
        context: Context,
        fleet: Fleet,
        release: ClaimRelease,
        forgotten: ForgottenSessions,
        activity: PolledActivity,
        polls: Polls,
    ) -> None:
        self._client = context.client
        self._auditor = context.auditor
        self._ledger = context.ledger
        self._nodes = context.nodes
        self._fleet = fleet
        self._release = release
        self._forgotten = forgotten
        self._activity = activity
        self._polls = polls
        self._clock = context.clock
        self._replica_id = context.replica_id
        self._wakeups = Wakeups()  # by pod uid
        self._waiting_polls: dict[str, int] = {}  # pod uid -> the newest of its polls that wait here
        self._last_poll = 0
        self._closed = False
        context.ledger.listen(Channel.DISPATCH, self._on_dispatch)
        context.ledger.listen(Channel.ACTIVITY, self._on_activity)
        fleet.subscribe_workers(lambda _, uid: self._wakeups.wake(uid))
        context.nodes.subscribe(self._on_node)

    def close(self) -> None:
        """This replica stops: workers that wait here are sent away, to ask another one."""
        self._closed = True
        self._wakeups.wake_all()

    async def next_session(self, worker: Worker, wait_seconds: float, *, executing: bool) -> Claim | None:
        """The next session of a worker, now or within the wait; None when there is none. Raises `WorkerDraining`."""
        await self._hear(worker, executing)
        deadline = self._clock.monotonic() + min(wait_seconds, MOST_WAIT_SECONDS)
        poll = self._last_poll = self._last_poll + 1
        self._waiting_polls[worker.uid] = poll
        self._wakeups.wake(worker.uid)
        try:
            async with self._wakeups.listening(worker.uid) as woken:
                # A worker that polls again has given up on its earlier poll: a session handed to that would be lost.
                while self._waiting_polls.get(worker.uid) == poll:
                    woken.clear()
                    if self._closed:
                        raise Unavailable("this replica stops", fix="ask again")
                    # A cordoned worker finishes what it holds; one that is terminating begins nothing.
                    if self._present(worker).terminating_since is not None:
                        self._refuse_draining(worker)
                    claim = await self._ledger.claims.deliver_next(worker.uid, now=self._clock.now())
                    if claim is not None:
                        self._activity.record(worker.uid, executing=True)
                        return claim
                    look_again_at = deadline
                    if not executing and self._present(worker).stamp is not None:
                        left = await self._forgotten.lose(worker)
                        look_again_at = deadline if left is None else min(deadline, self._clock.monotonic() + left)
                    self._refuse_draining(worker)
                    await self._listen(woken, look_again_at)
                    if self._clock.monotonic() >= deadline:
                        break
            return None
        finally:
            if self._waiting_polls.get(worker.uid) == poll:
                del self._waiting_polls[worker.uid]

    async def heartbeat(self, worker: Worker, claim_id: str, epoch: int) -> Claim:
        """The worker is at it. Refused for anyone else's session and under an old epoch."""
        await self._polls.record(worker)
        claim = await self._own(worker, claim_id, epoch)
        outcome = await self._ledger.claims.heartbeat(claim.id, epoch, now=self._clock.now())
        if outcome.applied:
            self._activity.record(worker.uid, executing=True)
        return outcome.require()

    async def finish(self, worker: Worker, claim_id: str, epoch: int, result: Result) -> bool:
        """Keep the result, then release the claim. True: poll again; False: the worker is not reused, exit.

        The first report stays, so that it may be repeated after a lost answer.
        """
        await self._polls.record(worker)
        claim = await self._own(worker, claim_id, epoch)
        entry = self._entry(worker, claim, result)
        await self._ledger.audit.begin(entry)
        outcome = await self._release.end(claim.id, epoch, EndCause.RELEASED, entry.reason)
        message, error = AuditOutcome.DONE, ""
        if outcome.applied:
            self._activity.record(worker.uid, executing=False)
        else:
            message, error = AuditOutcome.SKIPPED, f"the claim was {outcome.verdict.value} by then"
        await self._ledger.audit.complete(entry.id, message, now=self._clock.now(), error=error)
        outcome.require()
        pool = self._fleet.pool(f"{claim.namespace}/{claim.pool}")
        return pool is not None and pool.spec.reuse != "Never"

    async def result(self, claim_id: str) -> AuditRecord:
        """The report of a session's worker; its evidence holds `exitCode` and `output`."""
        page = await self._ledger.audit.list(AuditFilter(kind=_KIND, name=claim_id, action=_ACTION), limit=1)
        if not page.items or page.items[0].outcome is AuditOutcome.SKIPPED:
            raise NoResult(
                f"no result of claim {claim_id!r} was reported",
                fix="ask again when the claim is released; only workers that poll report results",
            )
        return page.items[0]

    async def _own(self, worker: Worker, claim_id: str, epoch: int) -> Claim:
        claim = await self._ledger.claims.get(claim_id)
        if claim is None:
            raise NotFound(f"there is no claim {claim_id!r}", fix="stop the session")
        if claim.epoch != epoch:
            raise StaleEpoch(f"claim {claim_id} has another epoch now", fix="stop the session")
        if claim.pod_uid != worker.uid:
            raise Forbidden(f"claim {claim_id} is not on worker {worker.name}", fix="report only your own sessions")
        return claim

    def _entry(self, worker: Worker, claim: Claim, result: Result) -> AuditEntry:
        return AuditEntry(
            id=f"{_ACTION}/{claim.id}/{claim.attempt}",
            at=self._clock.now(),
            actor=f"worker/{worker.namespace}/{worker.name}",
            replica=self._replica_id,
            action=_ACTION,
            subject=Subject(_KIND, claim.namespace, claim.id, worker.uid),
            reason=f"its command ended with exit code {result.exit_code}",
            evidence={
                "exitCode": result.exit_code,
                "output": _clean_output(result.output),
                "epoch": claim.epoch,
            },
        )

    async def _hear(self, worker: Worker, executing: bool) -> None:
        """Remember what the worker says; "idle" under a stamp is rare, and evidence that the leader may need."""
        await self._polls.record(worker)
        self._activity.record(worker.uid, executing=executing)
        if not executing and worker.unproven_since is not None:
            await self._believe(worker)
        if not executing and worker.stamp is not None:
            try:
                await self._ledger.notify(Channel.ACTIVITY, worker.uid)
            except Unavailable as error:
                log.warning("other replicas were not notified of an idle worker", error=error.message)

    async def _believe(self, worker: Worker) -> None:
        """An adopted worker asks for a session: it reports that it runs none."""
        try:
            await prove_idle(
                self._client,
                self._auditor,
                worker,
                actor=f"worker/{worker.namespace}/{worker.name}",
                reason="it asks for a session, so it runs none",
            )
        except Unavailable as error:
            log.warning("an adopted worker stays busy", worker=worker.name, error=error.message)

    def _present(self, worker: Worker) -> Worker:
        """The worker as the cluster shows it now."""
        return self._fleet.worker(f"{worker.namespace}/{worker.pool}", worker.uid) or worker

    def _refuse_draining(self, worker: Worker) -> None:
        present = self._present(worker)
        if present is worker and worker.uid in self._fleet.departed:
            raise WorkerDraining(f"worker {worker.name} gets no more sessions: its pod is gone", fix="exit")
        item = classify_worker(present, self._nodes.by_name)
        if item.state in (WorkerState.DRAINING, WorkerState.LOST):
            raise WorkerDraining(f"worker {worker.name} gets no more sessions: {item.why.message}", fix="exit")

    async def _listen(self, woken: asyncio.Event, until: float) -> None:
        left = until - self._clock.monotonic()
        if left > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await woken.wait()

    def _on_dispatch(self, wake: Wake) -> None:
        if wake.resync:
            self._wakeups.wake_all()
        else:
            self._wakeups.wake(wake.payload)

    def _on_activity(self, wake: Wake) -> None:
        if wake.payload:
            self._activity.record(wake.payload, executing=False)

    def _on_node(self, kind: str, _: str) -> None:
        if kind == NODE:
            self._wakeups.wake_all()


def _clean_output(output: str) -> str:
    """Like a log: it is kept in the audit trail, which more people read than the session's owner."""
    cleaned = "\n".join(clean_log(output, last=len(output), clean=clean_line_end))
    return f"{cleaned}\n" if output.endswith("\n") else cleaned
