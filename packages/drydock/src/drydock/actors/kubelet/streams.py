"""How a kubelet answers an API server that wants streams: /exec/{namespace}/{pod}/{container}, /portForward/..."""

import asyncio
from collections.abc import Callable

from drydock.actors.kubelet.pod import PodWorker
from drydock.runtime.contract import Handle, Runtime
from drydock.streaming.carrier import Carrier, Idleness
from drydock.streaming.command_channels import CommandChannels
from drydock.streaming.command_spdy import CommandSpdy
from drydock.streaming.port_channels import PortChannels
from drydock.streaming.port_forward import SPOKEN as FORWARD_PROTOCOLS
from drydock.streaming.port_forward import Dialled, PortForward
from drydock.streaming.remote_command import SPOKEN as COMMAND_PROTOCOLS
from drydock.streaming.remote_command import V4, CommandOptions, CommandStreams, serve_command
from drydock.streaming.upgrade import WEBSOCKET, Upgrade, UpgradeRefused, negotiate, read_offer
from hawser.clock import Clock
from hawser.errors import HawserError, NotFound
from hawser.transport import Request


class StreamUnavailable(HawserError):
    """There is such a pod, but no way into it now."""

    code = "stream_unavailable"


class NodeStreams:
    """Conversations with the pods of a fleet. `find` raises `NotFound` for a pod that is not here."""

    def __init__(self, find: Callable[[str, str], PodWorker], runtime: Runtime, clock: Clock) -> None:
        self._find = find
        self._runtime = runtime
        self._clock = clock

    def exec(self, namespace: str, pod: str, container: str, request: Request) -> Upgrade:
        """A command in a container that runs. Raises `HawserError` before anything has been started."""
        query = dict(request.query)
        options = _options(query)
        command = [value for name, value in request.query if name == "command"]
        if not command:
            raise UpgradeRefused("you must specify at least one command for the container")
        handle = self._handle(namespace, pod, container)
        offer = read_offer(request.headers)
        protocol = negotiate(offer, COMMAND_PROTOCOLS)

        def streams(carrier: Carrier, idleness: Idleness) -> CommandStreams:
            kind = CommandChannels if offer.scheme == WEBSOCKET else CommandSpdy
            return kind(carrier, idleness, options)

        async def serve(carrier: Carrier) -> None:
            await serve_command(carrier, streams, lambda: handle.open(command, options), self._clock)

        return Upgrade(offer.scheme, protocol, serve)

    def port_forward(self, namespace: str, pod: str, request: Request) -> Upgrade:
        """Ports of a pod. Raises `HawserError` when there is none to reach."""
        worker = self._find(namespace, pod)
        self._check_processes(pod)
        if not worker.takes_room:
            raise StreamUnavailable(f'pod "{pod}" is not running')
        offer = read_offer(request.headers)

        async def dial(port: int) -> Dialled:
            return await asyncio.open_connection(worker.address, port)

        if offer.scheme == WEBSOCKET and V4 in offer.protocols:
            return Upgrade(offer.scheme, V4, PortChannels(_ports(request), dial, self._clock).serve)
        protocol = negotiate(offer, FORWARD_PROTOCOLS)
        return Upgrade(offer.scheme, protocol, PortForward(dial, self._clock).serve)

    def _handle(self, namespace: str, pod: str, container: str) -> Handle:
        worker = self._find(namespace, pod)
        if worker.attempt_of(container) is None:
            raise NotFound(f'container "{container}" in pod "{pod}" is not available')
        self._check_processes(pod)
        handle = worker.handle_of(container)
        if handle is None:
            why = worker.waiting_reason(container) or "it has ended"
            raise StreamUnavailable(f'container "{container}" in pod "{pod}" is not running: {why}')
        return handle

    def _check_processes(self, pod: str) -> None:
        if not self._runtime.has_processes:
            told = f'pod "{pod}" is simulated: exec and port-forward need nodes whose pods are processes'
            raise StreamUnavailable(told)


def _options(query: dict[str, str]) -> CommandOptions:
    stdin, stdout, stderr, tty = (query.get(name) == "1" for name in ("input", "output", "error", "tty"))
    if not (stdin or stdout or stderr):
        raise UpgradeRefused("you must specify at least 1 of stdin, stdout, stderr")
    return CommandOptions(stdin, stdout, stderr and not tty, tty)


def _ports(request: Request) -> list[int]:
    words = [word for name, value in request.query if name in ("port", "ports") for word in value.split(",")]
    if not words or not all(word.isdigit() and 0 < int(word) < 1 << 16 for word in words):
        raise UpgradeRefused(f"ports must be numbers from 1 to 65535, not {','.join(words)!r}")
    return [int(word) for word in words]
