"""Mooring keeps worker fleets on Kubernetes steady while the cluster changes.

The public names of the SDK are importable from here. They are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mooring.client import (
        AsyncClaim,
        AsyncMooring,
        Claim,
        ClaimedWorker,
        ClaimTimeout,
        ClaimView,
        CommandResult,
        InvalidInput,
        LeaseLost,
        LimitReached,
        LossCause,
        MintFailed,
        Mooring,
        PoolView,
        RemoteError,
        SessionResult,
        TooMany,
        Unavailable,
        Unreachable,
        Untrusted,
        Waiting,
        WaitRevoked,
        Why,
        WorkerView,
    )

__version__ = "0.2.0"

__all__ = [
    "AsyncClaim",
    "AsyncMooring",
    "Claim",
    "ClaimTimeout",
    "ClaimView",
    "ClaimedWorker",
    "CommandResult",
    "InvalidInput",
    "LeaseLost",
    "LimitReached",
    "LossCause",
    "MintFailed",
    "Mooring",
    "PoolView",
    "RemoteError",
    "SessionResult",
    "TooMany",
    "Unavailable",
    "Unreachable",
    "Untrusted",
    "WaitRevoked",
    "Waiting",
    "Why",
    "WorkerView",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("mooring.client"), name)
