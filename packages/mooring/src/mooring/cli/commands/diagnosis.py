"""Commands for diagnosis: the doctor, and the explanation of one pod."""

from typing import Annotated

import typer

from mooring.cli.application import Output, State, Token, Url, app, call_remote
from mooring.cli.output import Format


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
def explain(
    pod: Annotated[str, typer.Argument(help="pod/NAME, or pod/NAMESPACE/NAME.", metavar="pod/NAME")],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the pod.")] = "default",
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Explain why a pod runs or does not, for each node, and the smallest change that helps."""
    from mooring.cli.remote.diagnosis import run_explain

    call_remote(lambda endpoint: run_explain(endpoint, pod, namespace, output), url, token, state)
