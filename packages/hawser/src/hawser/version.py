"""Who serves the API, and what time it is there."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

import msgspec

from hawser.errors import AnswerUnreadable, ConnectionFailed, error_from_answer
from hawser.transport import Request, Transport


class _Version(msgspec.Struct, rename={"git_version": "gitVersion"}):
    git_version: str = ""


@dataclass(frozen=True, slots=True)
class ServerVersion:
    """`v1.36.0`, and the server's clock in whole seconds, if it says."""

    name: str
    time: datetime | None


async def read_version(transport: Transport, request: Request) -> ServerVersion:
    """From `/version` and the Date of its answer."""
    try:
        async with asyncio.timeout(request.timeout_seconds):
            response = await transport.send(request)
            body = await response.read()
    except TimeoutError:
        raise ConnectionFailed(f"/version was not answered within {request.timeout_seconds} s") from None
    if response.status != 200:
        raise error_from_answer(response.status, response.headers, body, asked="GET /version")
    try:
        version = msgspec.json.decode(body, type=_Version)
    except msgspec.DecodeError as error:
        raise AnswerUnreadable(f"/version cannot be read: {error}", body=body) from error
    return ServerVersion(version.git_version, _date(response.headers.get("date", "")))


@lru_cache(maxsize=1)
def _date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except ValueError:
        return None
