"""Releasing stale Jobs: within the rails, and only after a live look has proven once more that the node is gone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from hawser.errors import ObjectNotFound
from hawser.resources import JOBS, NODES
from mooring.controllers.warmups.creation import WarmCreation
from mooring.controllers.warmups.informer import WarmupInformer
from mooring.controllers.warmups.metrics import WARM_JOBS_RELEASED
from mooring.engine.audit import DONE, Result
from mooring.engine.context import Context
from mooring.engine.events import EventNote, summarize_acts
from mooring.engine.guarded_delete import GuardedActs, Round
from mooring.engine.nodes.translation import node_from_view
from mooring.engine.pins import may_run
from mooring.kinds.resources import WARMUPS
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.warmup import Release, Warmup
from mooring.planning.warmups.plan import WarmupPlan
from mooring.planning.warmups.staleness import WARM_ON_LIVE_NODE, ReleaseJob, Staleness

_RUNS = "a pod of it may still run"


@dataclass(frozen=True, slots=True)
class Released:
    """What was done. `report` is what the status says of it; None when there is nothing to report."""

    round: Round[ReleaseJob]
    report: Release | None = None

    @property
    def wake_at(self) -> datetime | None:
        return self.round.wake_at


class WarmRelease:
    """Carries out `ReleaseJob`."""

    def __init__(self, context: Context, informer: WarmupInformer, creation: WarmCreation) -> None:
        self._context = context
        self._client = context.client
        self._informer = informer
        self._creation = creation
        self._acts = GuardedActs(WARM_ON_LIVE_NODE, context.auditor, context.clock)

    def forget(self, key: str) -> None:
        """The Warmup is gone."""
        self._acts.forget(key)

    async def release(self, warmup: Warmup, plan: WarmupPlan) -> Released:
        """Delete what the rails allow."""
        brakes = self._context.brakes.by_cluster(WARM_ON_LIVE_NODE, self._informer) if plan.releases else ()
        # Looked at before the rails: to retry such a delete forever would fill the audit.
        running = [act.job.name for act in plan.releases if await self._may_run(act)]
        found = (act for act in plan.releases if act.job.name not in running)
        acts = [replace(act, reason=_describe(warmup, act)) for act in found]
        done = await self._acts.carry_out(warmup.key, acts, brakes, self._delete)
        for act in done.done:
            self._creation.deleted(warmup, act.job)
            WARM_JOBS_RELEASED.labels(act.staleness.value).inc()
        self._announce(warmup, done.done)
        if brakes:
            return Released(done, self._report(warmup, plan, done, brakes, aborted=True))
        errors = (*(f"{act.job.name}: {error}" for act, error in done.undone), *(f"{one}: {_RUNS}" for one in running))
        if not done.done and not errors:
            return Released(done)
        return Released(done, self._report(warmup, plan, done, errors))

    def _announce(self, warmup: Warmup, acts: Sequence[ReleaseJob]) -> None:
        subject = Subject(WARMUPS.kind, warmup.namespace, warmup.name, warmup.uid)
        for reason, message in summarize_acts((act.job.name, act.reason) for act in acts).items():
            uids = "/".join(act.job.uid for act in acts if act.reason == reason)
            self._context.events.record(EventNote(subject, WARMUPS.api_version, "JobsDeleted", message, uids))

    def _report(
        self,
        warmup: Warmup,
        plan: WarmupPlan,
        done: Round[ReleaseJob],
        errors: tuple[str, ...],
        *,
        aborted: bool = False,
    ) -> Release:
        """What goes into the status; the time stays while nothing new is reported."""
        kept = tuple(sorted({*plan.kept, *(each.act.job.name for each in done.held)}))
        deleted = tuple(act.job.name for act in done.done)
        status = "aborted" if aborted else "partial" if errors else "ok"
        at = self._context.clock.now().replace(microsecond=0)
        report = Release(status, warmup.spec.dataset, warmup.namespace, deleted, kept, errors, at)
        known = warmup.status.release
        # Without a delete nothing is new but the time. To write it would be a change, and a reason to look again.
        if known is not None and not deleted and msgspec.structs.replace(report, at=known.at) == known:
            return known
        return report

    async def _delete(self, act: ReleaseJob) -> Result:
        """One delete, its pods with it, as the Job was seen."""
        job = act.job
        if act.staleness in (Staleness.NODE_GONE, Staleness.NODE_REPLACED) and await self._node_lives(act):
            return AuditOutcome.SKIPPED, f"{job.node or job.hostname} is there after all"
        if await self._may_run(act):
            return AuditOutcome.SKIPPED, _RUNS
        await self._client.delete(
            JOBS,
            job.name,
            job.namespace,
            uid=job.uid,
            resource_version=job.resource_version,
            propagation="Background",
        )
        return DONE

    async def _may_run(self, act: ReleaseJob) -> bool:
        """Whether a pod of an adopted Job may run, which ends with its Job."""
        job = act.job
        return bool(job.adopted) and not job.finished and await may_run(self._client, job.namespace, job.name)

    async def _node_lives(self, act: ReleaseJob) -> bool:
        """Only a live 404 or another uid proves that a node is gone; errors are raised and fail the act."""
        if not act.job.node:
            return await self._hostname_lives(act.job.hostname)
        try:
            node = await self._client.get(NODES, act.job.node)
        except ObjectNotFound:
            return False
        if act.job.node_uid:
            return node.metadata.uid == act.job.node_uid
        born, ended = node.metadata.creation_timestamp, act.job.finished_at
        return act.staleness is Staleness.NODE_GONE or born is None or ended is None or ended >= born

    async def _hostname_lives(self, hostname: str) -> bool:
        """Whether a node carries the label. All are listed: no answer to a selector could be a lost permission."""
        found = (await self._client.list(NODES)).items
        return not found or any(node_from_view(node).hostname == hostname for node in found)


def _describe(warmup: Warmup, act: ReleaseJob) -> str:
    adopted = f"adopted by {act.job.adopted}, " if act.job.adopted else ""
    return f"{warmup.spec.dataset}: {adopted}{act.reason}"
