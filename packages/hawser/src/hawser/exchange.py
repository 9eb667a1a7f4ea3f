"""One request, one answer: bounded in time over any transport, every failure an exception of `hawser/errors.py`."""

import asyncio

from hawser.errors import ConnectionFailed, error_from_answer
from hawser.transport import Request, Response, Transport


async def whole_answer(transport: Transport, request: Request) -> bytes:
    """The body of a successful answer, all of it within the request's time."""
    try:
        async with asyncio.timeout(request.timeout_seconds):
            response = await transport.send(request)
            body = await response.read()
    except TimeoutError:
        raise _too_late(request) from None
    if not 200 <= response.status < 300:
        raise error_from_answer(response.status, response.headers, body, asked=f"{request.method} {request.path}")
    return body


async def open_stream(transport: Transport, request: Request) -> Response:
    """A successful answer whose body has no end in sight; only its head has to come in time."""
    try:
        async with asyncio.timeout(request.timeout_seconds):
            response = await transport.send(request)
            if response.status == 200:
                return response
            body = await response.read()
    except TimeoutError:
        raise _too_late(request) from None
    raise error_from_answer(response.status, response.headers, body, asked=f"{request.method} {request.path}")


def _too_late(request: Request) -> ConnectionFailed:
    return ConnectionFailed(
        f"{request.method} {request.path} got no whole answer within {request.timeout_seconds} s",
        fix="look whether the API server is overloaded or unreachable; after a write read back what happened",
    )
