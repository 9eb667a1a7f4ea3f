"""What the cluster shows of submissions: the objects, their Jobs, pods and ConfigMaps."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from mooring.clock import Clock, Entropy
from mooring.control.part import OnChange
from mooring.kube.cache import Change
from mooring.kube.client import KubeClient
from mooring.kube.reflector import Reflector
from mooring.kube.resources import CONFIGMAPS, JOBS, PODS, SUBMISSIONS
from mooring.kube.views import ConfigMap, Job, Object, Pod, Submission
from mooring.model.names import SUBMISSION

JOB_NAME = "batch.kubernetes.io/job-name"
_OF_SUBMISSION, _OF_JOB = "submission", "job"


class SubmissionWatch:
    """Four caches. Jobs, pods and ConfigMaps are told apart by the label that names their submission."""

    def __init__(self, client: KubeClient, clock: Clock, entropy: Entropy) -> None:
        self._submissions = Reflector(client, SUBMISSIONS, clock=clock, entropy=entropy)
        self._jobs = Reflector(
            client,
            JOBS,
            clock=clock,
            entropy=entropy,
            label_selector=SUBMISSION,
            indexes={_OF_SUBMISSION: submission_keys},
        )
        self._pods = Reflector(
            client, PODS, clock=clock, entropy=entropy, label_selector=SUBMISSION, indexes={_OF_JOB: _job_keys}
        )
        self._config_maps = Reflector(client, CONFIGMAPS, clock=clock, entropy=entropy, label_selector=SUBMISSION)
        self._listeners: list[OnChange] = []
        self._submissions.subscribe(self._on_submission)
        for owned in (self._jobs, self._pods, self._config_maps):
            owned.subscribe(self._on_owned)

    @property
    def reflectors(self) -> Mapping[str, Reflector[Any]]:
        return {
            "submissions": self._submissions,
            "submission-jobs": self._jobs,
            "submission-pods": self._pods,
            "submission-configmaps": self._config_maps,
        }

    @property
    def synced(self) -> bool:
        return all(reflector.synced for reflector in self.reflectors.values())

    @property
    def fresh(self) -> bool:
        """Whether nothing destructive needs to fear an old view."""
        return self.synced and all(reflector.health.fresh for reflector in self.reflectors.values())

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors.values():
                group.create_task(reflector.run())

    def subscribe(self, listener: OnChange) -> None:
        """Be told the key of every submission that changed, or whose Jobs, pods or ConfigMaps did."""
        self._listeners.append(listener)

    def submission(self, key: str) -> Submission | None:
        namespace, _, name = key.partition("/")
        return self._submissions.cache.get(namespace, name)

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
        version = self._jobs.resource_version
        return int(version) if version.isdigit() else 0

    def pods(self, namespace: str, job: str) -> tuple[Pod, ...]:
        """The pods of one Job."""
        return self._pods.cache.by_index(_OF_JOB, f"{namespace}/{job}")

    def config_map(self, namespace: str, name: str) -> ConfigMap | None:
        """A ConfigMap that a submission owns."""
        return self._config_maps.cache.get(namespace, name)

    def _on_submission(self, change: Change[Submission]) -> None:
        view = change.new or change.old
        assert view is not None
        self._tell(f"{view.metadata.namespace}/{view.metadata.name}")

    def _on_owned(self, change: Change[Any]) -> None:
        view: Object | None = change.new or change.old
        assert view is not None
        for key in submission_keys(view):
            self._tell(key)

    def _tell(self, key: str) -> None:
        for listener in self._listeners:
            listener("submission", key)


def submission_keys(view: Object) -> Iterator[str]:
    """The key of the submission that an object names."""
    if name := view.metadata.labels.get(SUBMISSION):
        yield f"{view.metadata.namespace}/{name}"


def _job_keys(pod: Pod) -> Iterator[str]:
    if name := pod.metadata.labels.get(JOB_NAME):
        yield f"{pod.metadata.namespace}/{name}"
