"""Clearing the way: Jobs of dead submissions are deleted within the rails, and waited for until they are gone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mooring.clock import Clock
from mooring.control.absence import live_uid
from mooring.control.auditing import DONE, Auditor, Result
from mooring.control.fleet import Fleet
from mooring.control.metrics import RAILS_HELD
from mooring.control.surroundings import see_cluster
from mooring.control.watch import Watch
from mooring.kube.client import KubeClient
from mooring.kube.resources import JOBS, SUBMISSIONS
from mooring.kube.views import Job, Submission
from mooring.model import names
from mooring.model.audit import AuditOutcome, Subject
from mooring.planning.rails import apply_rails, compute_brakes
from mooring.planning.submissions.leftovers import (
    LEFTOVER_JOBS,
    DeleteLeftover,
    FoundJob,
    FoundSubmission,
    LeftoversPlan,
    LeftoversSnapshot,
    find_owners,
    plan_leftovers,
)


@dataclass(frozen=True, slots=True)
class Cleared:
    """What a sweep found and did. The way is free when nothing is `in_the_way`."""

    in_the_way: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ()
    why: str = ""
    submissions: tuple[Submission, ...] = ()  # as listed, after the Jobs
    found: int = 0
    broken: int = 0
    first: str = ""  # one of the leftovers, as evidence
    healed_seconds: tuple[float, ...] = ()
    wake_at: datetime | None = None
    moving: bool = False  # whether something is going, or about to: worth a look soon


@dataclass(slots=True)
class _Memory:
    """Of one namespace, between two sweeps; lost with the process, then confirmation starts again."""

    sightings: Mapping[str, datetime] = field(default_factory=dict)
    going: set[str] = field(default_factory=set)  # names of Jobs that were deleted and are not yet proven gone


class Leftovers:
    """Sweeps one namespace at a time."""

    def __init__(
        self,
        client: KubeClient,
        fleet: Fleet,
        watch: Watch,
        why_paused: Callable[[str], str],
        auditor: Auditor,
        clock: Clock,
    ) -> None:
        self._client = client
        self._fleet = fleet
        self._watch = watch
        self._why_paused = why_paused
        self._auditor = auditor
        self._clock = clock
        self._memories: dict[str, _Memory] = {}

    async def sweep(self, namespace: str, wanted: frozenset[str] = frozenset(), wanted_by: str = "") -> Cleared:
        """Delete what the rails allow; says what still stands where `wanted` Jobs are to be made."""
        memory = self._memories.setdefault(namespace, _Memory())
        # Jobs before submissions, always: a Job made in between then has its owner listed (half-finished-submit).
        jobs = tuple(_found_job(job) for job in (await self._client.list(JOBS, namespace)).items)
        submissions = tuple((await self._client.list(SUBMISSIONS, namespace)).items)
        found = tuple(_found_submission(view) for view in submissions)
        gone = frozenset([name for name in find_owners(jobs, found) if await self._is_gone(namespace, name, found)])
        now = self._clock.now()
        plan = plan_leftovers(LeftoversSnapshot(now, jobs, found, gone, wanted, wanted_by))
        verdict = apply_rails(plan.acts, memory.sightings, now, self._brakes())
        fresh = sum(act.key not in memory.sightings for act in plan.acts)
        memory.sightings = verdict.sightings
        RAILS_HELD.labels(LEFTOVER_JOBS).set(len(verdict.held))
        healed = [act for act in verdict.allowed if await self._delete(act)]
        memory.going |= {act.job.name for act in healed}
        going = [name for name in sorted(memory.going) if not await self._is_absent(namespace, name, memory)]
        held = {one.act.job.name: one.because for one in verdict.held}
        return Cleared(
            in_the_way=tuple(sorted({*plan.in_the_way, *(wanted & set(going))})),
            strangers=plan.strangers,
            why=_explain(plan, held),
            submissions=submissions,
            found=fresh,
            broken=len(plan.acts) - len(healed),
            first=plan.acts[0].job.name if plan.acts else "",
            healed_seconds=tuple((now - verdict.sightings[act.key]).total_seconds() for act in healed),
            wake_at=verdict.wake_at,
            moving=bool(healed or going or verdict.wake_at) or any(job.terminating for job in jobs),
        )

    def _brakes(self) -> tuple[str, ...]:
        return compute_brakes(see_cluster(self._fleet, self._why_paused(LEFTOVER_JOBS), self._watch))

    async def _is_gone(self, namespace: str, name: str, listed: tuple[FoundSubmission, ...]) -> bool:
        """A live 404; or another uid under that name, the one that was listed."""
        found = await live_uid(self._client, SUBMISSIONS, name, namespace)
        return found in ("", *(submission.uid for submission in listed))

    async def _is_absent(self, namespace: str, name: str, memory: _Memory) -> bool:
        """Only a live 404 says that a Job is really gone."""
        absent = await live_uid(self._client, JOBS, name, namespace) == ""
        if absent:
            memory.going.discard(name)
        return absent

    async def _delete(self, act: DeleteLeftover) -> bool:
        job = act.job

        async def delete() -> Result:
            await self._client.delete(
                JOBS,
                job.name,
                job.namespace,
                uid=job.uid,
                resource_version=job.resource_version,
                propagation="Background",  # or its pods would run on, orphaned
            )
            return DONE

        outcome = await self._auditor.carry_out(
            delete,
            actor=f"invariant/{LEFTOVER_JOBS}",
            action="delete",
            subject=Subject("Job", job.namespace, job.name, job.uid),
            reason=act.reason,
            evidence={"proofs": list(act.proofs), "ageSeconds": round(act.age_seconds, 1)},
        )
        return outcome is AuditOutcome.DONE


def _explain(plan: LeftoversPlan, held: Mapping[str, str]) -> str:
    told = [f"{name} ({held.get(name) or plan.kept.get(name) or 'being deleted'})" for name in plan.in_the_way[:3]]
    more = f" and {len(plan.in_the_way) - 3} more" if len(plan.in_the_way) > 3 else ""
    return f"leftover Jobs are in the way: {', '.join(told)}{more}" if told else ""


def _found_job(job: Job) -> FoundJob:
    meta = job.metadata
    owner = next((one for one in meta.owner_references if one.kind == "Submission"), None)
    ours = owner is not None and owner.api_version.startswith(names.OWN_PREFIX)
    return FoundJob(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        labels=meta.labels,
        owner_name=owner.name if owner is not None and ours else "",
        owner_uid=owner.uid if owner is not None and ours else "",
        owned=bool(meta.owner_references),
        created_at=meta.creation_timestamp,
        terminating=job.terminating,
    )


def _found_submission(view: Submission) -> FoundSubmission:
    meta = view.metadata
    return FoundSubmission(meta.name, meta.uid, meta.creation_timestamp, view.terminating)
