"""API resources of Mooring's own kinds, with the view that reads each."""

from typing import Any

from hawser.resources import Resource
from mooring.kinds import views
from mooring.model.names import GROUP, OWN_PREFIX

WORKERPOOLS = Resource(GROUP, "v1alpha1", "workerpools", "WorkerPool", True, views.WorkerPool)
WARMUPS = Resource(GROUP, "v1alpha1", "warmups", "Warmup", True, views.Warmup)
SUBMISSIONS = Resource(GROUP, "v1alpha1", "submissions", "Submission", True, views.Submission)
MANAGEDSERVICES = Resource(GROUP, "v1alpha1", "managedservices", "ManagedService", True, views.ManagedService)
KINDS: tuple[Resource[Any], ...] = (WORKERPOOLS, WARMUPS, SUBMISSIONS, MANAGEDSERVICES)


def is_worker_pool(kind: str, api_version: str) -> bool:
    """Whether a reference to an owner or a target is to a WorkerPool, of any version."""
    return kind == WORKERPOOLS.kind and api_version.startswith(OWN_PREFIX)
