"""API resources of Mooring's own kinds, with the view that reads each."""

from hawser.resources import Resource
from mooring.kinds import views

_OWN = "mooring.dev"
WORKERPOOLS = Resource(_OWN, "v1alpha1", "workerpools", "WorkerPool", True, views.WorkerPool)
WARMUPS = Resource(_OWN, "v1alpha1", "warmups", "Warmup", True, views.Warmup)
SUBMISSIONS = Resource(_OWN, "v1alpha1", "submissions", "Submission", True, views.Submission)
MANAGEDSERVICES = Resource(_OWN, "v1alpha1", "managedservices", "ManagedService", True, views.ManagedService)
