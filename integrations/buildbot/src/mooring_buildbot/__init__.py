"""Buildbot on Mooring: a latent worker for the master, and the program that runs `buildbot-worker` in the pod.

Knows the SDK of Mooring and Buildbot, and nothing of the cluster.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mooring_buildbot.worker import MooringLatentWorker, PoolClaims

__all__ = ["MooringLatentWorker", "PoolClaims"]


def __getattr__(name: str) -> Any:
    """Imported when they are asked for: the pod runs `mooring_buildbot.session` and needs nothing of the master."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mooring_buildbot import worker

    return getattr(worker, name)
