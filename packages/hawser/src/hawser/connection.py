"""A connection to a cluster: where it is, whom to trust, who we are, all behind one transport.

`load_kubeconfig().target(context)`, `in_cluster_target()` and `Target(...)` say where; `connect` goes there.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hawser.clock import Clock
from hawser.credentials import (
    AuthenticatedTransport,
    Credential,
    Credentials,
    CredentialSource,
    FixedCredential,
    TokenFile,
)
from hawser.errors import Misconfigured
from hawser.http import HttpTransport
from hawser.tls import ClientCertificate, Trust
from hawser.transport import Request, Response

SYSTEM_TRUST = Trust()
ANONYMOUS = FixedCredential(Credential())
SERVICE_ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Target:
    """A cluster, and who we are there."""

    server: str
    trust: Trust = SYSTEM_TRUST
    source: CredentialSource = ANONYMOUS
    namespace: str = "default"
    context: str = ""  # the kubeconfig's name for it


class Connection:
    """A transport to one cluster, as one user. Close it."""

    def __init__(self, target: Target, clock: Clock) -> None:
        self.target = target
        self._credentials = Credentials(target.source, clock)
        self._http = HttpTransport(target.server, trust=target.trust, certificate=self._certificate)
        self._transport = AuthenticatedTransport(self._http, self._credentials)

    async def authenticate(self) -> None:
        """Gets the first credentials, so that a plugin that fails is heard of at once."""
        await self._credentials.current()

    async def send(self, request: Request) -> Response:
        return await self._transport.send(request)

    async def close(self) -> None:
        await self._http.close()

    def _certificate(self) -> ClientCertificate | None:
        held = self._credentials.held
        return held.certificate if held else None


async def connect(target: Target, clock: Clock) -> Connection:
    """A connection whose first credentials are loaded; nothing has been asked of the cluster yet."""
    connection = Connection(target, clock)
    await connection.authenticate()
    return connection


def runs_in_cluster(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process is a pod's."""
    return bool(environment.get("KUBERNETES_SERVICE_HOST"))


def in_cluster_target(environment: Mapping[str, str] = os.environ, folder: Path = SERVICE_ACCOUNT_FOLDER) -> Target:
    """The cluster that this process runs in, as its pod's service account."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise Misconfigured(
            "this process does not run in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
            fix="name a kubeconfig, or run in a pod",
        )
    return Target(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        trust=Trust(authority=_mounted(folder / "ca.crt").encode()),
        source=TokenFile(folder / "token"),
        namespace=_mounted(folder / "namespace").strip(),
    )


def _mounted(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise Misconfigured(
            f"the service account's {path.name} cannot be read from {path}: {error.strerror}",
            fix="give the pod a service account and leave automountServiceAccountToken on",
        ) from error
