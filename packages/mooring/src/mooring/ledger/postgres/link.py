"""How a database is reached, read from its URL as the driver reads it."""

import os
from collections.abc import Mapping
from urllib.parse import parse_qs, unquote, urlsplit

from mooring.ledger.records import Link
from mooring.model.errors import Misconfigured

_DEFAULT_MODE = "prefer"
_ENFORCED = frozenset({"require", "verify-ca", "verify-full"})  # the driver connects in no other way


def read_link(url: str, *, encrypted: bool, environment: Mapping[str, str] = os.environ) -> Link:
    """The hosts and the mode: of the URL, else of the variables PGHOST and PGSSLMODE.

    `encrypted` is what the server says. Behind a proxy that ends TLS it sees the connection of the proxy, so a mode
    that enforces TLS counts more.
    """
    parts = urlsplit(url)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    named = parts.netloc.rpartition("@")[2] or query.get("host", "") or environment.get("PGHOST", "")
    hosts = tuple(host for one in named.split(",") if (host := _without_port(unquote(one))))
    mode = query.get("sslmode") or environment.get("PGSSLMODE") or _DEFAULT_MODE
    return Link(hosts, mode, encrypted or mode in _ENFORCED)


def require_files(url: str, environment: Mapping[str, str] = os.environ) -> None:
    """Raise `Misconfigured` if a file that the URL names for TLS cannot be read.

    The driver would report it as it reports a socket of a server that does not run.
    """
    query = {name: values[-1] for name, values in parse_qs(urlsplit(url).query).items()}
    for name in ("sslrootcert", "sslcert", "sslkey"):
        path = query.get(name) or environment.get(f"PG{name.upper()}", "")
        if path and not os.access(path, os.R_OK):
            raise Misconfigured(
                f"the database URL names {name}={path}, which cannot be read", fix="correct the path, or mount the file"
            )


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host if host.startswith("/") else host.partition(":")[0]
