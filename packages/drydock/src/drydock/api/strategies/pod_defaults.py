"""What a pod, or the pod of a template, gets when its author left it out."""

from typing import Any

from drydock.api.strategies.resources import canonical_resources

_FILE_MODE = 0o644
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def default_pod(spec: dict[str, Any]) -> None:
    """A pod's own defaults, on top of those of any template."""
    default_pod_spec(spec)
    for container in _containers(spec):
        limits = container["resources"].get("limits")
        if limits:
            container["resources"]["requests"] = {**limits, **(container["resources"].get("requests") or {})}
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                port["hostPort"] = port.get("hostPort") or port.get("containerPort")
    spec.setdefault("enableServiceLinks", True)


def default_pod_spec(spec: dict[str, Any]) -> None:
    """The defaults that pods and templates share."""
    _fill(spec, "dnsPolicy", "ClusterFirst")
    _fill(spec, "restartPolicy", "Always")
    _fill(spec, "schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    if spec.setdefault("terminationGracePeriodSeconds", 30) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in [*_containers(spec), *(spec.get("ephemeralContainers") or ())]:
        _default_container(container)
    for volume in spec.get("volumes") or ():
        _default_volume(volume)
    canonical_resources(spec, "overhead")
    canonical_resources(spec.get("resources"), "limits", "requests")


def default_template(template: dict[str, Any]) -> None:
    """A workload's pod template."""
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))


def _containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [container for part in ("containers", "initContainers") for container in spec.get(part) or ()]


def _default_container(container: dict[str, Any]) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = "Always" if _is_latest(container.get("image", "")) else "IfNotPresent"
    _fill(container, "terminationMessagePath", "/dev/termination-log")
    _fill(container, "terminationMessagePolicy", "File")
    canonical_resources(container.setdefault("resources", {}), "limits", "requests")
    for port in container.get("ports") or ():
        _fill(port, "protocol", "TCP")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        if "fieldRef" in source:
            _fill(source["fieldRef"], "apiVersion", "v1")
        if "resourceFieldRef" in source:
            source["resourceFieldRef"].setdefault("divisor", "0")
    for name in _PROBES:
        if name in container:
            _default_probe(container[name])
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict) and "httpGet" in hook:
            _default_http_get(hook["httpGet"])


def _default_probe(probe: dict[str, Any]) -> None:
    for name, value in _PROBE_DEFAULTS.items():
        _fill(probe, name, value)
    if "httpGet" in probe:
        _default_http_get(probe["httpGet"])
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")


def _default_http_get(action: dict[str, Any]) -> None:
    _fill(action, "path", "/")
    _fill(action, "scheme", "HTTP")


def _default_volume(volume: dict[str, Any]) -> None:
    if not volume.keys() - {"name"}:
        volume["emptyDir"] = {}
    for source in ("configMap", "secret", "downwardAPI", "projected"):
        if source in volume:
            volume[source].setdefault("defaultMode", _FILE_MODE)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    for projection in (volume.get("projected") or {}).get("sources") or ():
        if "serviceAccountToken" in projection:
            projection["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        for item in (projection.get("downwardAPI") or {}).get("items") or ():
            _fill(item.get("fieldRef"), "apiVersion", "v1")
    for item in (volume.get("downwardAPI") or {}).get("items") or ():
        _fill(item.get("fieldRef"), "apiVersion", "v1")


def _is_latest(image: str) -> bool:
    name, at, _ = image.partition("@")
    if at:
        return False
    tag = name.rpartition("/")[2].partition(":")[2]
    return tag in ("", "latest")


def _fill(holder: dict[str, Any] | None, name: str, value: Any) -> None:
    """Set a field that is absent or zero: for a Go decoder that is the same."""
    if holder is not None and not holder.get(name):
        holder[name] = value
