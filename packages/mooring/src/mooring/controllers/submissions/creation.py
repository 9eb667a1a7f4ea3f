"""Making the Jobs of steps: a slow start, then many side by side; each exactly once, known again by owner and hash."""

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog

from hawser.errors import ObjectInvalid
from hawser.resources import CONFIGMAPS, JOBS
from hawser.views import ConfigMap, OwnerReference
from mooring.controllers.submissions.informer import SubmissionInformer
from mooring.controllers.submissions.inheritance import Inherited
from mooring.controllers.submissions.jobs import is_own
from mooring.controllers.submissions.manifests import job_manifest, scripts_manifest
from mooring.controllers.submissions.metrics import SUBMISSION_JOBS_CREATED
from mooring.engine.context import Context
from mooring.engine.creator import REFUSALS, Creator, NameTaken
from mooring.engine.expectations import Expectations
from mooring.kinds.views import Submission
from mooring.model import names
from mooring.model.errors import MooringError
from mooring.model.evidence import clean_line
from mooring.model.submission import scripts_name
from mooring.planning.submissions.plan import CreateJob

log = structlog.get_logger()

SIDE_BY_SIDE = 32


class JobCreation:
    """Remembers what it made until the cache shows it."""

    def __init__(self, context: Context, informer: SubmissionInformer) -> None:
        self._client = context.client
        self._nodes = context.nodes
        self._informer = informer
        self._creator = Creator(context.client, context.clock, context.entropy)
        self._expectations: Expectations[None] = Expectations(context.clock, context.timeouts.overlay_expiry)

    def in_flight(self, view: Submission, seen: Sequence[str]) -> frozenset[str]:
        """Steps whose Job was made here and cannot be seen yet."""
        return frozenset(self._expectations.unseen(view.metadata.uid, seen, self._informer.job_version).creating)

    def forget(self, uid: str) -> None:
        """The submission has ended, or is gone."""
        self._expectations.forget(uid)

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
        placed = self._nodes.place(view.spec.placement_of(create.step.step), view.metadata.namespace)
        if placed.problem:
            raise MooringError(placed.problem, fix=placed.fix)
        body = job_manifest(view, create, placed, inherited.variables)
        job, fresh = await self._creator.create(JOBS, body, view.metadata.namespace, lambda found: is_own(view, found))
        if fresh:
            SUBMISSION_JOBS_CREATED.labels(view.metadata.namespace).inc()
        self._expectations.created(view.metadata.uid, create.step.name, job.metadata.version)

    async def keep_scripts(self, view: Submission) -> None:
        """The submission's own ConfigMap is there as it was made, whatever somebody deleted or edited."""
        if not view.spec.scripts:
            return
        name, namespace = scripts_name(view.spec.key), view.metadata.namespace
        held = self._informer.config_map(namespace, name)
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
            raise NameTaken(held, CONFIGMAPS.kind) from error


def _owned(view: Submission, owners: Sequence[OwnerReference]) -> bool:
    return any(owner.uid == view.metadata.uid for owner in owners)
