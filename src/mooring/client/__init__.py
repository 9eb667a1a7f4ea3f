"""The SDK: claim a worker as a context manager; the worker's side of dispatch.

Must not know: the server's inside; it speaks HTTP. Both twins are imported when they are first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mooring.client.aio import AsyncMooring
    from mooring.client.sdk import Mooring

__all__ = ["AsyncMooring", "Mooring"]


def __getattr__(name: str) -> Any:
    if name == "Mooring":
        from mooring.client.sdk import Mooring

        return Mooring
    if name == "AsyncMooring":
        from mooring.client.aio import AsyncMooring

        return AsyncMooring
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
