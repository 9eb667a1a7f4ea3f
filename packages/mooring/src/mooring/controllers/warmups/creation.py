"""Making warm Jobs and the script they run. Made twice is made once: the name is the shard, the hash is the order."""

from collections.abc import Sequence
from dataclasses import replace

import structlog

from hawser.errors import AlreadyExists, KubeError
from hawser.resources import CONFIGMAPS, JOBS
from hawser.views import Job
from mooring.controllers.warmups.informer import WarmupInformer
from mooring.controllers.warmups.manifests import SCRIPTS_NAME, job_manifest, script_data, scripts_manifest
from mooring.controllers.warmups.metrics import WARM_JOBS_CREATED
from mooring.controllers.warmups.refusals import explain_refusal
from mooring.controllers.warmups.translation import job_from_view
from mooring.engine.context import Context
from mooring.engine.creator import Creator, NameTaken
from mooring.engine.expectations import Expectations
from mooring.model import names
from mooring.model.warm_job import Refusal, WarmJob
from mooring.model.warmup import Warmup
from mooring.planning.warmups.nodes import NodeSurvey
from mooring.planning.warmups.plan import CreateJob

log = structlog.get_logger()


class WarmCreation:
    """Carries out `CreateJob`. What it remembers may be lost: then it is tried, and answered, again."""

    def __init__(self, context: Context, informer: WarmupInformer) -> None:
        self._client = context.client
        self._informer = informer
        self._creator = Creator(context.client, context.clock, context.entropy, attempts=1)
        self._expectations: Expectations[WarmJob] = Expectations(context.clock, context.timeouts.overlay_expiry)
        self._refused: dict[str, dict[str, tuple[int, Refusal]]] = {}  # by Warmup and Job; for which generation of it

    def jobs(self, warmup: Warmup) -> tuple[tuple[WarmJob, ...], dict[str, str]]:
        """All Jobs of the dataset by name, own writes that the watch has not shown yet included; and names that Jobs
        without our label hold, each with what to do about it."""
        cached = self._informer.jobs(warmup)
        present = {word for job in cached for word in (job.name, job.uid)}
        unseen = self._expectations.unseen(warmup.key, present, self._informer.job_version)
        known = [replace(job, deleting=True) if job.uid in unseen.deleting else job for job in cached]
        made = [job for job in unseen.creating.values() if job is not None]
        taken = {
            name: f"a Job {name} that Mooring did not make holds the name: delete or rename it" for name in unseen.taken
        }
        return tuple(sorted((*known, *made), key=lambda job: job.name)), taken

    def deleted(self, warmup: Warmup, job: WarmJob) -> None:
        """The delete was accepted: the Job does not count any more, but its name is not free yet."""
        self._expectations.deleted(warmup.key, job.uid)

    def refused(self, warmup: Warmup) -> dict[str, Refusal]:
        """Names of Jobs that the cluster would not make as the Warmup is now, each with its answer."""
        answers = self._refused.get(warmup.key, {})
        return {name: refusal for name, (generation, refusal) in answers.items() if generation == warmup.generation}

    def forget(self, key: str) -> None:
        """The Warmup is gone."""
        self._refused.pop(key, None)
        self._expectations.forget(key)

    async def create_all(self, warmup: Warmup, creates: Sequence[CreateJob], survey: NodeSurvey) -> None:
        """Make the Jobs, each tried whatever became of the one before. Raises what went wrong first."""
        before = self._refused.pop(warmup.key, {})
        answers: dict[str, KubeError] = {}
        try:
            await self.ensure_scripts(warmup.namespace)
        except KubeError as error:
            answers = {create.name: error for create in creates}
        for create in creates:
            if create.name not in answers:
                try:
                    await self._create(warmup, create, survey)
                except KubeError as error:
                    answers[create.name] = error
        for name, answer in answers.items():
            refusal = explain_refusal(answer)
            if before.get(name) != (warmup.generation, refusal):
                log.warning("a warm Job could not be made", warmup=warmup.key, job=name, error=answer.message)
            self._refused.setdefault(warmup.key, {})[name] = (warmup.generation, refusal)
        if answers:
            raise next(iter(answers.values()))

    async def ensure_scripts(self, namespace: str) -> None:
        """The ConfigMap as it has to be, made or repaired."""
        held = self._informer.scripts(namespace, SCRIPTS_NAME)
        if held is not None and held.data == script_data():
            return
        body = scripts_manifest(namespace)
        try:
            # Jobs mount it by its name: one that a stranger made is repaired like our own.
            _, fresh = await self._creator.create(CONFIGMAPS, body, namespace, lambda _: True)
        except NameTaken:
            fresh = False  # it is being deleted; with our label on it, the watch shows when it is gone
        if fresh:
            return
        # Keys that others added go, too: a merge-patch alone would leave them.
        found = await self._client.get(CONFIGMAPS, SCRIPTS_NAME, namespace)
        strange = dict.fromkeys(found.data.keys() - script_data().keys())
        metadata = {"resourceVersion": found.metadata.resource_version, "labels": body["metadata"]["labels"]}
        patch = {"metadata": metadata, "data": {**strange, **body["data"]}}
        await self._client.merge_patch(CONFIGMAPS, SCRIPTS_NAME, patch, namespace)
        log.warning("scripts repaired", namespace=namespace)

    async def _create(self, warmup: Warmup, create: CreateJob, survey: NodeSurvey) -> None:
        """Make one Job; one of the same order that is there already is ours."""
        body = job_manifest(warmup, create, survey.placed)
        try:
            job, fresh = await self._creator.create(
                JOBS, body, warmup.namespace, lambda found: _is_ours(found, warmup, create)
            )
        except NameTaken as taken:
            # One with our label is seen by the watch, and judged there.
            if names.DATASET not in taken.found.metadata.labels:
                self._expectations.taken(warmup.key, create.name)
            return
        except AlreadyExists:
            return  # and gone again in the meantime: the next pass decides anew
        if fresh:
            WARM_JOBS_CREATED.inc()
        made = job_from_view(job)
        self._expectations.created(warmup.key, made.name, int(made.resource_version), made)


def _is_ours(job: Job, warmup: Warmup, create: CreateJob) -> bool:
    controller = job.metadata.controller
    same = job.metadata.annotations.get(names.SPEC_HASH) == create.order.spec_hash
    return controller is not None and controller.uid == warmup.uid and same
