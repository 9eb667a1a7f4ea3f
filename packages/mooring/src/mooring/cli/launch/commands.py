"""Commands that start something: the control plane, the sandbox, replays; and the manifests for a cluster."""

from pathlib import Path
from typing import Annotated

import typer

from mooring import __version__
from mooring.cli.application import DryRun, Yes, app
from mooring.cli.output import Format


@app.command()
def up(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of the API and the dashboard.")] = 8080,
    state: Annotated[Path, typer.Option("--state", help="Folder for all data that is kept.")] = Path(".state"),
    kube_port: Annotated[int, typer.Option("--kube-port", min=0, max=65535, help="Port of the embedded cluster.")] = 0,
    demo: Annotated[
        bool | None,
        typer.Option("--demo/--no-demo", help="Start the demo fleet; default: not with --context or real nodes."),
    ] = None,
    traffic: Annotated[
        bool, typer.Option("--traffic/--no-traffic", help="Claim workers of two demo pools now and then.")
    ] = True,
    cluster: Annotated[
        str,
        typer.Option("--cluster", help="sandbox, kubernetes for the real control plane, or nodes for real nodes too."),
    ] = "sandbox",
    nodes: Annotated[int, typer.Option("--nodes", min=1, max=100, help="Number of real nodes.")] = 3,
    context: Annotated[str, typer.Option("--context", help="Use an existing cluster of your kubeconfig.")] = "",
    database: Annotated[str, typer.Option("--database", help="PostgreSQL URL instead of the embedded server.")] = "",
) -> None:
    """Start a cluster, a database, the control plane and the dashboard on this machine."""
    from mooring.cli.failures import guarded
    from mooring.cli.launch.extras import extra_for

    with extra_for("up", "embedded"):
        from mooring.cli.launch.up import UpOptions, run_up

    with_demo = not context and cluster != "nodes" if demo is None else demo
    with_traffic = traffic and with_demo and not context
    options = UpOptions(port, state, kube_port, with_demo, with_traffic, cluster, context, database, nodes)
    guarded(lambda: run_up(options))


@app.command()
def sandbox(
    nodes: Annotated[int, typer.Option("--nodes", min=0, max=1000, help="Number of nodes, all alike.")] = 1,
    state: Annotated[Path, typer.Option("--state", help="Folder for all data that is kept.")] = Path(".sandbox"),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of the API; 0 takes a free one.")] = 0,
    runtime: Annotated[str, typer.Option("--runtime", help="process, or simulated.")] = "process",
) -> None:
    """Start an embedded Kubernetes alone."""
    from mooring.cli.failures import guarded
    from mooring.cli.launch.extras import extra_for

    with extra_for("sandbox", "embedded"):
        from mooring.cli.launch.sandbox import SandboxCommand, run_sandbox

    guarded(lambda: run_sandbox(SandboxCommand(nodes, state, port, runtime)))


@app.command()
def serve() -> None:
    """Run one replica of the control plane, as in a cluster; settings are MOORING_* variables."""
    from mooring.cli.failures import guarded
    from mooring.cli.launch.extras import extra_for

    with extra_for("serve", "server"):
        from mooring.cli.launch.serve import run_serve

    guarded(run_serve)


@app.command()
def install(
    image: Annotated[str, typer.Option("--image", help="Image of the control plane.")] = f"mooring:{__version__}",
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the control plane.")] = "mooring",
    node_pool: Annotated[
        str, typer.Option("--node-pool", help="Node pool to run on; its label and taints are read from the cluster.")
    ] = "",
    node_selector: Annotated[
        list[str] | None, typer.Option("--node-selector", help="Label of the nodes to run on, KEY=VALUE; repeatable.")
    ] = None,
    toleration: Annotated[
        list[str] | None, typer.Option("--toleration", help="Taint to tolerate, KEY[=VALUE][:EFFECT]; repeatable.")
    ] = None,
    affinity: Annotated[str, typer.Option("--affinity", help="Affinity of the pods: YAML, JSON, or @FILE.")] = "",
    context: Annotated[str, typer.Option("--context", help="Context of your kubeconfig to look at.")] = "",
    kubeconfig: Annotated[str, typer.Option("--kubeconfig", help="Kubeconfig; default: as kubectl does.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Print the manifests even if no node takes the pods.")] = False,
    values: Annotated[bool, typer.Option("--values", help="Print values for the Helm chart instead.")] = False,
) -> None:
    """Print CRDs, permissions and the Deployment, for kubectl apply -f -, if the cluster can run it."""
    from mooring.cli.failures import guarded
    from mooring.cli.launch.install import InstallOptions, run_install
    from mooring.cli.launch.placement_options import PlacementOptions

    placement = PlacementOptions(node_pool, node_selector or [], toleration or [], affinity)
    guarded(lambda: run_install(InstallOptions(image, namespace, placement, context, kubeconfig, force, values)))


@app.command()
def uninstall(
    crds: Annotated[
        bool, typer.Option("--crds", help="Remove pools, warmups, submissions, services and CRDs.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    keep_objects: Annotated[
        bool, typer.Option("--keep-objects", help="Leave Mooring's own objects, as for Helm to delete them.")
    ] = False,
    name: Annotated[str, typer.Option("--name", help="Name of the installation.")] = "mooring",
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the control plane.")] = "mooring",
    watch_namespace: Annotated[
        list[str] | None,
        typer.Option("--watch-namespace", help="Namespace that it worked in; default: all; repeatable."),
    ] = None,
    context: Annotated[str, typer.Option("--context", help="Context of your kubeconfig.")] = "",
    kubeconfig: Annotated[str, typer.Option("--kubeconfig", help="Kubeconfig; default: as kubectl does.")] = "",
) -> None:
    """Stop Mooring, take protection, budgets and stamps off workers, and remove its objects; users' work goes on."""
    from mooring.cli.failures import guarded
    from mooring.cli.launch.uninstall import UninstallOptions, run_uninstall
    from mooring.kinds.release import Release
    from mooring.kinds.removal import RemovalOptions

    removal = RemovalOptions(keep_objects, crds, dry_run)
    release, places = Release(namespace, name), watch_namespace or []
    guarded(lambda: run_uninstall(UninstallOptions(release, removal, yes, places, context, kubeconfig)))


@app.command()
def replay(
    name: Annotated[str, typer.Argument(help="Name of a replay, or 'all'; without a name they are listed.")] = "",
    without_protection: Annotated[
        bool, typer.Option("--without-protection", help="Only the half in which the outage happens.")
    ] = False,
    cluster: Annotated[
        str, typer.Option("--cluster", help="sandbox, or kubernetes for replays that support it.")
    ] = "sandbox",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the order of events.")] = 1,
    output: Annotated[Format, typer.Option("-o", "--output", help="table or json.")] = Format.TABLE,
    record: Annotated[
        Path | None, typer.Option("--record", help="File for events and maps of both halves, as JSON.")
    ] = None,
) -> None:
    """Replay an outage without and with protection, in virtual time."""
    from mooring.cli.failures import guarded
    from mooring.cli.launch.extras import extra_for

    with extra_for("replay", "embedded"):
        from mooring.cli.launch.replay import ReplayCommand, run_replays

    guarded(lambda: run_replays(ReplayCommand(name, without_protection, cluster, seed, output, record)))
