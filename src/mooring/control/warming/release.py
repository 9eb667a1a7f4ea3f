"""Releasing stale Jobs: only what passed the rails, proven once more by a live look, and never without an audit row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mooring.clock import Clock
from mooring.control.auditing import DONE, Auditor, Result
from mooring.control.fleet import Fleet
from mooring.control.metrics import RAILS_HELD, WARM_JOBS_RELEASED
from mooring.control.surroundings import see_cluster
from mooring.control.translation import node_from_view
from mooring.control.warming.watch import WarmupWatch
from mooring.kube.client import KubeClient
from mooring.kube.errors import ObjectNotFound
from mooring.kube.resources import JOBS, NODES
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.warmup import Release, Warmup
from mooring.planning.actions import earliest
from mooring.planning.rails import CONFIRM_SECONDS, Held, apply_rails, compute_brakes
from mooring.planning.warmups.plan import WarmupPlan
from mooring.planning.warmups.staleness import WARM_ON_LIVE_NODE, ReleaseJob, Staleness


@dataclass(slots=True)
class _Memory:
    """What the rails remember between passes; lost with the process, then confirmation starts again."""

    sightings: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Released:
    """What was done, and when to look again. `release` is None when there was nothing to tell."""

    release: Release | None = None
    found: int = 0
    broken: int = 0
    healed: tuple[float, ...] = ()
    wake_at: datetime | None = None


class WarmRelease:
    """Carries out `ReleaseJob`."""

    def __init__(
        self,
        client: KubeClient,
        fleet: Fleet,
        watch: WarmupWatch,
        auditor: Auditor,
        why_paused: Callable[[str], str],
        clock: Clock,
    ) -> None:
        self._client = client
        self._fleet = fleet
        self._watch = watch
        self._auditor = auditor
        self._why_paused = why_paused
        self._clock = clock
        self._memories: dict[str, _Memory] = {}

    def forget(self, key: str) -> None:
        """The Warmup is gone."""
        self._memories.pop(key, None)

    async def release(self, warmup: Warmup, plan: WarmupPlan) -> Released:
        """Delete what the rails allow."""
        memory = self._memories.setdefault(warmup.key, _Memory())
        now = self._clock.now()
        brakes = self._brakes() if plan.releases else ()
        verdict = apply_rails(plan.releases, memory.sightings, now, brakes)
        found = sum(act.key not in memory.sightings for act in plan.releases)
        memory.sightings = verdict.sightings
        RAILS_HELD.labels(WARM_ON_LIVE_NODE).set(len(verdict.held))
        if brakes:
            told = self._told(warmup, plan, "aborted", (), tuple(brakes), verdict.held)
            return Released(told, found, len(plan.releases), (), verdict.wake_at)
        deleted, errors, healed = [], [], []
        wake_at = verdict.wake_at
        for act in verdict.allowed:
            error = await self._delete(warmup, act)
            if error:
                errors.append(f"{act.job.name}: {error}")
                wake_at = earliest(wake_at, now + timedelta(seconds=CONFIRM_SECONDS))
            else:
                deleted.append(act.job.name)
                healed.append((now - verdict.sightings[act.key]).total_seconds())
        broken = len(plan.releases) - len(deleted)
        if not verdict.allowed:
            return Released(None, found, broken, (), wake_at)
        status = "partial" if errors else "ok"
        told = self._told(warmup, plan, status, tuple(deleted), tuple(errors), verdict.held)
        return Released(told, found, broken, tuple(healed), wake_at)

    def _told(
        self,
        warmup: Warmup,
        plan: WarmupPlan,
        status: str,
        deleted: tuple[str, ...],
        errors: tuple[str, ...],
        held: tuple[Held[ReleaseJob], ...],
    ) -> Release:
        """What goes into the status; the time stays while nothing new is told."""
        kept = tuple(sorted({*plan.kept, *(each.act.job.name for each in held)}))
        known = warmup.status.release
        at = self._clock.now().replace(microsecond=0)
        release = Release(status, warmup.spec.dataset, warmup.namespace, deleted, kept, errors, at)
        if known is not None and status == "aborted" and (known.status, known.errors) == (status, errors):
            return known
        return release

    def _brakes(self) -> tuple[str, ...]:
        return compute_brakes(see_cluster(self._fleet, self._why_paused(WARM_ON_LIVE_NODE), self._watch))

    async def _delete(self, warmup: Warmup, act: ReleaseJob) -> str:
        """One audited delete, its pods with it. Answers what went wrong; empty when the Job is going."""
        job = act.job
        told = "it changed in the meantime"

        async def delete() -> Result:
            nonlocal told
            if act.staleness in (Staleness.NODE_GONE, Staleness.NODE_REPLACED) and await self._node_lives(act):
                told = f"{job.node or job.hostname} is there after all"
                return AuditOutcome.SKIPPED, told
            await self._client.delete(
                JOBS,
                job.name,
                job.namespace,
                uid=job.uid,
                resource_version=job.resource_version,
                propagation="Background",
            )
            return DONE

        outcome = await self._auditor.carry_out(
            delete,
            actor=f"invariant/{WARM_ON_LIVE_NODE}",
            action="delete",
            subject=Subject("Job", job.namespace, job.name, job.uid),
            reason=f"{warmup.spec.dataset}: {act.reason}",
            evidence=act.evidence,
        )
        if outcome is AuditOutcome.DONE:
            self._watch.expect_deletion(job)
            WARM_JOBS_RELEASED.labels(act.staleness.value).inc()
            return ""
        return "the delete failed" if outcome is AuditOutcome.FAILED else told

    async def _node_lives(self, act: ReleaseJob) -> bool:
        """Only a live 404 or another uid proves that a node is gone (rule 13); errors go up and fail the act."""
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
