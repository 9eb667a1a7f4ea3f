"""Commands for diagnosis: the status, the doctor, and explanations."""

from typing import Annotated

import typer

from mooring.cli.application import Output, State, Token, Url, app, call_remote
from mooring.cli.completion import complete_explained, complete_runbook
from mooring.cli.output import Format


@app.command()
def status(output: Output = Format.TABLE, url: Url = "", token: Token = "", state: State = None) -> None:
    """Print health, pools, queue and the worst problem on about ten lines; exit code 1 when a check fails."""
    from mooring.cli.remote.status import run_status

    raise typer.Exit(call_remote(lambda endpoint: run_status(endpoint, output), url, token, state))


@app.command()
def top(
    interval: Annotated[float, typer.Option("--interval", min=0.5, help="Seconds between updates.")] = 2.0,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Print the status with all pools repeatedly, until Ctrl-C."""
    from mooring.cli.remote.status import run_top

    call_remote(lambda endpoint: run_top(endpoint, interval), url, token, state)


@app.command()
def doctor(
    everything: Annotated[bool, typer.Option("--all", "-a", help="Also print the checks that are ok.")] = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Check the whole installation; exit code 1 when a check fails."""
    from mooring.cli.remote.diagnosis import run_doctor

    code = call_remote(lambda endpoint: run_doctor(endpoint, output, everything=everything), url, token, state)
    raise typer.Exit(code)


@app.command()
def runbook(
    name: Annotated[
        str,
        typer.Argument(
            help="Alert, invariant, line of the doctor or error code. Without it: the names of all sections.",
            autocompletion=complete_runbook,
        ),
    ] = "",
) -> None:
    """Print what a message means, how bad it is and what to do; needs no server."""
    from mooring.cli.failures import guarded
    from mooring.cli.remote.runbook import run_runbook

    guarded(lambda: run_runbook(name))


@app.command()
def explain(
    target: Annotated[
        str,
        typer.Argument(
            help="pod, pool, worker, node, claim or service, and its name: pool/NAMESPACE/NAME, or pool/NAME.",
            metavar="KIND/NAME",
            autocompletion=complete_explained,
        ),
    ],
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace", "-n", help="Namespace; of a pod, default: that of the worker with this name, else default."
        ),
    ] = "",
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Explain the state of an object and what helps; of a pod or worker also for each node why it fits or not."""
    from mooring.cli.remote.explanation import ExplainCommand, run_explain

    asked = ExplainCommand(target, namespace)
    call_remote(lambda endpoint: run_explain(asked, endpoint, output), url, token, state)
