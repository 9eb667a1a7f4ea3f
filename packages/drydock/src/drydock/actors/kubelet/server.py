"""What a kubelet answers an API server, without sockets: logs, exec and port-forward of a whole fleet's pods."""

from collections.abc import AsyncIterator

from drydock.actors.kubelet.fleet import Fleet
from drydock.actors.kubelet.logs import log_request
from drydock.actors.kubelet.streams import NodeStreams
from hawser.errors import HawserError, NotFound
from hawser.transport import Request, Response

_TEXT = {"content-type": "text/plain"}


class KubeletServer:
    """A `Transport` to the nodes of a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._streams = NodeStreams(fleet.worker_of, fleet.runtime, fleet.clock)

    async def send(self, request: Request) -> Response:
        try:
            return await self._answer(request)
        except NotFound as missing:
            return _told(404, missing.message)
        except HawserError as refusal:
            return _told(400, refusal.message)

    async def _answer(self, request: Request) -> Response:
        match request.path.strip("/").split("/"):
            case ["healthz"]:
                return _told(200, "ok")
            case ["containerLogs", namespace, pod, container] if request.method == "GET":
                wanted = log_request(dict(request.query))
                return Response(200, _TEXT, await self._fleet.open_log(namespace, pod, container, wanted))
            case ["exec", namespace, pod, container] if request.method in ("GET", "POST"):
                return self._streams.exec(namespace, pod, container, request)
            case ["portForward", namespace, pod] if request.method in ("GET", "POST"):
                return self._streams.port_forward(namespace, pod, request)
            case _:
                return _told(404, "404 page not found")


def _told(status: int, text: str) -> Response:
    async def chunks() -> AsyncIterator[bytes]:
        yield text.encode()

    return Response(status, _TEXT, chunks())
