"""Request bodies: JSON in UTF-8, or an error that says what is wrong."""

from typing import Any, TypeVar

import msgspec
from litestar import Request

from mooring.model.unreadable import InvalidField

T = TypeVar("T")


class JsonRequest(Request[Any, Any, Any]):
    """A request for handlers. The framework's own class reports bytes that are not text as an internal error."""

    __slots__ = ()

    async def json(self) -> Any:
        """The body, decoded."""
        return read_json(await self.body(), Any, "JSON in UTF-8")


def read_json(body: bytes, kind: type[T], expected: str) -> T:
    """The decoded body, or `InvalidField` with the words of the decoder."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidField("body", f"body: {error}", f"body must be {expected}") from error
