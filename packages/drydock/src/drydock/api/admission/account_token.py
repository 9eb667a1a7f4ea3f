"""The token of its service account in every container of a pod, as Kubernetes' own admission mounts it."""

from hashlib import sha256

from drydock.api.kinds.kind import Object

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_ROOT_CERTIFICATE = "kube-root-ca.crt"  # the ConfigMap with the certificate to check the API server with
_VOLUME = "kube-api-access-"
_TOKEN_SECONDS = 3607
_MODE = 0o644
_CONTAINERS = ("initContainers", "containers")


def mount_account_token(pod: Object, account: Object | None) -> None:
    """Add the volume and its mounts, unless pod or account forbid it or each container has something there."""
    spec = pod["spec"]
    asked = spec.get("automountServiceAccountToken", (account or {}).get("automountServiceAccountToken"))
    if asked is False:
        return
    bare = [one for section in _CONTAINERS for one in spec.get(section) or () if not _has_mount(one)]
    if not bare:
        return
    volumes = list(spec.get("volumes") or ())
    name = next((volume["name"] for volume in volumes if str(volume.get("name", "")).startswith(_VOLUME)), "")
    if not name:
        name = _VOLUME + sha256(str(pod["metadata"].get("name", "")).encode()).hexdigest()[:5]
        spec["volumes"] = [*volumes, _volume(name)]
    for container in bare:
        mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


def _has_mount(container: Object) -> bool:
    return any(mount.get("mountPath") == TOKEN_PATH for mount in container.get("volumeMounts") or ())


def _volume(name: str) -> Object:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": _ROOT_CERTIFICATE, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": _MODE}}
