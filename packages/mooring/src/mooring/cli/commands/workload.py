"""Commands for what runs on workers: their logs, commands inside them, and the dashboard."""

from typing import Annotated

import typer

from mooring.cli.application import (
    Key,
    Namespace,
    PoolArgument,
    Priority,
    State,
    Token,
    Ttl,
    Url,
    Wait,
    Worker,
    app,
    call_remote,
)

Container = Annotated[str, typer.Option("--container", "-c", help="Container; default: as kubectl chooses it.")]
Context = Annotated[str, typer.Option("--context", help="Context of your kubeconfig.")]
Kubeconfig = Annotated[
    str, typer.Option("--kubeconfig", help="Kubeconfig; default: that of a local 'mooring up', else as kubectl does.")
]


@app.command()
def logs(
    worker: Worker,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print new lines as they are written.")] = False,
    previous: Annotated[bool, typer.Option("--previous", help="Of the container before its last restart.")] = False,
    lines: Annotated[int, typer.Option("--lines", min=-1, help="Last lines to print; -1 prints all.")] = 100,
    container: Container = "",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Print the log of a worker, with kubectl and your own kubeconfig."""
    from mooring.cli.remote.workload import WorkerCommand, run_logs
    from mooring.client.kubectl import ClusterOptions

    flags = [f"--tail={lines}", *(["--follow"] if follow else []), *(["--previous"] if previous else [])]
    asked = WorkerCommand(worker, namespace, ClusterOptions(kubeconfig, context, container), state)
    call_remote(lambda endpoint: run_logs(asked, flags, endpoint), url, token, state)


@app.command("exec")
def execute(
    worker: Worker,
    command: Annotated[list[str], typer.Argument(help="Command to run in the worker.", metavar="-- CMD...")],
    container: Container = "",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Run a command in a worker without claiming it, with kubectl and your own kubeconfig."""
    from mooring.cli.remote.workload import WorkerCommand, run_exec
    from mooring.client.kubectl import ClusterOptions

    asked = WorkerCommand(worker, namespace, ClusterOptions(kubeconfig, context, container), state)
    call_remote(lambda endpoint: run_exec(asked, command, endpoint), url, token, state)


@app.command()
def run(
    pool: PoolArgument,
    command: Annotated[list[str], typer.Argument(help="Command to run on the worker.", metavar="-- CMD...")],
    owner: Annotated[str, typer.Option("--owner", help="Owner of the claim. Default: the caller.")] = "",
    ttl: Ttl = "5m",
    wait: Wait = "60s",
    key: Key = "",
    priority: Priority = 0,
    container: Container = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Claim a worker, run a command on it, release it; the exit code is that of the command."""
    from mooring.cli.remote.claim import ClaimCommand
    from mooring.cli.remote.workload import run_on_worker
    from mooring.client.kubectl import ClusterOptions

    asked = ClaimCommand(pool, tuple(command), owner, ttl, wait, key, priority)
    options = ClusterOptions(kubeconfig, context, container)
    raise typer.Exit(call_remote(lambda endpoint: run_on_worker(asked, options, state, endpoint), url, token, state))


@app.command("open")
def open_dashboard(
    only_print: Annotated[bool, typer.Option("--print", help="Only print the address.")] = False,
    url: Url = "",
    state: State = None,
) -> None:
    """Open the dashboard in a browser, and print its address."""
    import webbrowser

    from mooring.cli.output import print_line

    found = call_remote(lambda endpoint: endpoint.url, url, "", state)
    print_line(f"{found}/")
    if not only_print and not webbrowser.open(f"{found}/"):
        typer.echo("no browser could be opened here", err=True)
