"""Deleting Jobs of a live submission: as its owner asked, or because the node they wait for is gone."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from mooring.clock import Clock
from mooring.control.auditing import DONE, Auditor, Result
from mooring.kube.client import KubeClient
from mooring.kube.resources import JOBS
from mooring.kube.views import Submission
from mooring.model.audit import Subject
from mooring.planning.rails import apply_rails
from mooring.planning.submissions.leftovers import LEFTOVER_JOBS
from mooring.planning.submissions.steps import ReplaceJob, SeenJob, StopJob


class JobStopping:
    """Every delete has its audit row and both preconditions."""

    def __init__(self, client: KubeClient, auditor: Auditor, why_paused: Callable[[str], str], clock: Clock) -> None:
        self._client = client
        self._auditor = auditor
        self._why_paused = why_paused
        self._clock = clock
        self._sightings: dict[str, Mapping[str, datetime]] = {}

    def forget(self, uid: str) -> None:
        """The submission has ended, or is gone."""
        self._sightings.pop(uid, None)

    async def stop(self, view: Submission, stops: Sequence[StopJob]) -> None:
        """What somebody asked for needs no second tick."""
        for stop in stops:
            await self._delete(view, stop.job, "cancel", stop.reason, {"step": stop.step})

    async def replace(self, view: Submission, replaces: Sequence[ReplaceJob]) -> None:
        """Within the rails: two proofs, two ticks, an age floor, a cap, the kill switch."""
        paused = self._why_paused(LEFTOVER_JOBS)
        uid = view.metadata.uid
        brakes = (f"paused: {paused}",) if paused else ()
        verdict = apply_rails(replaces, self._sightings.get(uid, {}), self._clock.now(), brakes)
        self._sightings[uid] = verdict.sightings
        for act in verdict.allowed:
            evidence: dict[str, Any] = {"step": act.step, "proofs": list(act.proofs)}
            await self._delete(view, act.job, f"invariant/{LEFTOVER_JOBS}", "the node it waits for is gone", evidence)

    async def _delete(self, view: Submission, job: SeenJob, actor: str, reason: str, evidence: dict[str, Any]) -> None:
        namespace = view.metadata.namespace

        async def delete() -> Result:
            await self._client.delete(
                JOBS, job.name, namespace, uid=job.uid, resource_version=job.resource_version, propagation="Background"
            )
            return DONE

        await self._auditor.carry_out(
            delete,
            actor=actor,
            action="delete",
            subject=Subject("Job", namespace, job.name, job.uid),
            reason=reason,
            evidence=evidence,
        )
