"""The pages of the dashboard, as the API serves them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from litestar import Response
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from mooring.api.errors import ErrorBody


@dataclass(frozen=True, slots=True)
class Pages:
    """Routes of the dashboard, their dependencies, and the page that shows an error to a browser."""

    handlers: Sequence[ControllerRouterHandler] = ()
    dependencies: Mapping[str, Provide] = field(default_factory=dict)
    failure: Callable[[ErrorBody, int], Response[str]] | None = None


def constant(value: object) -> Provide:
    """A dependency that is always the same object."""

    async def provide() -> Any:
        return value

    return Provide(provide, use_cache=True)
