"""How a kubelet answers an API server that wants a log: /containerLogs/{namespace}/{pod}/{container}, no sockets."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime

from mooring.kube.transport import Request, Response
from mooring.model.errors import InvalidInput, MooringError, NotFound
from mooring.sandbox.actors.runtime.logs import LogRequest

OpenLog = Callable[[str, str, str, LogRequest], Awaitable[AsyncIterator[bytes]]]
_TEXT = {"content-type": "text/plain"}


class NodeLogs:
    """A `Transport` to the logs of a fleet's nodes."""

    def __init__(self, open_log: OpenLog) -> None:
        self._open_log = open_log

    async def send(self, request: Request) -> Response:
        match request.path.strip("/").split("/"):
            case ["healthz"]:
                return _told(200, "ok")
            case ["containerLogs", namespace, pod, container] if request.method == "GET":
                return await self._container_log(namespace, pod, container, dict(request.query))
            case _:
                return _told(404, "404 page not found")

    async def _container_log(self, namespace: str, pod: str, container: str, query: Mapping[str, str]) -> Response:
        try:
            chunks = await self._open_log(namespace, pod, container, log_request(query))
        except NotFound as missing:
            return _told(404, missing.message)
        except MooringError as refusal:
            return _told(400, refusal.message)
        return Response(200, _TEXT, chunks)


def log_request(query: Mapping[str, str]) -> LogRequest:
    """What a query string asks for; raises `InvalidInput` naming the parameter."""
    since = query.get("sinceTime")
    try:
        since_time = datetime.fromisoformat(since) if since else None
    except ValueError as error:
        raise InvalidInput("sinceTime", since, "an RFC 3339 time") from error
    return LogRequest(
        previous=_flag(query, "previous"),
        follow=_flag(query, "follow"),
        timestamps=_flag(query, "timestamps"),
        tail_lines=_number(query, "tailLines"),
        limit_bytes=_number(query, "limitBytes"),
        since_seconds=_number(query, "sinceSeconds"),
        since_time=since_time,
    )


def _flag(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "").lower() in ("true", "1")


def _number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    if not text.isdigit():
        raise InvalidInput(name, text, "a whole number, 0 or more")
    return int(text)


def _told(status: int, text: str) -> Response:
    async def chunks() -> AsyncIterator[bytes]:
        yield text.encode()

    return Response(status, _TEXT, chunks())
