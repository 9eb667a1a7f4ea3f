"""Trying before anything is made: the API server is asked in a dry run whether it would take the Jobs.

What it refuses would otherwise be found out after admission, one Job at a time, by a submission that holds a place.
"""

import contextlib
import hashlib
from typing import Any

from hawser.errors import AlreadyExists, KubeError, NotPermitted
from hawser.resources import CONFIGMAPS, JOBS, Resource
from mooring.controllers.submissions.inheritance import Inherited
from mooring.controllers.submissions.manifests import Body, job_manifest, scripts_manifest
from mooring.engine.context import Context
from mooring.engine.creator import REFUSALS
from mooring.kinds.views import Submission
from mooring.model.evidence import clean_line
from mooring.model.submission import NamedStep, SubmissionSpec, spec_hash, steps_of
from mooring.planning.submissions.plan import CreateJob

MOST_TRIALS = 16  # further kinds of steps are judged when they are made


class DryRun:
    """Asks once for each spec that passes; one that fails is refused, and asked about when it is sent again."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._nodes = context.nodes
        self._passed: dict[str, str] = {}  # a submission's key -> what was tried

    def forget(self, key: str) -> None:
        """The submission has ended, or is gone."""
        self._passed.pop(key, None)

    async def refusal(self, view: Submission, inherited: Inherited) -> str | None:
        """What the API server says against it; empty when it would take everything, None when that is not known."""
        tried = _fingerprint(view, inherited)
        if self._passed.get(view.metadata.key) == tried:
            return ""
        if inherited.problem != "":
            return None
        bodies = []
        for step in _unlike(view.spec):
            placed = self._nodes.place(view.spec.placement_of(step.step), view.metadata.namespace)
            if placed.problem:
                return None
            bodies.append(job_manifest(view, CreateJob(step), placed, inherited.variables))
        refusal = await self._try(view, bodies)
        if refusal == "":
            self._passed[view.metadata.key] = tried
        return refusal

    async def _try(self, view: Submission, jobs: list[Body]) -> str | None:
        namespace = view.metadata.namespace
        try:
            if view.spec.scripts:
                await self._create_dry(CONFIGMAPS, scripts_manifest(view), namespace)
            for job in jobs:
                await self._create_dry(JOBS, job, namespace)
        except (*REFUSALS, NotPermitted) as error:
            return clean_line(error.message)
        except KubeError:
            return None
        return ""

    async def _create_dry(self, resource: Resource[Any], body: Body, namespace: str) -> None:
        """A name that is taken was found after everything else was judged."""
        with contextlib.suppress(AlreadyExists):
            await self._client.create(resource, body, namespace, dry_run=True)


def _unlike(spec: SubmissionSpec) -> tuple[NamedStep, ...]:
    """One step of each kind: arguments and literal values cannot make a Job invalid."""
    seen: dict[str, NamedStep] = {}
    for step in steps_of(spec):
        references = [variable for variable in step.step.env if variable.value_from is not None]
        seen.setdefault(repr((references, step.step.placement)), step)
        if len(seen) >= MOST_TRIALS:
            break
    return tuple(seen.values())


def _fingerprint(view: Submission, inherited: Inherited) -> str:
    text = repr((view.metadata.uid, spec_hash(view.spec), inherited))
    return hashlib.sha256(text.encode()).hexdigest()
