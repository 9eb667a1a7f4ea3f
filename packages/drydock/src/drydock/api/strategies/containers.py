"""The rules for a pod's containers."""

from collections.abc import Iterator
from typing import Any

from drydock.api.answers.causes import duplicate, forbidden, invalid, not_found, not_supported, required
from drydock.api.answers.status import Cause
from drydock.api.objects.names import config_key, dns_label, dns_subdomain, environment_name, port_name
from drydock.api.strategies.probes import wrong_lifecycle, wrong_port, wrong_probes
from drydock.api.strategies.resources import wrong_requirements
from drydock.api.strategies.volumes import wrong_descent

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_FIELD_PATHS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_VALUE_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"


def wrong_containers(path: str, spec: dict[str, Any], volumes: set[str]) -> Iterator[Cause]:
    """What is wrong with the containers and init containers of a pod spec."""
    containers = spec.get("containers") or []
    if not containers:
        yield required(f"{path}.containers")
    names: set[str] = set()
    for index, container in enumerate(containers):
        here = f"{path}.containers[{index}]"
        yield from _wrong_container(here, container, volumes)
        name = container.get("name", "")
        if name in names:
            yield duplicate(f"{here}.name", name)
        names.add(name)
        yield from wrong_lifecycle(f"{here}.lifecycle", container.get("lifecycle"))
        yield from wrong_probes(here, container)
        yield from _wrong_restart_policy(here, container)
    yield from _clashing_host_ports(f"{path}.containers", containers)
    for index, container in enumerate(spec.get("initContainers") or ()):
        yield from _wrong_init_container(f"{path}.initContainers[{index}]", container, volumes, names)
    targets = set(names)
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        here = f"{path}.ephemeralContainers[{index}]"
        yield from _wrong_container(here, container, volumes)
        yield from _wrong_ephemeral_container(here, container, names, targets)


def _wrong_init_container(path: str, container: dict[str, Any], volumes: set[str], names: set[str]) -> Iterator[Cause]:
    yield from _wrong_container(path, container, volumes)
    yield from _wrong_restart_policy(path, container)
    name = container.get("name", "")
    if name in names:
        yield duplicate(f"{path}.name", name)
    elif name:
        names.add(name)
    if container.get("restartPolicy") == "Always":
        yield from wrong_lifecycle(f"{path}.lifecycle", container.get("lifecycle"))
        yield from wrong_probes(path, container)
        return
    for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
        if field in container:
            yield forbidden(f"{path}.{field}", _ONLY_SIDECARS)


def _wrong_ephemeral_container(
    path: str, container: dict[str, Any], names: set[str], targets: set[str]
) -> Iterator[Cause]:
    name, target = container.get("name", ""), container.get("targetContainerName")
    if name in names:
        yield duplicate(f"{path}.name", name)
    names.add(name)
    if target and target not in targets:
        yield not_found(f"{path}.targetContainerName", target)
    for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe", "ports"):
        if field in container:
            yield forbidden(f"{path}.{field}", "cannot be set for an Ephemeral Container")


def _wrong_container(path: str, container: dict[str, Any], volumes: set[str]) -> Iterator[Cause]:
    name = container.get("name") or ""
    if not name:
        yield required(f"{path}.name")
    else:
        yield from (invalid(f"{path}.name", name, told) for told in dns_label(name))
    image = container.get("image") or ""
    if not image:
        yield required(f"{path}.image")
    elif image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
    policy = container.get("terminationMessagePolicy", "")
    if policy not in _MESSAGE_POLICIES:
        yield not_supported(f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    yield from _wrong_ports(f"{path}.ports", container.get("ports") or [])
    for index, variable in enumerate(container.get("env") or ()):
        yield from _wrong_variable(f"{path}.env[{index}]", variable)
    yield from _wrong_sources(f"{path}.envFrom", container.get("envFrom") or [])
    yield from _wrong_mounts(f"{path}.volumeMounts", container.get("volumeMounts") or [], volumes)
    pull_policy = container.get("imagePullPolicy", "")
    if pull_policy not in _PULL_POLICIES:
        yield not_supported(f"{path}.imagePullPolicy", pull_policy, _PULL_POLICIES)
    yield from wrong_requirements(f"{path}.resources", container.get("resources") or {})


def _wrong_restart_policy(path: str, container: dict[str, Any]) -> Iterator[Cause]:
    policy = container.get("restartPolicy")
    if policy is None:
        if container.get("restartPolicyRules"):
            yield required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy not in _RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)


def _wrong_ports(path: str, ports: list[dict[str, Any]]) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        here = f"{path}[{index}]"
        if name := port.get("name"):
            mistakes = [invalid(f"{here}.name", name, told) for told in port_name(name)]
            yield from mistakes
            if not mistakes and name in names:
                yield duplicate(f"{here}.name", name)
            names.add(name)
        if not port.get("containerPort"):
            yield required(f"{here}.containerPort")
        else:
            yield from wrong_port(f"{here}.containerPort", port["containerPort"])
        if port.get("hostPort"):
            yield from wrong_port(f"{here}.hostPort", port["hostPort"])
        if port.get("protocol") not in _PROTOCOLS:
            yield not_supported(f"{here}.protocol", port.get("protocol"), _PROTOCOLS)


def _clashing_host_ports(path: str, containers: list[dict[str, Any]]) -> Iterator[Cause]:
    taken: set[str] = set()
    for number, container in enumerate(containers):
        for index, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            place = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if place in taken:
                yield duplicate(f"{path}[{number}].ports[{index}].hostPort", place)
            taken.add(place)


def _wrong_variable(path: str, variable: dict[str, Any]) -> Iterator[Cause]:
    name = variable.get("name") or ""
    if not name:
        yield required(f"{path}.name")
    else:
        yield from (invalid(f"{path}.name", name, told) for told in environment_name(name))
    source = variable.get("valueFrom")
    if source is None:
        return
    path = f"{path}.valueFrom"
    if "fieldRef" in source:
        yield from _wrong_field_reference(f"{path}.fieldRef", source["fieldRef"])
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            yield from _wrong_key_reference(f"{path}.{kind}", source[kind])
    given = [kind for kind in _VALUE_SOURCES if kind in source]
    if not given:
        choices = ", ".join(f"`{kind}`" for kind in _VALUE_SOURCES[:-1])
        yield invalid(path, "", f"must specify one of: {choices} or `{_VALUE_SOURCES[-1]}`")
    elif variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _wrong_field_reference(path: str, reference: dict[str, Any]) -> Iterator[Cause]:
    field = reference.get("fieldPath") or ""
    if not field:
        yield required(f"{path}.fieldPath")
    elif not field.startswith(("metadata.annotations['", "metadata.labels['")) and field not in _FIELD_PATHS:
        if field.startswith(("metadata.", "spec.", "status.")) and field in ("metadata.annotations", "metadata.labels"):
            yield not_supported(f"{path}.fieldPath", field, _FIELD_PATHS)
        else:
            told = f"error converting fieldPath: field label not supported: {field}"
            yield invalid(f"{path}.fieldPath", field, told)


def _wrong_key_reference(path: str, reference: dict[str, Any]) -> Iterator[Cause]:
    name = reference.get("name", "")
    yield from (invalid(f"{path}.name", name, told) for told in dns_subdomain(name))
    key = reference.get("key") or ""
    if not key:
        yield required(f"{path}.key")
    yield from (invalid(f"{path}.key", key, told) for told in (config_key(key) if key else ()))


def _wrong_sources(path: str, sources: list[dict[str, Any]]) -> Iterator[Cause]:
    for index, source in enumerate(sources):
        if prefix := source.get("prefix"):
            yield from (invalid(f"{path}[{index}].prefix", prefix, told) for told in environment_name(prefix))
        given = [kind for kind in ("configMapRef", "secretRef") if kind in source]
        for kind in given:
            if not source[kind].get("name"):
                yield required(f"{path}[{index}].{kind}.name")
        if not given:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")


def _wrong_mounts(path: str, mounts: list[dict[str, Any]], volumes: set[str]) -> Iterator[Cause]:
    places: set[str] = set()
    for index, mount in enumerate(mounts):
        here, name, place = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{here}.name")
        if name not in volumes:
            yield not_found(f"{here}.name", name)
        if not place:
            yield required(f"{here}.mountPath")
        if place in places:
            yield invalid(f"{here}.mountPath", place, "must be unique")
        places.add(place)
        if mount.get("subPath"):
            yield from wrong_descent(f"{path}.subPath", mount["subPath"])
        if mount.get("subPathExpr"):
            if mount.get("subPath"):
                told = "subPathExpr and subPath are mutually exclusive"
                yield invalid(f"{here}.subPathExpr", mount["subPathExpr"], told)
            yield from wrong_descent(f"{path}.subPathExpr", mount["subPathExpr"])
