"""Making warm Jobs and the script they run. Made twice is made once: the name is the shard, the hash is the order."""

from collections.abc import Sequence
from datetime import timedelta

import structlog

from mooring.clock import Clock
from mooring.control.metrics import WARM_JOBS_CREATED
from mooring.control.warming.manifests import SCRIPTS_NAME, job_manifest, script_data, scripts_manifest
from mooring.control.warming.refusals import explain_refusal
from mooring.control.warming.watch import WarmupWatch
from mooring.kube.client import KubeClient
from mooring.kube.errors import AlreadyExists, ConnectionFailed, KubeError, ObjectNotFound, ServerFailed
from mooring.kube.resources import CONFIGMAPS, JOBS
from mooring.kube.views import Job
from mooring.model import names
from mooring.model.warm_job import Refusal
from mooring.model.warmup import Warmup
from mooring.planning.warmups.nodes import Ground
from mooring.planning.warmups.plan import CreateJob

log = structlog.get_logger()

_TAKEN_FOR = timedelta(minutes=5).total_seconds()


class WarmCreation:
    """Carries out `CreateJob`. What it remembers may be lost: then it is tried, and answered, again."""

    def __init__(self, client: KubeClient, watch: WarmupWatch, clock: Clock) -> None:
        self._client = client
        self._watch = watch
        self._clock = clock
        self._taken: dict[tuple[str, str], float] = {}  # namespace and name -> until when it is not tried again
        self._refused: dict[str, dict[str, tuple[int, Refusal]]] = {}  # by Warmup and Job; for which generation of it

    def taken(self, namespace: str) -> dict[str, str]:
        """Names that Jobs without our label hold, each with what to do about it."""
        now = self._clock.monotonic()
        self._taken = {held: until for held, until in self._taken.items() if until > now}
        return {
            name: f"a Job {name} that Mooring did not make holds the name: delete or rename it"
            for place, name in self._taken
            if place == namespace
        }

    def refused(self, warmup: Warmup) -> dict[str, Refusal]:
        """Names of Jobs that the cluster would not make as the Warmup is now, each with its answer."""
        answers = self._refused.get(warmup.key, {})
        return {name: refusal for name, (generation, refusal) in answers.items() if generation == warmup.generation}

    def forget(self, key: str) -> None:
        """The Warmup is gone."""
        self._refused.pop(key, None)

    async def create_all(self, warmup: Warmup, creates: Sequence[CreateJob], ground: Ground) -> None:
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
                    await self._create(warmup, create, ground)
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
        held = self._watch.scripts(namespace, SCRIPTS_NAME)
        if held is not None and held.data == script_data():
            return
        body = scripts_manifest(namespace)
        try:
            await self._client.create(CONFIGMAPS, body, namespace)
        except AlreadyExists:
            # Keys that others added go, too: a merge-patch alone would leave them.
            found = await self._client.get(CONFIGMAPS, SCRIPTS_NAME, namespace)
            strange = dict.fromkeys(found.data.keys() - script_data().keys())
            patch = {"metadata": {"labels": body["metadata"]["labels"]}, "data": {**strange, **body["data"]}}
            await self._client.merge_patch(CONFIGMAPS, SCRIPTS_NAME, patch, namespace)
            log.warning("scripts repaired", namespace=namespace)

    async def _create(self, warmup: Warmup, create: CreateJob, ground: Ground) -> None:
        """Make one Job; an answer that was lost is read back."""
        body = job_manifest(warmup, create, ground.placed)
        try:
            job = await self._client.create(JOBS, body, warmup.namespace)
        except AlreadyExists:
            await self._inspect(warmup, create)
            return
        except (ConnectionFailed, ServerFailed) as error:
            if not await self._inspect(warmup, create):
                raise error from None
            return
        WARM_JOBS_CREATED.inc()
        self._watch.expect_job(job)

    async def _inspect(self, warmup: Warmup, create: CreateJob) -> bool:
        """The name is taken, or may be: by our own Job, unseen so far, or by a stranger's?"""
        try:
            job = await self._client.get(JOBS, create.name, warmup.namespace)
        except ObjectNotFound:
            return False
        if _is_ours(job, warmup, create):
            self._watch.expect_job(job)
            return True
        if names.DATASET not in job.metadata.labels:
            self._taken[warmup.namespace, create.name] = self._clock.monotonic() + _TAKEN_FOR
        return False  # one with our label is seen by the watch, and judged there


def _is_ours(job: Job, warmup: Warmup, create: CreateJob) -> bool:
    controller = job.metadata.controller
    same = job.metadata.annotations.get(names.SPEC_HASH) == create.order.spec_hash
    return controller is not None and controller.uid == warmup.uid and same and not job.terminating
