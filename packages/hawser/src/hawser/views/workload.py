"""Jobs, Deployments and ReplicaSets."""

from hawser.views.base import Condition, LabelSelector, Object, Time, View, is_true
from hawser.views.pod import PodTemplate


class JobSpec(View, frozen=True):
    """What a Job is to do."""

    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit: int = 6
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    template: PodTemplate = PodTemplate()


class JobStatus(View, frozen=True):
    """How far a Job is."""

    conditions: tuple[Condition, ...] = ()
    start_time: Time | None = None
    completion_time: Time | None = None
    active: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0


class Job(Object, frozen=True):
    """A Job."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def complete(self) -> bool:
        return is_true(self.status.conditions, "Complete")

    @property
    def failed(self) -> bool:
        return is_true(self.status.conditions, "Failed")

    @property
    def finished(self) -> bool:
        return self.complete or self.failed


class DeploymentSpec(View, frozen=True):
    """What a Deployment is to run."""

    replicas: int = 1
    selector: LabelSelector = LabelSelector()
    template: PodTemplate = PodTemplate()
    paused: bool = False


class DeploymentStatus(View, frozen=True):
    """What a Deployment runs."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    conditions: tuple[Condition, ...] = ()


class Deployment(Object, frozen=True):
    """A Deployment."""

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class ReplicaSetSpec(View, frozen=True):
    """What a ReplicaSet is to run."""

    replicas: int = 1
    selector: LabelSelector = LabelSelector()
    template: PodTemplate = PodTemplate()


class ReplicaSetStatus(View, frozen=True):
    """What a ReplicaSet runs."""

    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[Condition, ...] = ()


class ReplicaSet(Object, frozen=True):
    """A ReplicaSet."""

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()
