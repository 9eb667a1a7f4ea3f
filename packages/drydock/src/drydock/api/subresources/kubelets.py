"""The way from the API server to a node: in process when its kubelet has been introduced, else over HTTP."""

from drydock.api.answers.status import Refusal
from drydock.api.kinds.kind import Object
from hawser.errors import ConnectionFailed
from hawser.http import HttpTransport
from hawser.transport import Request, Response, Transport


class Kubelets:
    """Transports to nodes."""

    def __init__(self) -> None:
        self._introduced: dict[str, Transport] = {}
        self._of_others: Transport | None = None
        self._reached: dict[str, HttpTransport] = {}

    def introduce(self, kubelet: Transport, node: str = "") -> None:
        """From now on, ask this one about the node, or about all nodes that have no kubelet of their own."""
        if node:
            self._introduced[node] = kubelet
        else:
            self._of_others = kubelet

    async def send(self, node: Object, request: Request) -> Response:
        """Ask the node's kubelet; 500 when it cannot be reached."""
        name = node["metadata"]["name"]
        kubelet = self._introduced.get(name) or self._of_others or self._transport(node)
        try:
            return await kubelet.send(request)
        except ConnectionFailed as failure:
            raise Refusal(500, "InternalError", f"Internal error occurred: {failure.message}") from failure

    async def close(self) -> None:
        for transport in self._reached.values():
            await transport.close()
        self._reached.clear()

    def _transport(self, node: Object) -> Transport:
        status = node.get("status", {})
        addresses = {address["type"]: address["address"] for address in status.get("addresses") or ()}
        host = addresses.get("InternalIP") or addresses.get("Hostname") or node["metadata"]["name"]
        port = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint", {}).get("Port") or 10250
        server = f"http://{host}:{port}"
        if server not in self._reached:
            self._reached[server] = HttpTransport(server)
        return self._reached[server]
