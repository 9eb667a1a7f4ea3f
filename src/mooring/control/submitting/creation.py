"""Making the Jobs of steps: a slow start, then many side by side; each exactly once, known again by owner and hash."""

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog

from mooring.clock import Clock, Entropy
from mooring.control.fleet import Fleet
from mooring.control.metrics import SUBMISSION_JOBS_CREATED
from mooring.control.submitting.inheritance import Inherited
from mooring.control.submitting.manifests import job_manifest, scripts_manifest
from mooring.control.submitting.seeing import is_own
from mooring.control.submitting.watch import SubmissionWatch
from mooring.control.submitting.writing import REFUSALS, Creator, InTheWay
from mooring.kube.client import KubeClient
from mooring.kube.errors import ObjectInvalid
from mooring.kube.resources import CONFIGMAPS, JOBS
from mooring.kube.views import ConfigMap, OwnerReference, Submission
from mooring.model import names
from mooring.model.errors import MooringError
from mooring.model.evidence import clean_line
from mooring.model.submission import scripts_name
from mooring.planning.submissions.steps import CreateJob

log = structlog.get_logger()

SIDE_BY_SIDE = 32


class JobCreation:
    """Remembers what it made until the cache shows it (rule 16)."""

    def __init__(
        self, client: KubeClient, fleet: Fleet, watch: SubmissionWatch, clock: Clock, entropy: Entropy
    ) -> None:
        self._client = client
        self._fleet = fleet
        self._watch = watch
        self._creator = Creator(client, clock, entropy)
        self._made: dict[str, dict[str, int]] = {}  # submission uid -> step -> the Job's version

    def in_flight(self, view: Submission, seen: Sequence[str]) -> frozenset[str]:
        """Steps whose Job was made here and cannot be seen yet."""
        made = self._made.get(view.metadata.uid, {})
        version = self._watch.job_version
        for step in [step for step, made_at in made.items() if step in seen or made_at <= version]:
            del made[step]
        return frozenset(made)

    def forget(self, uid: str) -> None:
        """The submission has ended, or is gone."""
        self._made.pop(uid, None)

    async def create(self, view: Submission, creates: Sequence[CreateJob], inherited: Inherited) -> dict[str, str]:
        """All of them, or as many as go before the first failure, which is raised.

        Answers which steps the API server will never take, in its words: to try again would not help.
        """
        queue, side_by_side = list(creates), 1
        refused: dict[str, str] = {}
        while queue:
            current, queue = queue[:side_by_side], queue[side_by_side:]
            outcomes = await asyncio.gather(
                *(self._create(view, one, inherited) for one in current), return_exceptions=True
            )
            for one, outcome in zip(current, outcomes, strict=True):
                if isinstance(outcome, REFUSALS):
                    refused[one.step.name] = clean_line(outcome.message)
                elif isinstance(outcome, BaseException):
                    raise outcome
            side_by_side = min(side_by_side * 2, SIDE_BY_SIDE)
        return refused

    async def _create(self, view: Submission, create: CreateJob, inherited: Inherited) -> None:
        placed = self._fleet.place(create.step.step.placement or view.spec.placement, view.metadata.namespace)
        if placed.problem:
            raise MooringError(placed.problem, fix=placed.fix)
        body = job_manifest(view, create, placed, inherited.variables)
        job, fresh = await self._creator.create(JOBS, body, view.metadata.namespace, lambda found: is_own(view, found))
        if fresh:
            SUBMISSION_JOBS_CREATED.labels(view.metadata.namespace).inc()
        self._made.setdefault(view.metadata.uid, {})[create.step.name] = int(job.metadata.resource_version)

    async def keep_scripts(self, view: Submission) -> None:
        """The submission's own ConfigMap is there as it was made, whatever somebody deleted or edited."""
        if not view.spec.scripts:
            return
        name, namespace = scripts_name(view.spec.key), view.metadata.namespace
        held = self._watch.config_map(namespace, name)
        if held is None or held.terminating or not _owned(view, held.metadata.owner_references):
            held, _ = await self._creator.create(
                CONFIGMAPS,
                scripts_manifest(view),
                namespace,
                lambda found: _owned(view, found.metadata.owner_references),
            )
        labelled = held.metadata.labels.get(names.SUBMISSION) == view.metadata.name
        if held.data != view.spec.scripts or not labelled:
            await self._set_right(view, held)

    async def _set_right(self, view: Submission, held: ConfigMap) -> None:
        """Unless it changed again since it was read: then the next look decides."""
        meta, wanted = held.metadata, view.spec.scripts
        patch: dict[str, Any] = {
            "metadata": {"resourceVersion": meta.resource_version, "labels": {names.SUBMISSION: view.metadata.name}},
            "data": {**dict.fromkeys(held.data.keys() - wanted.keys()), **wanted},
        }
        log.warning("edited scripts are set right", submission=view.metadata.key, config_map=meta.name)
        try:
            await self._client.merge_patch(CONFIGMAPS, meta.name, patch, meta.namespace)
        except ObjectInvalid as error:  # somebody made it immutable as well
            raise InTheWay(held, CONFIGMAPS.kind) from error


def _owned(view: Submission, owners: Sequence[OwnerReference]) -> bool:
    return any(owner.uid == view.metadata.uid for owner in owners)
