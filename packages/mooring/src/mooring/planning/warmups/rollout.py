"""Which stale Jobs to release now: lost ones at once, outdated ones shard by shard.

A complete Job of an old order still serves its shard. It is released when the previous shard is warm again, and only if
its shard can be fetched again. A rollout never lowers the number of warm shards below the current one.
"""

from collections.abc import Collection
from dataclasses import dataclass

from mooring.model.warm_job import WarmJob
from mooring.planning.warmups.assignment import Assignment
from mooring.planning.warmups.nodes import NodeSurvey
from mooring.planning.warmups.staleness import ROLLED, Order, ReleaseJob, SortedJobs, Staleness

# released only to make room for the Job that replaces it
_MAKES_ROOM = frozenset({Staleness.FAILED, Staleness.NODE_LEFT, Staleness.TEMPLATE_OLD})


@dataclass(frozen=True, slots=True)
class Roll:
    """What the release of a Job that still serves depends on."""

    survey: NodeSurvey
    assignment: Assignment
    order: Order
    own: Collection[WarmJob]
    present: Collection[str]  # names that are in use
    held_because: str  # why no Job may be created now; empty if Jobs may be created

    def stays_because(self, release: ReleaseJob) -> str:
        """Why a stale Job that still serves must be kept for now; empty if it may be released."""
        if not _still_serves(release):
            return ""
        return self.held_because or self._without_place(release.job)

    def _without_place(self, job: WarmJob) -> str:
        shard = self.order.names.get(job.name)
        if shard is None:
            return ""  # nothing replaces it
        home = self.assignment.homes.get(shard)
        if home is None:
            return "no node is free for its shard"
        if home.uid in self.survey.open_uids:
            return ""
        if home.uid not in self.survey.unfit_since and self.assignment.spare:
            return ""
        return f"{home.name} takes nothing now, and no other node is free"

    @property
    def under_way(self) -> bool:
        """Whether a shard is between two Jobs, or its Job has not finished."""
        homes = self.assignment.homes
        missing = any(shard in homes and name not in self.present for name, shard in self.order.names.items())
        return missing or any(job.deleting or not job.finished for job in self.own)


def plan_releases(found: SortedJobs, roll: Roll) -> tuple[ReleaseJob, ...]:
    """The stale Jobs to release now."""
    at_once: list[ReleaseJob] = []
    rolled: list[ReleaseJob] = []
    for release in found.stale:
        if _still_serves(release):
            if not roll.stays_because(release):
                rolled.append(release)
        elif not (roll.held_because and release.staleness in _MAKES_ROOM):
            at_once.append(release)
    if rolled and not at_once and not roll.under_way:
        at_once.append(min(rolled, key=lambda release: release.job.name))
    return tuple(at_once)


def _still_serves(release: ReleaseJob) -> bool:
    return release.staleness in ROLLED and release.job.complete
