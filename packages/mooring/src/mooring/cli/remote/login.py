"""`mooring login` and `mooring whoami`."""

import asyncio
import getpass
import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from hawser.clock import Entropy
from mooring.cli.output import Format, Row, print_line, show_one
from mooring.client.connection import Connection, Endpoint, check_endpoint, find_endpoint
from mooring.client.login_file import Login, forget_login, login_path, write_login
from mooring.model.errors import InvalidInput, Misconfigured
from mooring.model.names import API_AUDIENCE

_TOKEN_SECONDS = 12 * 3600
_TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class LoginCommand:
    """The arguments of `login`."""

    url: str
    token_file: str
    service_account: str
    context: str
    state: Path | None


def run_login(asked: LoginCommand) -> None:
    """Check the token with the server, store it, and print whom it stands for."""
    if asked.token_file and asked.service_account:
        raise InvalidInput("--token-file", asked.token_file, "left out with --service-account")
    found = find_endpoint(asked.url, "-", asked.state)
    if asked.service_account:
        token = asyncio.run(_request_token(asked.service_account, asked.context))
    else:
        token = _read_token(asked.token_file)
    if not token:
        raise InvalidInput("token", token, "not empty")
    caller = Connection(check_endpoint(Endpoint(found.url, token, found.ca))).get("/v1/whoami")
    path = write_login(Login(found.url, token))
    print_line(f"logged in to {found.url} as {caller['user']}; stored in {path}")


def run_forget() -> None:
    """Delete the stored login."""
    found = forget_login()
    print_line(f"{login_path()} deleted" if found else "there is no stored login")


def run_new_token(name: str, user: str, groups: list[str]) -> None:
    """Print a new token, and the entry that makes it valid. The token is kept nowhere."""
    token = Entropy().token(_TOKEN_BYTES)
    entry = {
        "name": name,
        "user": user or name,
        "groups": groups,
        "sha256": [hashlib.sha256(token.encode()).hexdigest()],
    }
    print_line(f"token: {token}")
    print_line("add to the file that MOORING_TOKENS names, under 'tokens:':")
    print_line(f"- {json.dumps(entry)}")


def run_whoami(endpoint: Endpoint, namespace: str, output: Format) -> None:
    """Print the caller."""
    caller: Row = Connection(endpoint).get("/v1/whoami", {"namespace": namespace})
    show_one("Whoami", caller, output, f"user/{caller['user']}", lambda: _print_caller(caller))


def _print_caller(caller: Row) -> None:
    print_line(f"user:       {caller['user']} ({caller['via']})")
    print_line(f"groups:     {', '.join(caller['groups']) or '-'}")
    print_line(f"owner:      {caller['owner']}")
    print_line(f"namespaces: {', '.join(caller['namespaces']) or '-'}")
    place = f"in {caller['namespace']}" if caller["namespace"] else "in all namespaces"
    allowed = [right for right, may in caller["rights"].items() if may]
    print_line(f"may {place}: {', '.join(allowed) or 'nothing'}")


def _read_token(file: str) -> str:
    if file and file != "-":
        try:
            return Path(file).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Misconfigured(f"--token-file: {file} cannot be read: {error}", fix="name a file") from error
    if not file and sys.stdin.isatty():
        return getpass.getpass("Token: ").strip()
    return sys.stdin.readline().strip()


async def _request_token(account: str, context: str) -> str:
    """A token of a ServiceAccount, with the rights of the kubeconfig."""
    from hawser.client import KubeClient
    from hawser.clock import SystemClock
    from hawser.connection import connect
    from hawser.kubeconfig import load_kubeconfig
    from hawser.resources import SERVICEACCOUNTS

    namespace, slash, name = account.partition("/")
    if not (namespace and slash and name):
        raise InvalidInput("--service-account", account, "NAMESPACE/NAME")
    connection = await connect(load_kubeconfig().target(context), SystemClock())
    try:
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {"name": name},
            "spec": {"audiences": [API_AUDIENCE], "expirationSeconds": _TOKEN_SECONDS},
        }
        answer = await KubeClient(connection).create(SERVICEACCOUNTS.raw(), body, namespace, subresource="token")
        return str(answer["status"]["token"])
    finally:
        await connection.close()
