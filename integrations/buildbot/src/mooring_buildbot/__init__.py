"""Buildbot on Mooring: a latent worker for the master, and the program that runs `buildbot-worker` in the pod.

Knows the SDK of Mooring and Buildbot, and nothing of the cluster.
"""

from mooring_buildbot.worker import MooringLatentWorker

__all__ = ["MooringLatentWorker"]
