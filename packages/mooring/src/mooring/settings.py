"""Settings of a Mooring process. Each has an environment variable; docs/reference/settings.md lists them all."""

import os
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, get_type_hints

from mooring.model.errors import InvalidInput
from mooring.model.submission import DEFAULT_CEILING

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Settings:
    """What an operator may choose. Names in the environment: `MOORING_` + the name in capitals."""

    host: Annotated[str, "Address the API and the dashboard listen on."] = "127.0.0.1"
    port: Annotated[int, "Port the API and the dashboard listen on."] = 8080
    tls_certificate: Annotated[
        str, "File with the certificate chain (PEM) for HTTPS; read again within 10 seconds when it changes."
    ] = ""
    tls_key: Annotated[str, "File with the private key (PEM) of that certificate."] = ""
    plain_http: Annotated[
        bool, "Serve plain HTTP also on an address that other machines reach, as behind a proxy that ends TLS."
    ] = False
    state: Annotated[Path, "Folder for tokens, the embedded cluster and the embedded database."] = Path(".state")
    database: Annotated[str, "PostgreSQL URL; serve needs one, up starts a server of its own without."] = ""
    database_connections: Annotated[
        int, "Most connections to PostgreSQL, besides one for notifications and one for heartbeats."
    ] = 10
    kubeconfig: Annotated[str, "Kubeconfig file; empty means $KUBECONFIG, ~/.kube/config or the pod's own account."] = (
        ""
    )
    context: Annotated[str, "Context of the kubeconfig; empty means its current one."] = ""
    namespaces: Annotated[str, "Namespaces to watch and work in, separated by commas; empty means all."] = ""
    token: Annotated[str, "Token of the operator, who may do everything; empty makes one in the state folder."] = ""
    tokens: Annotated[str, "File of named static tokens, read again when it changes; empty: there are none."] = ""
    worker_url: Annotated[str, "URL under which workers of Poll pools reach Mooring; empty leaves it to templates."] = (
        ""
    )
    worker_ca: Annotated[
        str, "File with the CA certificates (PEM) by which workers of Poll pools know Mooring; empty: those they have."
    ] = ""
    outgoing_allow: Annotated[
        str, "Hosts, .suffixes, addresses and CIDRs of mints, separated by commas; empty allows all but refused ones."
    ] = ""
    outgoing_loopback: Annotated[
        bool, "Allow outgoing calls to loopback addresses, as where pods are processes of this machine."
    ] = False
    requests_per_second: Annotated[int, "Requests a second that one caller may send on average."] = 1000
    request_burst: Annotated[int, "Requests that one caller may send at once, before the average counts."] = 2000
    open_requests: Annotated[
        int, "Claims of one caller that may be unanswered at a time, and as many other requests."
    ] = 500
    event_streams_each: Annotated[int, "Event streams that one caller may have open."] = 50
    event_streams: Annotated[int, "Event streams that may be open on a replica in all."] = 1000
    connections_each: Annotated[int, "Connections that one address may have open."] = 2000
    connections: Annotated[int, "Connections that may be open on a replica in all."] = 10_000
    replica: Annotated[str, "Name of this replica; empty means the host's name."] = ""
    open_pages: Annotated[bool, "Show pages without a login to browsers on this machine."] = False
    submission_ceiling: Annotated[int, "Most submissions that run at once in a namespace; others wait."] = (
        DEFAULT_CEILING
    )
    keep_claims_days: Annotated[int, "Days that ended claims and their idempotency keys are kept, at least 1."] = 7
    keep_audit_days: Annotated[int, "Days that completed rows of the audit trail are kept, at least 1."] = 90
    log_level: Annotated[str, "debug, info, warning or error."] = "info"


def read_namespaces(settings: Settings) -> tuple[str, ...]:
    """The namespaces to work in, each once; none means all."""
    found = tuple(dict.fromkeys(name.strip() for name in settings.namespaces.split(",") if name.strip()))
    for name in found:
        if not _NAMESPACE.fullmatch(name):
            raise InvalidInput("MOORING_NAMESPACES", name, "names of namespaces, separated by commas")
    return found


def describe_settings() -> dict[str, str]:
    """Every environment variable and what it means."""
    hints = get_type_hints(Settings, include_extras=True)
    return {f"MOORING_{name.upper()}": hint.__metadata__[0] for name, hint in hints.items()}


def load_settings() -> Settings:
    """Read every `MOORING_*` variable; an unreadable one is an error that names it."""
    types = get_type_hints(Settings)
    values: dict[str, object] = {}
    for setting in fields(Settings):
        variable = f"MOORING_{setting.name.upper()}"
        if (text := os.environ.get(variable)) is not None:
            values[setting.name] = _read(variable, text, types[setting.name])
    return Settings(**values)  # type: ignore[arg-type]


def _read(variable: str, text: str, wanted: type) -> object:
    if wanted is bool:
        if text.lower() not in ("true", "false"):
            raise InvalidInput(variable, text, "true or false")
        return text.lower() == "true"
    if wanted is int and not text.isdigit():
        raise InvalidInput(variable, text, "a whole number")
    return wanted(text)
