"""Views of Mooring's own kinds (mooring.dev/v1alpha1).

Parts that go into pods, such as `template` and `env`, stay raw.
"""

from hawser.views.base import Object
from mooring.model.pool import PoolSpec, PoolStatus
from mooring.model.service import ServiceSpec, ServiceStatus
from mooring.model.submission import SubmissionSpec, SubmissionStatus
from mooring.model.warmup import WarmupSpec, WarmupStatus


class WorkerPool(Object, frozen=True):
    """A WorkerPool."""

    spec: PoolSpec = PoolSpec()
    status: PoolStatus = PoolStatus()


class Warmup(Object, frozen=True):
    """A Warmup."""

    spec: WarmupSpec = WarmupSpec()
    status: WarmupStatus = WarmupStatus()


class Submission(Object, frozen=True):
    """A Submission."""

    spec: SubmissionSpec = SubmissionSpec()
    status: SubmissionStatus = SubmissionStatus()


class ManagedService(Object, frozen=True):
    """A ManagedService."""

    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()
