"""Mooring's own kinds (mooring.dev/v1alpha1). What goes into pods as it is, such as `template` and `env`, stays raw."""

from typing import Any

from mooring.kube.views.base import Condition, Object, View
from mooring.model.evidence import Failure
from mooring.model.pool import Placement, PoolSpec, PoolStatus
from mooring.model.service import ServiceSpec, ServiceStatus
from mooring.model.warmup import WarmupSpec, WarmupStatus

RawObject = dict[str, Any]


class WorkerPool(Object, frozen=True):
    """A WorkerPool."""

    spec: PoolSpec = PoolSpec()
    status: PoolStatus = PoolStatus()


class Warmup(Object, frozen=True):
    """A Warmup."""

    spec: WarmupSpec = WarmupSpec()
    status: WarmupStatus = WarmupStatus()


class InheritEnv(View, frozen=True):
    """Variables taken over from a Deployment, by the prefix of their names."""

    deployment: str = ""
    prefixes: tuple[str, ...] = ()


class Requires(View, frozen=True):
    """What must be there before anything is submitted."""

    config_maps: tuple[str, ...] = ()
    warmups: tuple[str, ...] = ()


class SubmissionSpec(View, frozen=True):
    """A program to run: one setup, many batches, one finalizer."""

    key: str = ""
    program: str = ""
    args: tuple[str, ...] = ()
    env: tuple[RawObject, ...] = ()
    inherit_env: InheritEnv | None = None
    requires: Requires = Requires()
    setup: RawObject | None = None
    batches: tuple[RawObject, ...] = ()
    finalizer: RawObject | None = None
    retry: RawObject = {}
    placement: Placement = Placement()


class Gate(View, frozen=True):
    """One thing that was checked first. `state` is ok, fail or unknown."""

    id: str = ""
    state: str = ""
    message: str = ""
    fix: str = ""


class JobCounts(View, frozen=True):
    """The Jobs of a submission."""

    total: int = 0
    active: int = 0
    succeeded: int = 0
    failed: int = 0


class SubmissionStatus(View, frozen=True):
    """How far a submission is. `phase` is Pending, Refused, Submitting, Running, Succeeded or Failed."""

    observed_generation: int = 0
    phase: str = ""
    gates: tuple[Gate, ...] = ()
    jobs: JobCounts = JobCounts()
    failure: Failure | None = None
    conditions: tuple[Condition, ...] = ()


class Submission(Object, frozen=True):
    """A Submission."""

    spec: SubmissionSpec = SubmissionSpec()
    status: SubmissionStatus = SubmissionStatus()


class ManagedService(Object, frozen=True):
    """A ManagedService."""

    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()
