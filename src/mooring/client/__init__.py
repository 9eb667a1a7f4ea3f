"""The SDK: claim a worker as a context manager; the worker's side of dispatch.

Must not know: the server's inside; it speaks HTTP. Both twins and the errors are imported when they are first used.
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
        Unavailable,
        Unreachable,
    )
    from mooring.client.sdk import Mooring

__all__ = [
    "AsyncMooring",
    "ClaimTimeout",
    "LeaseLost",
    "LimitReached",
    "LossCause",
    "MintFailed",
    "Mooring",
    "RemoteError",
    "Unavailable",
    "Unreachable",
]

_HOMES = {"Mooring": "sdk", "AsyncMooring": "aio"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
