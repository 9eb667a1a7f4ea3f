"""A Kubernetes API that is a plain function, and the answers it may give."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from hawser.transport import Request, Response

Answer = Callable[[Request], Response | Awaitable[Response]]


class FakeApi:
    """Answers with a function; remembers what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        answer = self._answer(request)
        return answer if isinstance(answer, Response) else await answer

    @property
    def last(self) -> Request:
        return self.requests[-1]


def chunked(*chunks: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in pieces."""

    async def pieces() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return Response(status, headers or {}, pieces())


def whole(body: Any, status: int = 200, **headers: str) -> Response:
    """An answer in one piece of JSON."""
    return chunked(json.dumps(body).encode(), status=status, headers=headers)


def refusal(code: int, reason: str, message: str = "no", **details: Any) -> Response:
    """A Status."""
    return whole(status_body(code, reason, message, **details), code)


def status_body(code: int, reason: str, message: str = "no", **details: Any) -> dict[str, Any]:
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
    return {**body, "reason": reason, "message": message, "details": details}
