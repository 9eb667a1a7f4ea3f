"""The pages of the dashboard, as the API serves them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from litestar import Request, Response
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from mooring.api.access.scope import Scopes
from mooring.api.errors import ErrorBody

Prepare = Callable[[Request[Any, Any, Any], Scopes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Pages:
    """Routes of the dashboard, their dependencies, the page that shows an error to a browser, and what comes first.

    `prepare` runs before each of the routes, after the caller was authorized.
    """

    handlers: Sequence[ControllerRouterHandler] = ()
    dependencies: Mapping[str, Provide] = field(default_factory=dict)
    failure: Callable[[ErrorBody, int], Response[str]] | None = None
    prepare: Prepare | None = None


def constant(value: object) -> Provide:
    """A dependency that is always the same object."""

    async def provide() -> Any:
        return value

    return Provide(provide, use_cache=True)
