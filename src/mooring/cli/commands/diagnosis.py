"""What is wrong, and why: the doctor, and the explanation of one pod."""

from typing import Annotated

import typer

from mooring.cli.application import Output, State, Token, Url, app, ask
from mooring.cli.output import Format


@app.command()
def doctor(
    everything: Annotated[bool, typer.Option("--all", "-a", help="Also the lines that are ok.")] = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Everything an operator would check; exit code 1 when a line fails."""
    from mooring.cli.diagnosis import run_doctor

    raise typer.Exit(ask(lambda endpoint: run_doctor(endpoint, output, everything=everything), url, token, state))


@app.command()
def explain(
    pod: Annotated[str, typer.Argument(help="pod/NAME, or pod/NAMESPACE/NAME.", metavar="pod/NAME")],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the pod.")] = "default",
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Why a pod runs or does not: any pod, every node's verdict, and the smallest change that helps."""
    from mooring.cli.diagnosis import run_explain

    ask(lambda endpoint: run_explain(endpoint, pod, namespace, output), url, token, state)
