"""The paths of a kind as OpenAPI lists them: one operation for each verb."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from drydock.api.discovery import SUBRESOURCES
from drydock.api.kinds.kind import Kind
from drydock.api.openapi.schemas import DELETE_OPTIONS, PATCH, STATUS, SchemaWriter
from drydock.api.types import LIBRARY

_METHODS = {
    "create": "post",
    "delete": "delete",
    "deletecollection": "delete",
    "get": "get",
    "list": "get",
    "patch": "patch",
    "update": "put",
}
_ACTIONS = {"create": "post", "update": "put"}
_TITLES = {"create": "create", "get": "read", "update": "replace", "deletecollection": "deleteCollection"}
_CUSTOM_PATCH_TYPES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_PATCH_TYPES = (*_CUSTOM_PATCH_TYPES, "application/strategic-merge-patch+json")
_WRITE = {
    "dryRun": "All: go through every step but storing",
    "fieldManager": "who is writing",
    "fieldValidation": "what to do about unknown and duplicate fields: Ignore, Warn or Strict",
}
_PARAMETERS: dict[str, dict[str, str]] = {
    "create": _WRITE,
    "update": _WRITE,
    "patch": {**_WRITE, "force": "take over fields that others manage"},
    "delete": {
        "dryRun": "All: go through every step but storing",
        "gracePeriodSeconds": "how long a pod may take to end",
        "propagationPolicy": "what becomes of dependents: Orphan, Background or Foreground",
    },
    "list": {
        "allowWatchBookmarks": "send bookmarks in a watch",
        "continue": "where the page before this one ended",
        "fieldSelector": "which objects, by their fields",
        "labelSelector": "which objects, by their labels",
        "limit": "the most objects in a page",
        "resourceVersion": "how new the answer must be",
        "resourceVersionMatch": "how to read resourceVersion",
        "timeoutSeconds": "when to end the watch",
        "watch": "follow changes instead of listing",
    },
}
_PARAMETERS["deletecollection"] = {**_PARAMETERS["delete"], **_PARAMETERS["list"]}
_TYPES = {
    "gracePeriodSeconds": "integer",
    "limit": "integer",
    "timeoutSeconds": "integer",
    "force": "boolean",
    "watch": "boolean",
    "allowWatchBookmarks": "boolean",
    "ports": "integer",
    **dict.fromkeys(("stdin", "stdout", "stderr", "tty"), "boolean"),
}
# Subresources that are conversations: they have no body, only these parameters.
_CONNECTIONS: dict[str, dict[str, str]] = {
    "exec": {
        "command": "the command and its arguments, one a parameter",
        "container": "which container; may be left out where there is one",
        "stdin": "whether the command has an input",
        "stdout": "whether its output is wanted",
        "stderr": "whether its error output is wanted",
        "tty": "whether it has a terminal",
    },
    "portforward": {"ports": "the ports to forward, for clients that cannot name them later"},
}


@dataclass(frozen=True, slots=True)
class _Target:
    """What the operations of one path are about."""

    group: str
    version: str
    kind: str
    shape: str
    title: str
    custom: bool


class PathWriter:
    """Writes the paths of kinds in the form of one OpenAPI version."""

    def __init__(self, schemas: SchemaWriter, version: int) -> None:
        self._schemas = schemas
        self._version = version

    def paths(self, kind: Kind) -> dict[str, dict[str, Any]]:
        """Every path of the kind."""
        prefix = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        scope = "/namespaces/{namespace}" if kind.namespaced else ""
        collection = f"{prefix}{scope}/{kind.plural}"
        own = _Target(kind.group, kind.version, kind.kind, kind.schema.name, kind.kind, kind.custom)
        verbs = set(kind.verbs)
        found = {collection: self._item(own, verbs & {"list", "create", "deletecollection"}, kind.namespaced)}
        if kind.namespaced and "list" in verbs:
            found[f"{prefix}/{kind.plural}"] = self._item(own, {"list"}, False, "ForAllNamespaces")
        if verbs & {"get", "update", "patch", "delete"}:
            found[f"{collection}/{{name}}"] = self._item(
                own, verbs & {"get", "update", "patch", "delete"}, kind.namespaced, named=True
            )
        for name, target, operations in _subresources(kind, own):
            path = f"{collection}/{{name}}/{name}"
            if name in _CONNECTIONS:
                found[path] = self._connection(target, name)
            else:
                found[path] = self._item(target, operations, kind.namespaced, named=True)
        return {path: item for path, item in found.items() if item}

    def _item(
        self, target: _Target, verbs: set[str], namespaced: bool, suffix: str = "", *, named: bool = False
    ) -> dict[str, Any]:
        if not verbs:
            return {}
        scope = "Namespaced" if namespaced else ""
        item: dict[str, Any] = {
            _METHODS[verb]: self._operation(target, verb, f"{scope}{target.title}{suffix}") for verb in sorted(verbs)
        }
        names = [*(["name"] if named else []), *(["namespace"] if namespaced else [])]
        if names:
            item["parameters"] = [self._parameter(name, f"the object's {name}", "path") for name in names]
        return item

    def _connection(self, target: _Target, name: str) -> dict[str, Any]:
        """A namespaced path that is upgraded, by GET or by POST."""
        text = {"type": "string"}
        answer = {"schema": text} if self._version == 2 else {"content": {"*/*": {"schema": text}}}
        item: dict[str, Any] = {
            method: {
                "description": f"connect {method.upper()} requests to {name} of Pod",
                "tags": ["core_v1"],
                "operationId": f"connectCoreV1{method.capitalize()}Namespaced{target.title}",
                "responses": {"200": {"description": "OK", **answer}, "401": {"description": "Unauthorized"}},
                "x-kubernetes-action": "connect",
                "x-kubernetes-group-version-kind": {"group": "", "kind": target.kind, "version": "v1"},
            }
            for method in ("get", "post")
        }
        places = [self._parameter(each, f"the object's {each}", "path") for each in ("name", "namespace")]
        given = [self._parameter(each, said, "query") for each, said in _CONNECTIONS[name].items()]
        return {**item, "parameters": [*places, *given]}

    def _operation(self, target: _Target, verb: str, title: str) -> dict[str, Any]:
        group = "".join(part.capitalize() for part in target.group.split(".")[0:1]) or "Core"
        shape = f"{target.shape}List" if verb == "list" else STATUS if verb.startswith("delete") else target.shape
        operation: dict[str, Any] = {
            "description": f"{verb} {target.kind}",
            "tags": [f"{target.group.split('.')[0] or 'core'}_{target.version}"],
            "operationId": f"{_TITLES.get(verb, verb)}{group}{target.version.capitalize()}{title}",
            "parameters": [self._parameter(name, text, "query") for name, text in _PARAMETERS.get(verb, {}).items()],
            "responses": self._responses(shape),
            "x-kubernetes-action": _ACTIONS.get(verb, verb),
            "x-kubernetes-group-version-kind": {
                "group": target.group,
                "kind": target.kind,
                "version": target.version,
            },
        }
        self._add_body(operation, verb, target)
        return operation

    def _parameter(self, name: str, description: str, place: str) -> dict[str, Any]:
        parameter: dict[str, Any] = {"name": name, "in": place, "description": description}
        if place == "path":
            parameter["required"] = True
        kind = {"type": _TYPES.get(name, "string"), "uniqueItems": True}
        return parameter | (kind if self._version == 2 else {"schema": kind})

    def _add_body(self, operation: dict[str, Any], verb: str, target: _Target) -> None:
        body = {"create": target.shape, "update": target.shape, "patch": PATCH}.get(verb) or (
            DELETE_OPTIONS if verb.startswith("delete") else ""
        )
        if not body:
            return
        reference = self._schemas.reference(body)
        # kubectl chooses a strategic merge for every kind that announces it; custom kinds know no such patch.
        patches = _CUSTOM_PATCH_TYPES if target.custom else _PATCH_TYPES
        types = patches if verb == "patch" else ("*/*",)
        if self._version == 2:
            operation["consumes"] = list(types)
            operation["parameters"].append(
                {"name": "body", "in": "body", "required": not verb.startswith("delete"), "schema": reference}
            )
            return
        operation["requestBody"] = {"content": {kind: {"schema": reference} for kind in types}}

    def _responses(self, shape: str) -> dict[str, Any]:
        reference = self._schemas.reference(shape)
        answer: Mapping[str, Any] = (
            {"schema": reference} if self._version == 2 else {"content": {"application/json": {"schema": reference}}}
        )
        return {"200": {"description": "OK", **answer}, "401": {"description": "Unauthorized"}}


def _subresources(kind: Kind, own: _Target) -> Iterator[tuple[str, _Target, set[str]]]:
    for name in sorted(kind.subresources):
        subresource = SUBRESOURCES[name]
        title = f"{own.title}{name.capitalize()}"
        if not subresource.kind or name in _CONNECTIONS:
            kind_name = subresource.kind or own.kind
            yield name, _Target(own.group, own.version, kind_name, own.shape, title, own.custom), set(subresource.verbs)
            continue
        group = subresource.group.split(".")[0] or "core"
        shape = LIBRARY[f"{group}.{subresource.kind}"].name
        target = _Target(subresource.group, subresource.version or "v1", subresource.kind, shape, title, own.custom)
        yield name, target, set(subresource.verbs)
