"""Leftover Jobs: Jobs whose submission is gone, and those that block the names of a new one.

The incident half-finished-submit began with such Jobs. A Job of a live submission is never touched. Jobs are listed
before submissions, so the submission of a Job made in between is seen.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from mooring.model import names
from mooring.model.adoption import DELETED, KEPT, LEFTOVER, AdoptedJob, Adoption, report_adoption
from mooring.model.proof import Proofs, by_clock, by_cluster, by_holder
from mooring.model.selector import Selector
from mooring.planning.actions import JobDelete

UNKNOWN_ORIGIN_SECONDS = 1800.0
ADOPTED_SECONDS = 60.0  # since the end of a Job of another tool: its maker may still read the result
LEFTOVER_JOBS = "leftover-jobs"


@dataclass(frozen=True, slots=True)
class FoundJob:
    """A Job as it was listed. `created_at` is None if its age cannot be read."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    labels: Mapping[str, str] = field(default_factory=dict)
    owner_name: str = ""  # of kind Submission
    owner_uid: str = ""
    owned: bool = False  # by any object
    created_at: datetime | None = None
    terminating: bool = False
    finished: bool = False
    ended_at: datetime | None = None
    node: str = ""  # the node or the hostname that it is pinned to; empty if it is not pinned

    @property
    def foreign(self) -> bool:
        """Whether another tool made it, and no owner cleans up after it."""
        return not self.owned and names.SUBMISSION not in self.labels


@dataclass(frozen=True, slots=True)
class FoundSubmission:
    """An existing submission. `adopts` selects older Jobs of other tools, as long as it has not ended."""

    name: str
    uid: str
    created_at: datetime | None = None
    terminating: bool = False
    adopts: Selector | None = None


@dataclass(frozen=True, slots=True)
class DeleteLeftover(JobDelete):
    """Delete one leftover Job, after it passed the rails."""

    invariant: ClassVar[str] = LEFTOVER_JOBS

    job: FoundJob
    reason: str
    proofs: Proofs
    age_seconds: float
    floor_seconds: float = 0.0
    adopted: str = ""  # the selector that it matches, if another tool made it

    @property
    def ripe(self) -> bool:
        """Whether it is old enough."""
        return self.age_seconds >= self.floor_seconds

    @property
    def evidence(self) -> dict[str, Any]:
        """What the audit row keeps."""
        adopted = {"adopted": self.adopted} if self.adopted else {}
        return {
            "proofs": [str(proof) for proof in self.proofs],
            "ageSeconds": round(self.age_seconds, 1),
            **adopted,
        }


@dataclass(frozen=True, slots=True)
class LeftoversSnapshot:
    """One namespace: all Jobs, then all submissions, then a live read of every owner that was not among them."""

    now: datetime
    jobs: tuple[FoundJob, ...]
    submissions: tuple[FoundSubmission, ...]
    # names of submissions that a live GET did not find, or found with another uid
    proven_gone: frozenset[str] = frozenset()
    wanted: frozenset[str] = frozenset()  # names of Jobs that are about to be created
    wanted_by: str = ""  # the uid of the submission that wants them
    stranded: frozenset[str] = frozenset()  # uids of adopted Jobs whose node is gone and of which no pod runs


@dataclass(frozen=True, slots=True)
class LeftoversPlan:
    """What to delete, what is being deleted already, and what must be kept."""

    acts: tuple[DeleteLeftover, ...]
    in_the_way: tuple[str, ...]  # wanted names that are taken by leftovers, also by terminating ones
    strangers: tuple[str, ...]  # wanted names that are taken by foreign Jobs
    kept: Mapping[str, str]  # name -> reason


def find_owners(jobs: tuple[FoundJob, ...], submissions: tuple[FoundSubmission, ...]) -> frozenset[str]:
    """Names of owners that were not listed or have another uid. Their absence still needs a live proof."""
    uids = {submission.uid for submission in submissions}
    listed = {submission.name for submission in submissions}
    absent = {job.owner_name for job in jobs if job.owner_uid and job.owner_uid not in uids}
    labelled = {job.labels[names.SUBMISSION] for job in jobs if not job.owned and names.SUBMISSION in job.labels}
    return frozenset(absent | (labelled - listed))


def plan_leftovers(snapshot: LeftoversSnapshot) -> LeftoversPlan:
    """Sort every Job by its origin."""
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
        elif wanted and not _carries_our_labels(job) and find_adopter(job, snapshot.submissions) is None:
            strangers.append(job.name)
        elif wanted:
            in_the_way.append(job.name)
            kept[job.name] = verdict
        elif verdict:
            kept[job.name] = verdict
    return LeftoversPlan(tuple(acts), tuple(in_the_way), tuple(strangers), kept)


def _classify(job: FoundJob, snapshot: LeftoversSnapshot, wanted: bool) -> DeleteLeftover | str:
    """The action, or why the Job is kept; an empty reason for a Job that does not concern us."""
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
        gone = f"no submission has that uid, and a live look found {job.owner_name} gone or made anew"
        proofs = (by_holder(f"made for the submission with uid {job.owner_uid}"), by_cluster(gone))
        return DeleteLeftover(job, f"its submission {job.owner_name} is dead", proofs, age)
    if job.owned:
        return ""
    if label:
        return _classify_labelled(job, label, named.get(label), age, snapshot)
    adopted = find_adopter(job, snapshot.submissions)
    if adopted is not None:
        return classify_adopted(job, adopted, snapshot)
    if wanted and _carries_our_labels(job):
        proofs = (by_cluster("it has our labels, no owner, and the name of a new Job"), by_clock(f"{age:.0f} s old"))
        reason = f"of unknown origin, {age:.0f} s old, in the way"
        return DeleteLeftover(job, reason, proofs, age, UNKNOWN_ORIGIN_SECONDS)
    return ""


def _classify_labelled(
    job: FoundJob, label: str, submission: FoundSubmission | None, age: float, snapshot: LeftoversSnapshot
) -> DeleteLeftover | str:
    """A Job of an earlier version: it names its submission by a label and has no owner reference."""
    if submission is None:
        if label not in snapshot.proven_gone:
            return f"the end of its submission {label} is not proven"
        gone = "no submission has that name, and a live look found it gone"
        proofs = (by_holder(f"made for the submission {label}"), by_cluster(gone))
        return DeleteLeftover(job, f"its submission {label} is dead", proofs, age)
    assert job.created_at is not None
    if submission.created_at is not None and job.created_at < submission.created_at:
        proofs = (by_cluster("it has no owner"), by_clock(f"made before the submission that is named {label} now"))
        return DeleteLeftover(job, f"left by an earlier submission named {label}", proofs, age)
    if age >= UNKNOWN_ORIGIN_SECONDS and job.name in snapshot.wanted:
        proofs = (by_cluster("it has our labels, no owner, and the name of a new Job"), by_clock(f"{age:.0f} s old"))
        return DeleteLeftover(job, "of unknown origin, in the way", proofs, age, UNKNOWN_ORIGIN_SECONDS)
    return f"it names a submission that is there ({label})"


def find_adopter(job: FoundJob, submissions: Iterable[FoundSubmission]) -> FoundSubmission | None:
    """The submission that adopts a foreign Job: it is older than the submission, and matches its selector."""
    if not job.foreign or job.created_at is None:
        return None
    for submission in submissions:
        adopts, since = submission.adopts, submission.created_at
        if adopts is None or since is None or submission.terminating or job.created_at >= since:
            continue
        if adopts.matches(job.labels):
            return submission
    return None


def classify_adopted(job: FoundJob, adopter: FoundSubmission, snapshot: LeftoversSnapshot) -> DeleteLeftover | str:
    """The action for a foreign Job, or why it is kept.

    While one of the Jobs that match runs, those that have ended stay: they may belong to the same piece of work.
    """
    assert adopter.adopts is not None
    selector, holder = adopter.adopts, by_holder(f"adopted by the submission {adopter.name}")
    if job.uid in snapshot.stranded:
        assert job.created_at is not None
        age = (snapshot.now - job.created_at).total_seconds()
        proofs = (holder, by_cluster(f"no node {job.node} exists, and no pod of it runs"))
        reason = f"adopted by {selector.text}, its node {job.node} is gone"
        return DeleteLeftover(job, reason, proofs, age, ADOPTED_SECONDS, selector.text)
    if not job.finished:
        return "it has not finished"
    if job.ended_at is None:
        return "the time of its end cannot be read"
    for other in snapshot.jobs:
        ours = bool(other.owner_uid) or names.SUBMISSION in other.labels
        runs = not ours and not other.finished and other.uid not in snapshot.stranded
        if runs and selector.matches(other.labels):
            return f"{other.name}, which {selector.text} selects too, has not finished"
    age = (snapshot.now - job.ended_at).total_seconds()
    proofs = (holder, by_cluster("it has ended, and nothing owns it"))
    return DeleteLeftover(job, f"adopted by {selector.text}, it has ended", proofs, age, ADOPTED_SECONDS, selector.text)


def report_adopted(snapshot: LeftoversSnapshot, deleted: Collection[str]) -> Adoption | None:
    """What the status of the submission that wants its Jobs says of those that its selector matches."""
    uid = snapshot.wanted_by
    adopter = next((one for one in snapshot.submissions if one.uid == uid and one.adopts is not None), None)
    if adopter is None or adopter.adopts is None:
        return None
    rows = []
    for job in snapshot.jobs:
        if not adopter.adopts.matches(job.labels) or job.owner_uid:
            continue
        if find_adopter(job, (adopter,)) is None:
            why = "a controller or a submission owns it" if not job.foreign else "it is newer than the submission"
            rows.append(AdoptedJob(job.name, job.node, KEPT, why))
            continue
        verdict = classify_adopted(job, adopter, snapshot)
        if isinstance(verdict, DeleteLeftover):
            state = DELETED if job.name in deleted else LEFTOVER
            rows.append(AdoptedJob(job.name, job.node, state, verdict.reason))
        else:
            rows.append(AdoptedJob(job.name, job.node, KEPT, verdict))
    return report_adoption(adopter.adopts.text, rows)


def _carries_our_labels(job: FoundJob) -> bool:
    ours = {key for key in job.labels if key.startswith(names.OWN_PREFIX)}
    return bool(ours) and names.DATASET not in ours
