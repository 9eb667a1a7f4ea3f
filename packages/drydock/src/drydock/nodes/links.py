"""The wires between this machine and its nodes: one switch in a network namespace of its own, a cable to each node.

Nothing of it is in this machine's own network but one end of a cable, which goes with the switch.
"""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from drydock.kubernetes.components import SERVICE_RANGE
from drydock.nodes.machine import NodesUnavailable, find_program
from drydock.nodes.network import ClusterNetwork, NodeAddress, compute_network
from drydock.processes.supervisor import Supervisor

BOOT_PROGRAM = "drydock.nodes.boot"


async def used_networks() -> list[str]:
    """The ranges to which this machine has routes."""
    routes = json.loads(await _run([_program("ip"), "-json", "-4", "route", "show", "table", "all"]))
    return [route["dst"] for route in routes if route["dst"][:1].isdigit()]


async def choose_network(seed: int) -> ClusterNetwork:
    """Addresses that nothing else on this machine uses."""
    found = compute_network(seed, await used_networks())
    if found is None:
        raise NodesUnavailable(
            "all networks from 10.128.0.0/16 to 10.191.0.0/16 are in use", fix="stop another cluster of real nodes"
        )
    return found


class Switch:
    """`async with Switch(mark, name, network):` a bridge, and a cable from it to this machine called `name`."""

    def __init__(self, mark: str, name: str, network: ClusterNetwork) -> None:
        argument = json.dumps({"namespaces": "network", "sysctls": {}})
        self._holder = Supervisor(mark, BOOT_PROGRAM, argument)
        self._name = name
        self._network = network

    async def __aenter__(self) -> "Switch":
        await self._holder.__aenter__()
        try:
            await self._set_up()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._holder.__aexit__(None, None, None)

    async def _set_up(self) -> None:
        host = f"{self._network.host}/{self._network.prefix_length}"
        await configure([f"link add {self._name} type veth peer name uplink netns {self._holder.pid}"])
        await self._configure(
            ["link add br0 type bridge", "link set br0 up", "link set uplink master br0", "link set uplink up"]
        )
        await configure([f"address add {host} dev {self._name}", f"link set {self._name} up"])

    async def connect(self, number: int, pid: int, where: NodeAddress, others: Sequence[NodeAddress]) -> None:
        """Plug a cable into the node whose first process is `pid`, and set up its network."""
        port = f"port{number}"
        await self._configure([f"link delete {port}"], may_fail=True)
        await self._configure(
            [
                f"link add {port} type veth peer name eth0 netns {pid}",
                f"link set {port} master br0",
                f"link set {port} up",
            ]
        )
        inside = [
            "link set lo up",
            f"address add {where.address}/{self._network.prefix_length} dev eth0",
            "link set eth0 up",
            f"route add {SERVICE_RANGE} dev eth0",  # kube-proxy redirects them; without a route nothing is sent at all
            *(f"route add {other.pods} via {other.address}" for other in others),
        ]
        await configure(inside, pid)
        await configure([f"route replace {where.pods} via {where.address}"])

    async def set_cable(self, number: int, *, plugged: bool) -> None:
        """Pull the cable of a node, or put it back."""
        await self._configure([f"link set port{number} {'up' if plugged else 'down'}"])

    async def _configure(self, lines: Sequence[str], *, may_fail: bool = False) -> None:
        await configure(lines, self._holder.pid, may_fail=may_fail)


async def configure(lines: Sequence[str], pid: int | None = None, *, may_fail: bool = False) -> None:
    """Commands of `ip`, in the network of a process or in this machine's own."""
    entered = [] if pid is None else [_program("nsenter"), f"--net=/proc/{pid}/ns/net"]
    await _run([*entered, _program("ip"), "-batch", "-"], "\n".join(lines) + "\n", may_fail=may_fail)


async def _run(argv: Sequence[str], given: str = "", *, may_fail: bool = False) -> str:
    pipe = asyncio.subprocess.PIPE
    stdin = pipe if given else asyncio.subprocess.DEVNULL  # a program that reads nothing may end before a write
    process = await asyncio.create_subprocess_exec(*argv, stdin=stdin, stdout=pipe, stderr=pipe)
    out, err = await process.communicate(given.encode() or None)
    if process.returncode and not may_fail:
        raise NodesUnavailable(
            f"{Path(argv[0]).name} failed: {err.decode().strip()}",
            fix=f"these commands of ip must work: {given.strip()}",
        )
    return out.decode()


def _program(name: str) -> str:
    found = find_program(name)
    assert found is not None, name  # checked before anything starts
    return found
