"""Leftover Jobs: whose submission is dead, and which of them stand in the way of a new one (half-finished-submit).

A Job of a live submission is never touched. Jobs are listed before submissions: one made in between belongs to a
submission that is then seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mooring.model import names

UNKNOWN_ORIGIN_SECONDS = 1800.0
LEFTOVER_JOBS = "leftover-jobs"


@dataclass(frozen=True, slots=True)
class FoundJob:
    """A Job as it was listed. `created_at` None: its age cannot be read."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    labels: Mapping[str, str] = field(default_factory=dict)
    owner_name: str = ""  # of kind Submission
    owner_uid: str = ""
    owned: bool = False  # by anything at all
    created_at: datetime | None = None
    terminating: bool = False


@dataclass(frozen=True, slots=True)
class FoundSubmission:
    """A submission that exists."""

    name: str
    uid: str
    created_at: datetime | None = None
    terminating: bool = False


@dataclass(frozen=True, slots=True)
class DeleteLeftover:
    """One destructive act, ready for the rails."""

    job: FoundJob
    reason: str
    proofs: tuple[str, str]
    age_seconds: float
    floor_seconds: float = 0.0

    @property
    def key(self) -> str:
        return f"{LEFTOVER_JOBS}/{self.job.uid}"


@dataclass(frozen=True, slots=True)
class LeftoversSnapshot:
    """One namespace: all Jobs, then all submissions, then a live look at every owner that was not among them."""

    now: datetime
    jobs: tuple[FoundJob, ...]
    submissions: tuple[FoundSubmission, ...]
    proven_gone: frozenset[str] = frozenset()  # names of submissions that a live GET did not find (or found reborn)
    wanted: frozenset[str] = frozenset()  # names of Jobs that somebody is about to make
    wanted_by: str = ""  # the uid of the submission that wants them


@dataclass(frozen=True, slots=True)
class LeftoversPlan:
    """What to delete, what is going already, and what must be left alone."""

    acts: tuple[DeleteLeftover, ...]
    in_the_way: tuple[str, ...]  # wanted names that are taken by leftovers, going or not
    strangers: tuple[str, ...]  # wanted names that are taken by Jobs of nobody we know
    kept: Mapping[str, str]  # name -> why


def find_owners(jobs: tuple[FoundJob, ...], submissions: tuple[FoundSubmission, ...]) -> frozenset[str]:
    """Names of owners that were not listed (or have another uid): their absence still needs a live proof."""
    uids = {submission.uid for submission in submissions}
    listed = {submission.name for submission in submissions}
    absent = {job.owner_name for job in jobs if job.owner_uid and job.owner_uid not in uids}
    labelled = {job.labels[names.SUBMISSION] for job in jobs if not job.owned and names.SUBMISSION in job.labels}
    return frozenset(absent | (labelled - listed))


def plan_leftovers(snapshot: LeftoversSnapshot) -> LeftoversPlan:
    """Sort every Job by what is known of its origin."""
    acts: list[DeleteLeftover] = []
    in_the_way: list[str] = []
    strangers: list[str] = []
    kept: dict[str, str] = {}
    for job in snapshot.jobs:
        wanted = job.name in snapshot.wanted and job.owner_uid != snapshot.wanted_by
        verdict = _classify(job, snapshot, wanted)
        if isinstance(verdict, DeleteLeftover):
            if wanted:
                in_the_way.append(job.name)
            if not job.terminating:
                acts.append(verdict)
        elif wanted and not _carries_our_labels(job):
            strangers.append(job.name)
        elif wanted:
            in_the_way.append(job.name)
            kept[job.name] = verdict
        elif verdict:
            kept[job.name] = verdict
    return LeftoversPlan(tuple(acts), tuple(in_the_way), tuple(strangers), kept)


def _classify(job: FoundJob, snapshot: LeftoversSnapshot, wanted: bool) -> DeleteLeftover | str:
    """The act, or why the Job stays; an empty reason for Jobs that are none of our business."""
    live = {submission.uid: submission for submission in snapshot.submissions}
    named = {submission.name: submission for submission in snapshot.submissions}
    label = job.labels.get(names.SUBMISSION, "")
    if job.owner_uid in live:
        return "its submission is there"
    if job.created_at is None:
        return "its age cannot be read" if job.owner_uid or label or wanted else ""
    age = (snapshot.now - job.created_at).total_seconds()
    if job.owner_uid:
        if job.owner_name not in snapshot.proven_gone:
            return f"the end of its submission {job.owner_name} is not proven"
        proofs = (f"no submission has the uid {job.owner_uid}", f"a live look found {job.owner_name} gone or reborn")
        return DeleteLeftover(job, f"its submission {job.owner_name} is dead", proofs, age)
    if job.owned:
        return ""
    if label:
        return _classify_labelled(job, label, named.get(label), age, snapshot)
    if wanted and _carries_our_labels(job):
        proofs = ("it carries our labels and no owner", f"it is {age:.0f} s old and has the name of a new Job")
        reason = f"of unknown origin, {age:.0f} s old, in the way"
        return DeleteLeftover(job, reason, proofs, age, UNKNOWN_ORIGIN_SECONDS)
    return ""


def _classify_labelled(
    job: FoundJob, label: str, submission: FoundSubmission | None, age: float, snapshot: LeftoversSnapshot
) -> DeleteLeftover | str:
    """A Job of an earlier version: it names its submission by a label, and has no owner reference."""
    if submission is None:
        if label not in snapshot.proven_gone:
            return f"the end of its submission {label} is not proven"
        proofs = (f"no submission is named {label}", f"a live look found {label} gone")
        return DeleteLeftover(job, f"its submission {label} is dead", proofs, age)
    assert job.created_at is not None
    if submission.created_at is not None and job.created_at < submission.created_at:
        proofs = ("it has no owner", f"it was made before the submission that is named {label} now")
        return DeleteLeftover(job, f"left by an earlier submission named {label}", proofs, age)
    if age >= UNKNOWN_ORIGIN_SECONDS and job.name in snapshot.wanted:
        proofs = ("it carries our labels and no owner", f"it is {age:.0f} s old and has the name of a new Job")
        return DeleteLeftover(job, "of unknown origin, in the way", proofs, age, UNKNOWN_ORIGIN_SECONDS)
    return f"it names a submission that is there ({label})"


def _carries_our_labels(job: FoundJob) -> bool:
    ours = {key for key in job.labels if key.startswith(names.OWN_PREFIX)}
    return bool(ours) and names.DATASET not in ours
