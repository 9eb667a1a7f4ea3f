"""Kubeconfig files, found and merged as kubectl does it, down to one cluster and user to connect to."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from yarl import URL

from hawser.connection import ANONYMOUS, Target
from hawser.errors import Misconfigured
from hawser.kubeconfig_entry import Entry, read_file
from hawser.kubeconfig_user import credential_source
from hawser.tls import Trust, client_context

_DEEPEST = 100  # levels; what extensions of other tools add is not known
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """What the files say together; of two entries with one name the first file's counts."""

    files: tuple[Path, ...]
    current_context: str
    contexts: Mapping[str, Entry]
    clusters: Mapping[str, Entry]
    users: Mapping[str, Entry]

    def target(self, context: str = "") -> Target:
        """Where a context leads; the current one when none is named."""
        name = context or self.current_context
        if name not in self.contexts:
            source = "the context asked for" if context else "current-context"
            raise self._no_context(f"{source} is {name!r}, which no file has" if name else f"{source} is empty")
        chosen = self.contexts[name]
        cluster = self._named(chosen, "cluster", self.clusters)
        user = self._named(chosen, "user", self.users) if chosen.has("user") else None
        trust = _trust(cluster)
        return Target(
            server=_server(cluster),
            trust=trust,
            source=credential_source(user, cluster) if user else ANONYMOUS,
            namespace=chosen.text("namespace") or "default",
            context=name,
        )

    def _named(self, context: Entry, field: str, entries: Mapping[str, Entry]) -> Entry:
        name = context.text(field)
        if name not in entries:
            what = f"names {name!r}, which no file has" if name else "is missing"
            raise context.wrong(field, what, self._choice(f"a {field}", entries))
        return entries[name]

    def _choice(self, what: str, names: Mapping[str, Entry]) -> str:
        return f"name {what}, one of: {', '.join(sorted(names))}" if names else f"add {what}; there is none at all"

    def _no_context(self, what: str) -> Misconfigured:
        files = ", ".join(map(str, self.files))
        detail = {"file": files, "field": "current-context"}
        return Misconfigured(f"kubeconfig {files}: {what}", fix=self._choice("a context", self.contexts), detail=detail)


def load_kubeconfig(path: str | Path = "", environment: Mapping[str, str] = os.environ) -> Kubeconfig:
    """The file named; else those of `$KUBECONFIG`; else `~/.kube/config`."""
    if path:
        return merge([_read(Path(path).expanduser())])
    listed = [Path(part).expanduser() for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    candidates = listed or [Path.home() / ".kube" / "config"]
    found = [candidate for candidate in candidates if candidate.exists()]
    if not found:
        raise Misconfigured(
            f"there is no kubeconfig: looked for {', '.join(map(str, candidates))}",
            fix="name one with --kubeconfig or $KUBECONFIG",
            detail={"field": "KUBECONFIG"},
        )
    return merge([_read(candidate) for candidate in found])


def merge(documents: Sequence[Entry]) -> Kubeconfig:
    """One kubeconfig out of several; what the first says stays."""
    contexts: dict[str, Entry] = {}
    clusters: dict[str, Entry] = {}
    users: dict[str, Entry] = {}
    current = ""
    for document in documents:
        current = current or document.text("current-context")
        # What stands on the right wins: the entries of the files before.
        contexts = _entries(document, "contexts", "context") | contexts
        clusters = _entries(document, "clusters", "cluster") | clusters
        users = _entries(document, "users", "user") | users
    return Kubeconfig(tuple(document.file for document in documents), current, contexts, clusters, users)


def _read(path: Path) -> Entry:
    path = path.absolute()
    whole = Entry(path, "", {})
    try:
        content = _parse(read_file(path).decode("utf-8"))
    except OSError as error:
        raise Misconfigured(
            f"kubeconfig {path} cannot be read: {error.strerror}",
            fix="correct the path or the file's permissions",
            detail={"file": str(path)},
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that does not exist is a ValueError
        told = " ".join(str(error).split())
        raise Misconfigured(
            f"kubeconfig {path} is not YAML: {told}", fix="correct the file at that place", detail={"file": str(path)}
        ) from error
    if content is None:
        return whole
    if not isinstance(content, dict):
        raise Misconfigured(
            f"kubeconfig {path} holds {type(content).__name__}, not a map",
            fix="it must begin with `apiVersion: v1` and `kind: Config`",
            detail={"file": str(path)},
        )
    return Entry(path, "", content)


def _parse(text: str) -> Any:
    """The content. Its depth is counted first: in the C loader, a deep nesting exhausts the stack of the process."""
    depth = 0
    for event in yaml.parse(text, _LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError(f"it nests deeper than {_DEEPEST} levels")
    return yaml.load(text, _LOADER)


def _entries(document: Entry, plural: str, singular: str) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for item in document.parts(plural):
        name = item.text("name")
        if not name:
            raise item.wrong("name", "is missing", f"give each of the {plural} a name")
        if name in found:
            raise document.wrong(plural, f"has {name!r} twice", "rename or remove one of them")
        fields = item.part(singular).fields if item.has(singular) else {}
        found[name] = Entry(document.file, f"{plural}[{name}].{singular}", fields)
    return found


def _server(cluster: Entry) -> str:
    server = cluster.text("server")
    if not _is_address(server):
        raise cluster.wrong("server", f"is {server!r}, no address", "write https://HOST:PORT")
    if cluster.has("proxy-url"):
        raise cluster.wrong("proxy-url", "is set, and proxies are not supported", "run where no proxy is needed")
    return server


def _is_address(server: str) -> bool:
    """Whether paths can be appended to it. Credentials belong to the user, and would collide with the user's."""
    try:
        address = urlsplit(server)
        URL(server)
        usable = address.port != 0
    except ValueError:  # brackets that are not closed, or a port that is no number
        return False
    plain = server.isprintable() and " " not in server and not any(mark in server for mark in "?#@")
    return usable and plain and address.scheme in ("http", "https") and bool(address.hostname)


def _trust(cluster: Entry) -> Trust:
    trust = Trust(
        authority=cluster.content("certificate-authority"),
        verify=not cluster.flag("insecure-skip-tls-verify"),
        server_name=cluster.text("tls-server-name"),
    )
    if trust.authority and not trust.verify:
        what = "is true although there is a certificate authority"
        raise cluster.wrong("insecure-skip-tls-verify", what, "remove one of the two")
    if trust.authority:
        try:
            client_context(trust, None)
        except Misconfigured as error:
            field = cluster.source_of("certificate-authority")
            raise cluster.wrong(field, f"is of no use: {error.message}", error.fix) from error
    return trust
