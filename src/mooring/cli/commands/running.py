"""What runs: the control plane, the sandbox, the replays."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.application import app
from mooring.cli.output import Format


@app.command()
def up(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of the API and the dashboard.")] = 8080,
    state: Annotated[Path, typer.Option("--state", help="Folder for everything that is kept.")] = Path(".state"),
    kube_port: Annotated[int, typer.Option("--kube-port", min=0, max=65535, help="Port of the embedded cluster.")] = 0,
    demo: Annotated[
        bool | None, typer.Option("--demo/--no-demo", help="Start the demo fleet; off with --context unless asked for.")
    ] = None,
    traffic: Annotated[
        bool, typer.Option("--traffic/--no-traffic", help="Let pretend owners use two pools of the demo.")
    ] = True,
    cluster: Annotated[
        str, typer.Option("--cluster", help="sandbox, or kubernetes for the real control plane.")
    ] = "sandbox",
    context: Annotated[str, typer.Option("--context", help="Use an existing cluster of your kubeconfig.")] = "",
    database: Annotated[str, typer.Option("--database", help="PostgreSQL URL instead of the embedded server.")] = "",
) -> None:
    """A cluster, a database, the control plane and the dashboard, on this machine."""
    from mooring.cli.failures import guarded
    from mooring.cli.up import UpOptions, run_up

    with_demo = not context if demo is None else demo
    with_traffic = traffic and with_demo and not context
    guarded(lambda: run_up(UpOptions(port, state, kube_port, with_demo, with_traffic, cluster, context, database)))


@app.command()
def sandbox(
    nodes: Annotated[int, typer.Option("--nodes", min=0, max=1000, help="How many nodes, all alike.")] = 1,
    state: Annotated[Path, typer.Option("--state", help="Folder for everything that is kept.")] = Path(".sandbox"),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of the API; 0 takes a free one.")] = 0,
    runtime: Annotated[str, typer.Option("--runtime", help="process, or simulated.")] = "process",
) -> None:
    """An embedded Kubernetes alone, for anyone's tests."""
    from mooring.cli.failures import guarded
    from mooring.cli.sandbox import SandboxCommand, run_sandbox

    guarded(lambda: run_sandbox(SandboxCommand(nodes, state, port, runtime)))


@app.command()
def serve() -> None:
    """The control plane and its API, as it runs in a cluster; settings come from MOORING_* variables."""
    from mooring.cli.failures import guarded
    from mooring.cli.serve import run_serve

    guarded(run_serve)


@app.command()
def install(
    image: Annotated[str, typer.Option("--image", help="Image of the control plane.")] = "mooring:latest",
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace to run in.")] = "mooring",
) -> None:
    """Print CRDs, permissions and the Deployment, for kubectl apply -f -."""
    from mooring.cli.install import print_manifests

    print_manifests(image, namespace)


@app.command()
def replay(
    name: Annotated[str, typer.Argument(help="A replay, or 'all'; without a name they are listed.")] = "",
    without_protection: Annotated[
        bool, typer.Option("--without-protection", help="Only the half in which the outage happens.")
    ] = False,
    cluster: Annotated[str, typer.Option("--cluster", help="sandbox, or kubernetes for those that can.")] = "sandbox",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides the order of everything.")] = 1,
    output: Annotated[Format, typer.Option("-o", "--output", help="table or json.")] = Format.TABLE,
) -> None:
    """Play an outage again, without and with protection, in virtual time."""
    from mooring.cli.failures import guarded
    from mooring.cli.replay import ReplayCommand, run_replays

    guarded(lambda: run_replays(ReplayCommand(name, without_protection, cluster, seed, output)))
