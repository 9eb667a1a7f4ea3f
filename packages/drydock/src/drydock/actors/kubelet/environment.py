"""A container's environment and command line: values, references, `$(VAR)`; in the words and order of Kubernetes."""

import base64
import re
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Protocol

from drydock.actors.machinery.objects import Object, annotations_of, labels_of, name_of, namespace_of, spec_of, uid_of
from hawser.errors import HawserError
from hawser.quantity import parse_quantity

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")
_SUBSCRIPT = re.compile(r"^metadata\.(labels|annotations)\['(.+)'\]$")


class ConfigFailed(HawserError):
    """A container's configuration names something that is not there: CreateContainerConfigError."""

    code = "container_config_failed"


class Sources(Protocol):
    """Where referenced objects come from; None when there is no such object."""

    async def config_map(self, namespace: str, name: str) -> Object | None: ...

    async def secret(self, namespace: str, name: str) -> Object | None: ...


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)`; `$$` is a dollar; what is unknown stays as it is written."""

    def replaced(match: re.Match[str]) -> str:
        if match[1]:
            return "$"
        return variables.get(match[2], match[0])

    return _REFERENCE.sub(replaced, text)


def expand_all(words: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """A command or its arguments."""
    return [expand(word, variables) for word in words]


class PodFields:
    """The fields of a pod that its containers can ask for (the downward API)."""

    def __init__(self, pod: Object, address: str, host_address: str, allocatable: Mapping[str, str]) -> None:
        self._pod = pod
        self._allocatable = allocatable
        spec = spec_of(pod)
        self._plain = {
            "metadata.name": name_of(pod),
            "metadata.namespace": namespace_of(pod),
            "metadata.uid": uid_of(pod),
            "spec.nodeName": str(spec.get("nodeName", "")),
            "spec.serviceAccountName": str(spec.get("serviceAccountName", "")),
            "status.hostIP": host_address,
            "status.hostIPs": host_address,
            "status.podIP": address,
            "status.podIPs": address,
        }

    def field(self, path: str) -> str:
        """The value at a fieldRef's path."""
        if path in self._plain:
            return self._plain[path]
        maps = {"labels": labels_of(self._pod), "annotations": annotations_of(self._pod)}
        if match := _SUBSCRIPT.match(path):
            return maps[match[1]].get(match[2], "")
        if path in ("metadata.labels", "metadata.annotations"):
            entries = sorted(maps[path.removeprefix("metadata.")].items())
            return "\n".join(f'{key}="{_quoted(value)}"' for key, value in entries)
        raise ConfigFailed(f"unsupported fieldPath: {path}")

    def resource(self, reference: Object, container: Object) -> str:
        """The value of a resourceFieldRef, in units of its divisor, rounded up."""
        bound, _, resource = str(reference["resource"]).partition(".")
        named = reference.get("containerName")
        if named:
            every = [*(spec_of(self._pod).get("initContainers") or ()), *spec_of(self._pod)["containers"]]
            container = next((entry for entry in every if entry["name"] == named), container)
        given = (container.get("resources") or {}).get(bound) or {}
        text = given.get(resource) or (self._allocatable.get(resource, "0") if bound == "limits" else "0")
        divisor = str(reference.get("divisor") or "1")
        unit = parse_quantity(divisor if divisor != "0" else "1")
        return str(ceil(parse_quantity(str(text)) / unit))


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


async def build_environment(
    pod: Object, container: Object, fields: PodFields, sources: Sources, base: Mapping[str, str]
) -> dict[str, str]:
    """Every variable of a container. `base` (what the node gives) can be referred to and overridden."""
    namespace = namespace_of(pod)
    declared: dict[str, str] = {}
    for entry in container.get("envFrom") or ():
        declared |= await _whole_source(entry, namespace, sources)
    for variable in container.get("env") or ():
        if text := variable.get("value"):
            declared[variable["name"]] = expand(text, {**base, **declared})
        elif reference := variable.get("valueFrom"):
            value = await _referred(reference, container, namespace, fields, sources)
            if value is not None:
                declared[variable["name"]] = value
        else:
            declared[variable["name"]] = ""
    return {**base, **declared}


async def _whole_source(entry: Object, namespace: str, sources: Sources) -> dict[str, str]:
    prefix = str(entry.get("prefix") or "")
    if reference := entry.get("configMapRef"):
        found = await require_config_map(reference, namespace, sources)
        data = dict((found or {}).get("data") or {})
    else:
        found = await require_secret(entry["secretRef"], namespace, sources)
        data = {key: _decoded(value) for key, value in ((found or {}).get("data") or {}).items()}
    return {prefix + key: value for key, value in data.items()}


async def _referred(
    reference: Object, container: Object, namespace: str, fields: PodFields, sources: Sources
) -> str | None:
    if field := reference.get("fieldRef"):
        return fields.field(str(field["fieldPath"]))
    if resource := reference.get("resourceFieldRef"):
        return fields.resource(resource, container)
    if key := reference.get("configMapKeyRef"):
        config_map = await require_config_map(key, namespace, sources)
        return _value_of(config_map, key, "ConfigMap", namespace)
    if key := reference.get("secretKeyRef"):
        value = _value_of(await require_secret(key, namespace, sources), key, "Secret", namespace)
        return None if value is None else _decoded(value)
    raise ConfigFailed(f"unsupported source of an environment variable: {', '.join(reference)}")


def _value_of(found: Object | None, reference: Object, kind: str, namespace: str) -> str | None:
    value = ((found or {}).get("data") or {}).get(reference["key"])
    if value is None and not reference.get("optional"):
        raise ConfigFailed(f"couldn't find key {reference['key']} in {kind} {namespace}/{reference['name']}")
    return value


async def require_config_map(reference: Object, namespace: str, sources: Sources) -> Object | None:
    """The ConfigMap, or None when it may be missing and is."""
    found = await sources.config_map(namespace, reference["name"])
    if found is None and not reference.get("optional"):
        raise ConfigFailed(f'configmap "{reference["name"]}" not found')
    return found


async def require_secret(reference: Object, namespace: str, sources: Sources) -> Object | None:
    """The Secret, or None when it may be missing and is."""
    name = reference.get("name") or reference["secretName"]
    found = await sources.secret(namespace, name)
    if found is None and not reference.get("optional"):
        raise ConfigFailed(f'secret "{name}" not found')
    return found


def _decoded(value: str) -> str:
    return base64.b64decode(value).decode("utf-8", "surrogateescape")
