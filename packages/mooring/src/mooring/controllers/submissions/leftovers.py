"""Clearing the way: Jobs of dead submissions are deleted within the rails, and waited for until they are gone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from hawser.resources import JOBS
from hawser.views import Job, find_condition
from mooring.controllers.submissions.informer import SubmissionInformer
from mooring.engine.absence import live_uid
from mooring.engine.audit import DONE, Result
from mooring.engine.context import Context
from mooring.engine.guarded_delete import GuardedActs
from mooring.engine.pins import is_pin_gone, may_run, read_pin
from mooring.kinds.resources import SUBMISSIONS
from mooring.kinds.views import Submission
from mooring.model import names
from mooring.model.adoption import Adoption
from mooring.model.errors import InvalidInput
from mooring.model.selector import Selector, parse_selector
from mooring.model.submission import ENDED, Phase
from mooring.planning.submissions.leftovers import (
    LEFTOVER_JOBS,
    DeleteLeftover,
    FoundJob,
    FoundSubmission,
    LeftoversPlan,
    LeftoversSnapshot,
    find_adopter,
    find_owners,
    plan_leftovers,
    report_adopted,
)

_MOST_LOOKS = 50  # at nodes of adopted Jobs, in one sweep


@dataclass(frozen=True, slots=True)
class Cleared:
    """What a sweep found and did. The way is free when nothing is `in_the_way`."""

    in_the_way: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ()
    why: str = ""
    adoption: Adoption | None = None  # of the submission that asked
    submissions: tuple[Submission, ...] = ()  # as listed, after the Jobs
    found: int = 0
    broken: int = 0
    first: str = ""  # one of the leftovers, as evidence
    healed_seconds: tuple[float, ...] = ()
    wake_at: datetime | None = None
    moving: bool = False  # whether something is going, or about to: worth a look soon


class Leftovers:
    """Sweeps one namespace at a time."""

    def __init__(self, context: Context, informer: SubmissionInformer, acts: GuardedActs) -> None:
        self._client = context.client
        self._clock = context.clock
        self._brakes = context.brakes
        self._informer = informer
        self._acts = acts
        self._going: dict[str, set[str]] = {}  # by namespace: names of Jobs that were deleted and are not proven gone

    async def sweep(self, namespace: str, wanted: frozenset[str] = frozenset(), wanted_by: str = "") -> Cleared:
        """Delete what the rails allow; says what still stands where `wanted` Jobs are to be made."""
        # Jobs before submissions, always: a Job made in between then has its owner listed (half-finished-submit).
        listed = (await self._client.list(JOBS, namespace)).items
        jobs = tuple(_found_job(job) for job in listed)
        submissions = tuple((await self._client.list(SUBMISSIONS, namespace)).items)
        found = tuple(_found_submission(view) for view in submissions)
        gone = frozenset([name for name in find_owners(jobs, found) if await self._is_gone(namespace, name, found)])
        stranded = await self._find_stranded(listed, jobs, found)
        snapshot = LeftoversSnapshot(self._clock.now(), jobs, found, gone, wanted, wanted_by, stranded)
        plan = plan_leftovers(snapshot)
        brakes = self._brakes.by_cluster(LEFTOVER_JOBS, self._informer)
        done = await self._acts.carry_out(namespace, plan.acts, brakes, self._delete)
        going = await self._still_going(namespace, {act.job.name for act in done.done})
        held = {one.act.job.name: one.because for one in done.held}
        # Adopted Jobs are waited for while the rails look twice, and not if something else holds them.
        ripe = {one.act.job.name for one in done.held if one.act.adopted and one.act.ripe and not brakes}
        in_the_way = tuple(sorted({*plan.in_the_way, *(wanted & going), *ripe}))
        return Cleared(
            in_the_way=in_the_way,
            strangers=plan.strangers,
            why=_explain(in_the_way, plan, held),
            adoption=report_adopted(snapshot, {act.job.name for act in done.done}),
            submissions=submissions,
            found=done.found,
            broken=done.broken,
            first=plan.acts[0].job.name if plan.acts else "",
            healed_seconds=done.healed_seconds,
            wake_at=done.wake_at,
            moving=bool(done.done or going or done.wake_at) or any(job.terminating for job in jobs),
        )

    async def _find_stranded(
        self, listed: Sequence[Job], jobs: Sequence[FoundJob], submissions: Sequence[FoundSubmission]
    ) -> frozenset[str]:
        """Uids of adopted Jobs that wait for a node that is gone; both is read live."""
        stranded = set()
        adopted = (
            (view, job)
            for view, job in zip(listed, jobs, strict=True)
            if job.node and not job.finished and find_adopter(job, submissions) is not None
        )
        for view, job in islice(adopted, _MOST_LOOKS):
            pin = read_pin(view.spec.template.spec)
            if await is_pin_gone(self._client, pin) and not await may_run(self._client, job.namespace, job.name):
                stranded.add(job.uid)
        return frozenset(stranded)

    async def _still_going(self, namespace: str, deleted: set[str]) -> set[str]:
        """Names of deleted Jobs that are there still. Only a live 404 says that a Job is really gone."""
        asked = self._going.pop(namespace, set()) | deleted
        going = {name for name in sorted(asked) if await live_uid(self._client, JOBS, name, namespace) != ""}
        if going:
            self._going[namespace] = going
        return going

    async def _is_gone(self, namespace: str, name: str, listed: tuple[FoundSubmission, ...]) -> bool:
        """A live 404; or another uid under that name, the one that was listed."""
        found = await live_uid(self._client, SUBMISSIONS, name, namespace)
        return found in ("", *(submission.uid for submission in listed))

    async def _delete(self, act: DeleteLeftover) -> Result:
        job = act.job
        await self._client.delete(
            JOBS,
            job.name,
            job.namespace,
            uid=job.uid,
            resource_version=job.resource_version,
            propagation="Background",  # or its pods would run on, orphaned
        )
        return DONE


def _explain(in_the_way: Sequence[str], plan: LeftoversPlan, held: Mapping[str, str]) -> str:
    message = [f"{name} ({held.get(name) or plan.kept.get(name) or 'being deleted'})" for name in in_the_way[:3]]
    more = f" and {len(in_the_way) - 3} more" if len(in_the_way) > 3 else ""
    return f"leftover Jobs are in the way: {', '.join(message)}{more}" if message else ""


def _found_job(job: Job) -> FoundJob:
    meta = job.metadata
    owner = next((one for one in meta.owner_references if one.kind == "Submission"), None)
    ours = owner is not None and owner.api_version.startswith(names.OWN_PREFIX)
    failed, pin = find_condition(job.status.conditions, "Failed"), read_pin(job.spec.template.spec)
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
        finished=job.finished,
        ended_at=job.status.completion_time or (failed.last_transition_time if failed and job.failed else None),
        node=pin.node or pin.hostname,
    )


def _found_submission(view: Submission) -> FoundSubmission:
    meta = view.metadata
    return FoundSubmission(meta.name, meta.uid, meta.creation_timestamp, view.terminating, _read_adopts(view))


def _read_adopts(view: Submission) -> Selector | None:
    """The selector of a submission that has not ended; None without one, or if it is refused."""
    if view.spec.adopt is None or view.defects or view.status.phase in (*ENDED, Phase.REFUSED):
        return None
    try:
        return parse_selector("spec.adopt.selector", view.spec.adopt.selector)
    except InvalidInput:
        return None
