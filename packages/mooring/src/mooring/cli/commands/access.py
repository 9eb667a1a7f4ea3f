"""Commands for callers: log in, and who the caller is."""

from typing import Annotated

import typer

from mooring.cli.application import Output, State, Token, Url, app, call_remote
from mooring.cli.output import Format


@app.command()
def login(
    token_file: Annotated[str, typer.Option("--token-file", help="File with the token; '-' reads stdin.")] = "",
    service_account: Annotated[
        str, typer.Option("--service-account", help="NAMESPACE/NAME: ask the cluster for a token of this account.")
    ] = "",
    context: Annotated[str, typer.Option("--context", help="Context of your kubeconfig, for --service-account.")] = "",
    new_token: Annotated[
        str, typer.Option("--new-token", help="Print a new static token of this name and its entry, and stop.")
    ] = "",
    user: Annotated[str, typer.Option("--user", help="User of the new static token; default: its name.")] = "",
    group: Annotated[list[str] | None, typer.Option("--group", help="Group of the new token; repeatable.")] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Delete the stored login, and stop.")] = False,
    url: Url = "",
    state: State = None,
) -> None:
    """Store the address of Mooring and a token for it, after the server has confirmed the token."""
    from mooring.cli.failures import guarded
    from mooring.cli.remote.login import LoginCommand, run_forget, run_login, run_new_token

    if forget:
        guarded(run_forget)
    elif new_token:
        guarded(lambda: run_new_token(new_token, user, group or []))
    else:
        guarded(lambda: run_login(LoginCommand(url, token_file, service_account, context, state)))


@app.command()
def whoami(
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="What the caller may do in this namespace.")] = "",
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Print the identity that the server sees in the caller, and what the caller may do."""
    from mooring.cli.remote.login import run_whoami

    call_remote(lambda endpoint: run_whoami(endpoint, namespace, output), url, token, state)
