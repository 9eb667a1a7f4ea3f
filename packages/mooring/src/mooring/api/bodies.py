"""Request bodies: JSON in UTF-8, or an error that says what is wrong."""

from typing import Any, TypeVar

import msgspec
from litestar import Request

from mooring.model.errors import InvalidInput

T = TypeVar("T")

_SHOWN_BYTES = 80


class JsonRequest(Request[Any, Any, Any]):
    """A request for handlers. The framework's own class reports bytes that are not text as an internal error."""

    __slots__ = ()

    async def json(self) -> Any:
        """The body, decoded."""
        return read_json(await self.body(), Any, "JSON in UTF-8")


def read_json(body: bytes, kind: type[T], expected: str) -> T:
    """The decoded body, or `InvalidInput`."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        shown = body[:_SHOWN_BYTES].decode("utf-8", "replace")
        raise InvalidInput("body", shown, f"{expected} ({error})") from error
