"""What the server serves, for clients: groups, versions and resources, plainly and aggregated."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from drydock.api.kinds.kind import Kind

JSON = "application/json"
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_EDIT = ("get", "patch", "update")
_VERSION_NAME = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


@dataclass(frozen=True, slots=True)
class Document:
    """A whole answer that does not depend on stored objects."""

    body: bytes
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200


def sealed(body: bytes, content_type: str = JSON, headers: dict[str, str] | None = None) -> Document:
    """A document that a client may keep, and ask for again by its tag.

    Its headers name the type too: on a 304 a caching client takes over whatever type that answer has.
    """
    etag = hashlib.sha512(body).hexdigest().upper()
    kept = {"content-type": content_type, "etag": f'"{etag}"', "vary": "Accept"}
    return Document(body, content_type, {**kept, **(headers or {})})


@dataclass(frozen=True, slots=True)
class Subresource:
    """What a subresource takes and what may be done with it; without a kind of its own it is its parent's."""

    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""
    kind: str = ""


SUBRESOURCES: dict[str, Subresource] = {
    "binding": Subresource(("create",), kind="Binding"),
    "ephemeralcontainers": Subresource(_EDIT),
    "eviction": Subresource(("create",), "policy", "v1", "Eviction"),
    "exec": Subresource(("create", "get"), kind="PodExecOptions"),
    "finalize": Subresource(("update",)),
    "log": Subresource(("get",)),
    "portforward": Subresource(("create", "get"), kind="PodPortForwardOptions"),
    "resize": Subresource(_EDIT),
    "scale": Subresource(_EDIT, "autoscaling", "v1", "Scale"),
    "status": Subresource(_EDIT),
    "token": Subresource(("create",), "authentication.k8s.io", "v1", "TokenRequest"),
}


def version_rank(version: str) -> tuple[int, int, int]:
    """Sorts versions as clients prefer them: v2 before v1 before v1beta2 before v1alpha1."""
    found = _VERSION_NAME.fullmatch(version)
    if found is None:
        return (1, 0, 0)
    stage = _STAGES[found[2]]
    return (-stage, -int(found[1]), -int(found[3] or 0))


class Discovery:
    """The discovery documents of one set of kinds."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._groups: dict[str, dict[str, list[Kind]]] = {"": {}}
        for kind in sorted(kinds, key=lambda kind: (kind.custom, kind.group if kind.custom else "")):
            self._groups.setdefault(kind.group, {}).setdefault(kind.version, []).append(kind)
        self._documents = self._plain()
        self._aggregates = {
            "/api": _aggregate({"": self._groups[""]}),
            "/apis": _aggregate({group: versions for group, versions in self._groups.items() if group}),
        }

    def find(self, path: str, accept: str = JSON) -> Document | None:
        """The document at a path, in the form asked for; None when there is none."""
        path = path.rstrip("/") or "/"
        if path in self._aggregates and _wants_aggregate(accept):
            return self._aggregates[path]
        return self._documents.get(path)

    def _plain(self) -> dict[str, Document]:
        named = {group: versions for group, versions in self._groups.items() if group}
        groups = {group: _group(group, versions) for group, versions in named.items()}
        found: dict[str, Any] = {
            "/api": {
                "kind": "APIVersions",
                "versions": list(self._groups[""]),
                "serverAddressByClientCIDRs": [],
            },
            "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": list(groups.values())},
        }
        for group, versions in self._groups.items():
            if group:
                found[f"/apis/{group}"] = {"kind": "APIGroup", "apiVersion": "v1", **groups[group]}
            for version, kinds in versions.items():
                prefix = f"/apis/{group}" if group else "/api"
                found[f"{prefix}/{version}"] = _resource_list(kinds)
        paths = sorted([*found, "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"])
        return {path: Document(msgspec.json.encode(body)) for path, body in {**found, "/": {"paths": paths}}.items()}


def _wants_aggregate(accept: str) -> bool:
    """Is the aggregated form the first that the client lists and we have?"""
    for choice in accept.split(","):
        parts = [part.strip() for part in choice.split(";")]
        if sorted(parts) == sorted(_AGGREGATED.split(";")):
            return True
        if parts[0] in (JSON, "*/*") and not any(part.startswith("as=") for part in parts):
            return False
    return False


def _group(group: str, versions: dict[str, list[Kind]]) -> dict[str, Any]:
    named = [{"groupVersion": f"{group}/{version}", "version": version} for version in _preferred(versions)]
    return {"name": group, "versions": named, "preferredVersion": named[0]}


def _preferred(versions: Iterable[str]) -> list[str]:
    return sorted(versions, key=version_rank)


def _resource_list(kinds: Sequence[Kind]) -> dict[str, Any]:
    resources = []
    for kind in sorted(kinds, key=lambda kind: kind.plural):
        resources.append(_resource(kind))
        resources += [_subresource(kind, name) for name in sorted(kind.subresources)]
    head = {"kind": "APIResourceList", "groupVersion": kinds[0].api_version, "resources": resources}
    return head if not kinds[0].group else {"apiVersion": "v1", **head}


def _resource(kind: Kind) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    return resource | _names(kind)


def _names(kind: Kind) -> dict[str, list[str]]:
    names = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    return {key: value for key, value in names.items() if value}


def _subresource(kind: Kind, name: str) -> dict[str, Any]:
    subresource = SUBRESOURCES[name]
    described: dict[str, Any] = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced}
    if subresource.group:
        described |= {"group": subresource.group, "version": subresource.version}
    return described | {"kind": subresource.kind or kind.kind, "verbs": list(subresource.verbs)}


def _aggregate(groups: dict[str, dict[str, list[Kind]]]) -> Document:
    items = []
    for group, versions in groups.items():
        described = [
            {
                "version": version,
                "resources": [_aggregated(kind) for kind in sorted(versions[version], key=lambda kind: kind.plural)],
                "freshness": "Current",
            }
            for version in _preferred(versions)
        ]
        items.append({"metadata": {"name": group} if group else {}, "versions": described})
    body = msgspec.json.encode(
        {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}
    )
    return sealed(body, _AGGREGATED, {"cache-control": "public"})


def _aggregated(kind: Kind) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
        **_names(kind),
    }
    if kind.subresources:
        resource["subresources"] = [_aggregated_subresource(kind, name) for name in sorted(kind.subresources)]
    return resource


def _aggregated_subresource(kind: Kind, name: str) -> dict[str, Any]:
    subresource = SUBRESOURCES[name]
    response = {
        "group": subresource.group or kind.group,
        "version": subresource.version or kind.version,
        "kind": subresource.kind or kind.kind,
    }
    return {"subresource": name, "responseKind": response, "verbs": list(subresource.verbs)}
