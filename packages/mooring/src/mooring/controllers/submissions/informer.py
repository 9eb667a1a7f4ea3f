"""What the cluster shows of submissions: the objects, their Jobs, pods and ConfigMaps."""

from collections.abc import Iterator
from typing import Any

from hawser.cache import Change
from hawser.resources import CONFIGMAPS, JOBS, PODS
from hawser.views import ConfigMap, Job, Object, Pod
from mooring.engine.context import Context
from mooring.engine.informer import Informer
from mooring.kinds.resources import SUBMISSIONS
from mooring.kinds.views import Submission
from mooring.model.names import SUBMISSION
from mooring.model.submission import ENDED

JOB_NAME = "batch.kubernetes.io/job-name"
_OF_SUBMISSION, _OF_JOB = "submission", "job"


class SubmissionInformer(Informer):
    """Four caches. Jobs, pods and ConfigMaps are distinguished by the label that names their submission."""

    def __init__(self, context: Context) -> None:
        super().__init__(context.client, context.clock, context.entropy)
        by_submission, by_job = {_OF_SUBMISSION: submission_keys}, {_OF_JOB: _job_keys}
        self._submissions = self.reflect("submissions", SUBMISSIONS)
        self._jobs = self.reflect("submission-jobs", JOBS, label_selector=SUBMISSION, indexes=by_submission)
        self._pods = self.reflect("submission-pods", PODS, label_selector=SUBMISSION, indexes=by_job)
        self._config_maps = self.reflect("submission-configmaps", CONFIGMAPS, label_selector=SUBMISSION)
        self._submissions.subscribe(self._on_submission)
        for owned in (self._jobs, self._pods, self._config_maps):
            owned.subscribe(self._on_owned)

    def submission(self, key: str) -> Submission | None:
        namespace, _, name = key.partition("/")
        return self._submissions.cache.get(namespace, name)

    def runs(self, key: str) -> bool:
        """Whether it is there, and has not ended as far as the cluster shows."""
        view = self.submission(key)
        return view is not None and not view.terminating and view.status.phase not in ENDED

    @property
    def submissions(self) -> tuple[Submission, ...]:
        return self._submissions.cache.values()

    def jobs(self, key: str) -> tuple[Job, ...]:
        """The Jobs that name this submission."""
        return self._jobs.cache.by_index(_OF_SUBMISSION, key)

    @property
    def all_jobs(self) -> tuple[Job, ...]:
        return self._jobs.cache.values()

    @property
    def job_version(self) -> int:
        """How new the view of Jobs is."""
        return self._jobs.version

    def pods(self, namespace: str, job: str) -> tuple[Pod, ...]:
        """The pods of one Job."""
        return self._pods.cache.by_index(_OF_JOB, f"{namespace}/{job}")

    def config_map(self, namespace: str, name: str) -> ConfigMap | None:
        """A ConfigMap that a submission owns."""
        return self._config_maps.cache.get(namespace, name)

    def _on_submission(self, change: Change[Submission]) -> None:
        self._notify("submission", change.latest.metadata.key)

    def _on_owned(self, change: Change[Any]) -> None:
        for key in submission_keys(change.latest):
            self._notify("submission", key)


def submission_keys(view: Object) -> Iterator[str]:
    """The key of the submission that an object names."""
    if name := view.metadata.labels.get(SUBMISSION):
        yield f"{view.metadata.namespace}/{name}"


def _job_keys(pod: Pod) -> Iterator[str]:
    if name := pod.metadata.labels.get(JOB_NAME):
        yield f"{pod.metadata.namespace}/{name}"
