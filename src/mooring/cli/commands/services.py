"""Services: whether they serve, and why not."""

from typing import Annotated

import typer

from mooring.cli.application import Namespace, Output, State, Token, Url, Watch, app, ask
from mooring.cli.output import Format


@app.command()
def services(
    name: Annotated[str, typer.Argument(help="Only this one (name, or namespace/name).")] = "",
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Services: phase, endpoints of their API, why, and the fix."""
    from mooring.cli.services import run_services

    ask(lambda endpoint: run_services(endpoint, name, namespace, output, watch=watch), url, token, state)
