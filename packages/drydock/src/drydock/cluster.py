"""A cluster on this machine, assembled: an API, what moves in it, and nodes that run pods.

virtual_cluster   everything in this process and in the clock's time: no sockets, no threads, no processes
local_cluster     the embedded API on a loopback port; pods are local processes, or simulated
kubernetes_nodes  nodes for a real control plane
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol

from drydock.actors.controllers import run_controllers
from drydock.actors.disruption.drift import template_of
from drydock.actors.kubelet.fleet import Fleet, FleetOptions
from drydock.actors.kubelet.listener import KubeletListener, server_context
from drydock.actors.kubelet.machine import NodeTemplate
from drydock.actors.kubelet.node import is_ours
from drydock.actors.kubelet.server import KubeletServer
from drydock.actors.machinery.objects import name_of
from drydock.api.access.identity import User
from drydock.api.http import serve
from drydock.api.server import ADMIN, CONTROLLERS, ApiServer
from drydock.certificates import Authority, write_private
from drydock.kubeconfig_file import ClusterAccess, write_kubeconfig
from drydock.kubernetes.launcher import ControlPlane
from drydock.processes.supervisor import Supervisor
from drydock.runtime.contract import Runtime
from drydock.runtime.process import ProcessRuntime
from drydock.runtime.script import Scripts, default_script
from drydock.runtime.simulated import SimulatedRuntime
from drydock.state_lock import state_folder
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.connection import connect
from hawser.credentials import AuthenticatedTransport, Credential, Credentials, FixedCredential, bearer
from hawser.errors import Misconfigured
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import NODES
from hawser.transport import Transport

Nodes = Mapping[str, NodeTemplate]
_VIRTUAL_RENEW_SECONDS = 20.0  # half the writes of an idle hour; leases last 40 s
RuntimeName = Literal["process", "simulated"]
RUNTIMES: tuple[RuntimeName, ...] = ("process", "simulated")


def plain_nodes(count: int) -> Nodes:
    """Nodes `node-1` to `node-<count>`, all alike."""
    return {f"node-{number}": NodeTemplate() for number in range(1, count + 1)}


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """What callers may choose about a local cluster. Port 0 takes a free one."""

    nodes: Nodes = field(default_factory=lambda: plain_nodes(1))
    runtime: RuntimeName = "process"
    scripts: Scripts = default_script
    port: int = 0
    context: str = "drydock"  # the name in the kubeconfig


class Storage(Protocol):
    """What only the embedded API can do with its objects."""

    def compact(self) -> None:
        """Forget the history: older watches get 410."""
        ...

    def snapshot(self) -> Callable[[], None]:
        """A way back to the objects of now; without a journal, so in virtual time only."""
        ...


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that runs. `transport` acts as the administrator; `url` is empty in virtual time."""

    transport: Transport
    client: KubeClient
    fleet: Fleet
    token: str
    url: str = ""
    kubeconfig: Path | None = None
    storage: Storage | None = None  # of the embedded API


@contextlib.asynccontextmanager
async def virtual_cluster(
    clock: Clock, entropy: Entropy, nodes: Nodes, scripts: Scripts = default_script
) -> AsyncIterator[Cluster]:
    """A cluster of simulated pods in this process; the same seed gives the same cluster."""
    token = entropy.token()
    api = ApiServer(clock, entropy, tokens=_tokens(token))
    transport = _as_admin(api, token, clock)
    client = KubeClient(transport, user_agent="drydock")
    options = FleetOptions(normal_events=False, renew_seconds=_VIRTUAL_RENEW_SECONDS)
    fleet = _fleet_of(api, client, SimulatedRuntime(clock, scripts), clock, entropy, options)
    async with _running(fleet.run(), run_controllers(_as_controllers(api, token, clock), clock, entropy)):
        await _join(fleet, client, nodes)
        yield Cluster(transport, client, fleet, token, storage=api)
    await api.close()


@contextlib.asynccontextmanager
async def local_cluster(
    folder: Path, clock: Clock, entropy: Entropy, options: LocalOptions = LocalOptions()
) -> AsyncIterator[Cluster]:
    """A cluster under `folder`: what it holds is there again at the next start, what it ran is ended with us."""
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(state_folder(folder))
        token = _kept_token(folder / "token", entropy)
        api = ApiServer(clock, entropy, state_dir=folder / "objects", tokens=_tokens(token), pod_tokens=True)
        stack.push_async_callback(api.close)
        authority = Authority(folder / "pki", clock.now())
        url = await _listen(stack, api, options.port, authority)
        transport = _as_admin(api, token, clock)
        client = KubeClient(transport, user_agent="drydock")
        runtime = await _runtime(stack, folder, clock, options)
        fleet_options = _fleet_options(url, options)
        fleet = _fleet_of(api, client, runtime, clock, entropy, fleet_options)
        certificate = authority.pair.certificate.read_text()
        controllers = run_controllers(_as_controllers(api, token, clock), clock, entropy, root_certificate=certificate)
        await stack.enter_async_context(_running(fleet.run(), controllers))
        await _join(fleet, client, options.nodes)
        kubeconfig = folder / "kubeconfig"
        access = ClusterAccess(url, authority.pair.certificate, token, name=options.context)
        write_kubeconfig(kubeconfig, access)
        yield Cluster(transport, client, fleet, token, url, kubeconfig, api)


@contextlib.asynccontextmanager
async def kubernetes_nodes(
    plane: ControlPlane, folder: Path, clock: Clock, entropy: Entropy, options: LocalOptions = LocalOptions()
) -> AsyncIterator[Cluster]:
    """Nodes that join a real control plane; `options.port` is the plane's own matter."""
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(state_folder(folder))
        connection = await connect(load_kubeconfig(plane.kubeconfig).target(), clock)
        stack.push_async_callback(connection.close)
        client = KubeClient(connection, user_agent="drydock")
        context = server_context(plane.kubelet_server.certificate, plane.kubelet_server.key, plane.authority)
        listener = await stack.enter_async_context(KubeletListener(context))
        runtime = await _runtime(stack, folder, clock, options)
        fleet_options = _fleet_options(plane.url, options, listener.port)
        fleet = Fleet(client, runtime, clock=clock, entropy=entropy, options=fleet_options)
        listener.serve(KubeletServer(fleet))
        await stack.enter_async_context(_running(fleet.run()))
        await _join(fleet, client, options.nodes)
        yield Cluster(connection, client, fleet, plane.token, plane.url, plane.kubeconfig)


def _fleet_of(
    api: ApiServer, client: KubeClient, runtime: Runtime, clock: Clock, entropy: Entropy, options: FleetOptions
) -> Fleet:
    """A fleet that the API asks for logs and streams in process."""
    fleet = Fleet(client, runtime, clock=clock, entropy=entropy, options=options)
    api.introduce_kubelet(KubeletServer(fleet))
    return fleet


async def _runtime(stack: contextlib.AsyncExitStack, folder: Path, clock: Clock, options: LocalOptions) -> Runtime:
    if options.runtime == "simulated":
        return SimulatedRuntime(clock, options.scripts)
    nodes = folder / "nodes"
    supervisor = await stack.enter_async_context(Supervisor(str(nodes.resolve())))
    return ProcessRuntime(nodes, supervisor, clock)


async def _listen(stack: contextlib.AsyncExitStack, api: ApiServer, port: int, authority: Authority) -> str:
    shown = authority.serving("apiserver", ["localhost", "127.0.0.1"])
    try:
        return await stack.enter_async_context(serve(api, port=port, certificate=shown))
    except OSError as error:
        told = f"cannot listen on 127.0.0.1:{port}: {os.strerror(error.errno or 0)}"
        raise Misconfigured(told, fix="choose another port, or 0 for a free one") from error


@contextlib.asynccontextmanager
async def _running(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run these beside the block; the failure of one ends the block, the end of the block ends them."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(coroutine) for coroutine in work]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


async def _join(fleet: Fleet, client: KubeClient, nodes: Nodes) -> None:
    """Bring back the nodes that the cluster knows from an earlier life, then add of ours as many as are missing."""
    known = [node for node in (await client.list(NODES.raw())).items if is_ours(node)]
    joining = {name_of(node): nodes.get(name_of(node)) or template_of(node) for node in known}
    for name, template in nodes.items():
        if len(joining) < len(nodes):
            joining.setdefault(name, template)
    for name, template in joining.items():
        await fleet.add_node(name, template)


def _fleet_options(url: str, options: LocalOptions, log_port: int = 0) -> FleetOptions:
    host, _, port = url.removeprefix("https://").partition(":")
    return FleetOptions(
        log_port=log_port,
        normal_events=options.runtime == "process",
        api_environment={"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port},
    )


def _tokens(token: str) -> dict[str, User]:
    return {token: ADMIN, _controllers_token(token): CONTROLLERS}


def _controllers_token(token: str) -> str:
    return sha256(f"controllers/{token}".encode()).hexdigest()


def _as_controllers(api: ApiServer, token: str, clock: Clock) -> KubeClient:
    """Controllers have a name of their own: policies distinguish them from people."""
    return KubeClient(_as_admin(api, _controllers_token(token), clock), user_agent="drydock")


def _as_admin(api: ApiServer, token: str, clock: Clock) -> Transport:
    return AuthenticatedTransport(api, Credentials(FixedCredential(Credential(bearer(token))), clock))


def _kept_token(path: Path, entropy: Entropy) -> str:
    if path.exists():
        return path.read_text().strip()
    token = entropy.token()
    write_private(path, f"{token}\n".encode())
    return token
