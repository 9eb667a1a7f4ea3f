"""`mooring up`: a cluster, a database, the control plane and the dashboard on this machine."""

import contextlib
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import uvloop

from drydock import (
    ControlPlane,
    LocalOptions,
    PlaneOptions,
    RealOptions,
    kubernetes_nodes,
    local_cluster,
    plain_nodes,
    real_cluster,
    state_folder,
)
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy, SystemClock
from hawser.connection import Target, connect
from hawser.impersonation import Impersonation
from hawser.kubeconfig import load_kubeconfig
from hawser.transport import Transport
from mooring.api.access.control import AccessOptions
from mooring.api.access.operator_token import load_token
from mooring.api.hosting import bind
from mooring.app import Adapters, Dependencies, ReplicaOptions
from mooring.cli.launch.process import (
    Entrance,
    configure_logs,
    replica_name,
    run_process,
    stop_on_signals,
    tokens_file,
)
from mooring.cli.launch.recordings import open_recordings
from mooring.client import AsyncMooring
from mooring.controllers.activity import PolledActivity
from mooring.controllers.claims.mint import WebhookMinter
from mooring.controllers.claims.mint_auth import MintKeys
from mooring.controllers.pools.probe import HttpProbe
from mooring.controllers.services.document import HttpDocuments
from mooring.demo.fleet import start_busy_pools, start_demo
from mooring.demo.traffic import Traffic, running_traffic
from mooring.engine.own_api import HttpOwnApi
from mooring.incidents.split_nodes import demo_nodes
from mooring.kinds.installation import (
    install_caller_roles,
    install_crds,
    install_headroom_class,
    install_marks_policy,
)
from mooring.kinds.release import Release
from mooring.ledger.embedded import EmbeddedServer
from mooring.ledger.port import Ledger
from mooring.ledger.postgres.ledger import PostgresLedger
from mooring.model.errors import InvalidInput
from mooring.model.identity import OPERATORS_GROUP
from mooring.planning.destinations import THIS_MACHINE
from mooring.settings import load_settings

HOST = "127.0.0.1"
CLUSTERS = ("sandbox", "kubernetes", "nodes")
RELEASE = Release("mooring")
CONTEXT = "mooring"  # the name of the cluster in the kubeconfig that is written


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The arguments of `up`."""

    port: int
    state: Path
    kube_port: int
    demo: bool
    traffic: bool
    cluster: str
    context: str
    database: str
    nodes: int  # real ones, of the cluster `nodes`


@dataclass(frozen=True, slots=True)
class _Reached:
    """A cluster, as its administrator or as the user of the context that was given; and the address at which its
    workers reach this machine, empty where they cannot.
    """

    transport: Transport
    host: str = HOST


def run_up(options: UpOptions) -> None:
    """Run until Ctrl-C."""
    if options.cluster not in CLUSTERS:
        raise InvalidInput("--cluster", options.cluster, f"one of {', '.join(CLUSTERS)}")
    configure_logs("warning")
    uvloop.run(_up(options))


async def _up(options: UpOptions) -> None:
    clock, entropy = SystemClock(), Entropy()
    stop = stop_on_signals()
    existing = load_kubeconfig().target(options.context) if options.context else None
    async with AsyncExitStack() as stack:
        state = stack.enter_context(state_folder(options.state)).resolve()
        written = state / "url"
        written.unlink(missing_ok=True)  # a killed process may have left it: readers must not find the old address
        stack.callback(written.unlink, missing_ok=True)
        listener = stack.enter_context(contextlib.closing(bind(HOST, options.port)))
        token = load_token(state, "", entropy)
        url = f"http://{HOST}:{listener.getsockname()[1]}"
        ledger = await _open_ledger(stack, options, state, clock, entropy)
        reached = await _open_cluster(stack, options, existing, state, clock, entropy)
        client, listeners = KubeClient(reached.transport), [listener]
        if reached.host not in ("", HOST):
            listeners.append(stack.enter_context(contextlib.closing(bind(reached.host, listener.getsockname()[1]))))
        await install_crds(client, clock)
        if existing is None:
            await install_caller_roles(client)
            await install_headroom_class(client)
            await install_marks_policy(client, RELEASE)
        if options.demo:
            await start_demo(client, state / "demo")
        if options.traffic:
            await start_busy_pools(client)
        if existing is None:  # from here on with a name that nobody else has, to which the policy leaves the marks
            client = KubeClient(Impersonation(reached.transport, RELEASE.account, OPERATORS_GROUP))
        minter = WebhookMinter(MintKeys(client, clock), THIS_MACHINE)
        stack.push_async_callback(minter.close)
        documents = HttpDocuments(THIS_MACHINE)
        stack.push_async_callback(documents.close)
        name, activity = replica_name(""), PolledActivity(clock)
        given = Dependencies(
            client,
            ledger,
            clock,
            entropy,
            ReplicaOptions(name, url, worker_url=url.replace(HOST, reached.host) if reached.host else ""),
            Adapters(minter, activity, documents, HttpProbe(THIS_MACHINE), HttpOwnApi(url)),
        )
        access = AccessOptions(token, open_pages=True, tokens=tokens_file(load_settings()))

        def ready() -> None:
            fresh = written.with_suffix(".new")
            fresh.write_text(url + "\n")
            fresh.replace(written)  # atomic: a reader may wait for the file and read it at once
            _print_address(url, state, options.context)

        if options.traffic:
            traffic = Traffic(AsyncMooring(url, token), clock, entropy)
            stop = await stack.enter_async_context(running_traffic(traffic, stop))
        replays = await stack.enter_async_context(open_recordings(state / "replays"))
        await run_process(given, Entrance(listeners, access, replays=replays), stop, ready)


async def _open_ledger(
    stack: AsyncExitStack, options: UpOptions, state: Path, clock: Clock, entropy: Entropy
) -> Ledger:
    database = options.database
    if not database:
        _print_progress("starting PostgreSQL")
        server = EmbeddedServer(state / "postgres", clock=clock, entropy=entropy)
        database = await server.start()
        stack.push_async_callback(server.stop)
    ledger = await PostgresLedger.open(database, clock=clock, entropy=entropy)
    stack.push_async_callback(ledger.close)
    return ledger


async def _open_cluster(
    stack: AsyncExitStack, options: UpOptions, existing: Target | None, state: Path, clock: Clock, entropy: Entropy
) -> _Reached:
    """The embedded cluster, the real control plane, real nodes, or an existing cluster."""
    kubeconfig = state / "kubeconfig"
    if existing is not None:
        kubeconfig.unlink(missing_ok=True)  # it is of an embedded cluster that used this state folder before
        connection = await connect(existing, clock)
        stack.push_async_callback(connection.close)
        return _Reached(connection, host="")
    if options.cluster == "nodes":
        _print_progress(f"starting the Kubernetes control plane and {options.nodes} nodes")
        real_options = RealOptions(options.nodes, PlaneOptions(port=options.kube_port, context=CONTEXT))
        real = await stack.enter_async_context(real_cluster(state / "nodes", clock, entropy, real_options))
        _hand_out(kubeconfig, real.kubeconfig)
        return _Reached(real.transport, real.host)
    nodes = demo_nodes() if options.demo else plain_nodes(3)
    if options.cluster == "kubernetes":
        _print_progress("starting the Kubernetes control plane")
        plane_options = PlaneOptions(port=options.kube_port, context=CONTEXT)
        plane = await stack.enter_async_context(
            ControlPlane.start(state / "kubernetes", clock=clock, entropy=entropy, options=plane_options)
        )
        local = kubernetes_nodes(plane, state / "nodes", clock, entropy, LocalOptions(nodes=nodes))
    else:
        _print_progress("starting the sandbox cluster")
        local_options = LocalOptions(nodes=nodes, port=options.kube_port, context=CONTEXT)
        local = local_cluster(state / "sandbox", clock, entropy, local_options)
    cluster = await stack.enter_async_context(local)
    if cluster.kubeconfig is not None:
        _hand_out(kubeconfig, cluster.kubeconfig)
    return _Reached(cluster.transport)


def _hand_out(kubeconfig: Path, written: Path) -> None:
    kubeconfig.touch(0o600)
    kubeconfig.write_bytes(written.read_bytes())


def _print_progress(message: str) -> None:
    print(f"{message} …", file=sys.stderr, flush=True)


def _print_address(url: str, state: Path, context: str) -> None:
    print(f"Mooring is up: {url}", flush=True)
    which = f"--context {context}" if context else f"--kubeconfig {state / 'kubeconfig'}"
    print(f"  kubectl {which} get workerpools -A", file=sys.stderr)
    print(f"  token in {state / 'token'}; Ctrl-C stops everything", file=sys.stderr, flush=True)
