"""The SDK: claim a worker as a context manager; the worker's side of dispatch.

Must not know: the server's rooms; it uses HTTP. Names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mooring.client.aio import AsyncMooring
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
    from mooring.client.sdk import Mooring
    from mooring.model.errors import InvalidInput

__all__ = [
    "AsyncMooring",
    "ClaimTimeout",
    "InvalidInput",
    "LeaseLost",
    "LimitReached",
    "LossCause",
    "MintFailed",
    "Mooring",
    "RemoteError",
    "TooMany",
    "Unavailable",
    "Unreachable",
    "Untrusted",
    "WaitRevoked",
]

_MODULES = {
    "Mooring": "mooring.client.sdk",
    "AsyncMooring": "mooring.client.aio",
    "InvalidInput": "mooring.model.errors",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, "mooring.client.errors")), name)
