"""The SDK: claim a worker as a context manager; the worker's side of dispatch.

Must not know: the server's rooms; it uses HTTP. Names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mooring.client.aio import AsyncClaim, AsyncMooring
    from mooring.client.errors import (
        ClaimTimeout,
        LeaseLost,
        LimitReached,
        LossCause,
        MintFailed,
        RemoteError,
        TooMany,
        Unavailable,
        Unreachable,
        Untrusted,
        WaitRevoked,
    )
    from mooring.client.pod_commands import CommandResult
    from mooring.client.records import ClaimedWorker, ClaimView, PoolView, SessionResult, Waiting, WorkerView
    from mooring.client.sdk import Claim, Mooring
    from mooring.model.errors import InvalidInput
    from mooring.model.why import Why

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
]

_RECORDS = ("ClaimView", "ClaimedWorker", "PoolView", "SessionResult", "Waiting", "WorkerView")
_MODULES = {
    "Claim": "mooring.client.sdk",
    "Mooring": "mooring.client.sdk",
    "AsyncClaim": "mooring.client.aio",
    "AsyncMooring": "mooring.client.aio",
    "CommandResult": "mooring.client.pod_commands",
    "InvalidInput": "mooring.model.errors",
    "Why": "mooring.model.why",
    **dict.fromkeys(_RECORDS, "mooring.client.records"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, "mooring.client.errors")), name)
