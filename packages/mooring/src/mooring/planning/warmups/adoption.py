"""Adopted warm Jobs: made by other tools, selected by `spec.adopt`, and released like our own when their node is gone.

A foreign Job that may run, or that a controller manages, is never touched. Nothing proves which generation the data of
a foreign Job has, so it never counts as warm.
"""

from dataclasses import dataclass

from mooring.model.adoption import KEPT, LEFTOVER, AdoptedJob, Adoption, report_adoption
from mooring.model.warm_job import WarmJob
from mooring.planning.warmups.nodes import NodeSurvey
from mooring.planning.warmups.staleness import SortedJobs, resolve_node


@dataclass(frozen=True, slots=True)
class AdoptedJobs:
    """The Jobs that match the selector, as listed. Without a selector nothing is adopted."""

    selector: str = ""
    jobs: tuple[WarmJob, ...] = ()
    error: str = ""  # why they could not be listed


NONE_ADOPTED = AdoptedJobs()


def sort_adopted(jobs: tuple[WarmJob, ...], survey: NodeSurvey) -> tuple[tuple[WarmJob, ...], dict[str, str]]:
    """Jobs that may be judged like our own, and by name why the others may not."""
    eligible: list[WarmJob] = []
    barred: dict[str, str] = {}
    for job in jobs:
        why = _barred_because(job, survey)
        if why:
            barred[job.name] = why
        else:
            eligible.append(job)
    return tuple(eligible), barred


def describe_adoption(adopted: AdoptedJobs, found: SortedJobs, survey: NodeSurvey) -> Adoption | None:
    """What the status says of every Job that matches."""
    if not adopted.selector:
        return None
    stale = {release.job.uid: release.reason for release in found.stale}
    rows = []
    for job in adopted.jobs:
        node = job.node or job.hostname
        if job.uid in stale:
            rows.append(AdoptedJob(job.name, node, LEFTOVER, stale[job.uid]))
        else:
            why = _barred_because(job, survey) or (
                "its node exists; its data does not count as warm, as nothing proves its generation"
            )
            rows.append(AdoptedJob(job.name, node, KEPT, why))
    return report_adoption(adopted.selector, rows, adopted.error)


def _barred_because(job: WarmJob, survey: NodeSurvey) -> str:
    """Why a foreign Job must not be touched; empty if it may be judged."""
    if job.deleting:
        return "it is being deleted"
    if job.owner:
        return f"{job.owner} manages it"
    if not job.node and not job.hostname:
        return "it is not pinned to a node"
    if not job.finished and resolve_node(job, survey).node in survey.nodes:
        return "it has not finished, and its node exists"
    return ""
