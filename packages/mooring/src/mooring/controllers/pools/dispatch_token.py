"""What a worker that polls needs in its pod: where Mooring is, and a token of its own to show there."""

from typing import Any

from mooring.controllers.pools.server_address import ServerAddress
from mooring.model.names import DISPATCH_AUDIENCE, DISPATCH_TOKEN_FILE, TOKEN_FILE

Body = dict[str, Any]

VOLUME = "mooring-dispatch"
TOKEN_FOLDER = "/var/run/secrets/mooring-dispatch"  # the SDK looks for its own token in another one
TOKEN_SECONDS = 3600  # the kubelet renews it long before


def add_dispatch_token(pod: Body, server: ServerAddress) -> Body:
    """The pod with a projected token, and each container with the address of Mooring; what its author set stays."""
    containers = [_with_token(container, pod, server) for container in pod.get("containers") or ()]
    changed = {**pod, "containers": containers}
    if any(_mounts_ours(container) for container in containers) and not _has_volume(pod):
        changed["volumes"] = [*(pod.get("volumes") or []), _token_volume()]
    return changed


def _with_token(container: Body, pod: Body, server: ServerAddress) -> Body:
    env: list[Body] = list(container.get("env") or [])
    mounts: list[Body] = list(container.get("volumeMounts") or [])
    named = {variable.get("name") for variable in env}
    if server.url and "MOORING_URL" not in named:
        env.append({"name": "MOORING_URL", "value": server.url})
    if server.ca and not named & {"MOORING_CA", "MOORING_URL"}:
        env.append({"name": "MOORING_CA", "value": server.ca})
    has_own_token = DISPATCH_TOKEN_FILE in named or any(_covers_folder(mount) for mount in mounts)
    if not has_own_token and not _has_volume(pod):
        # Workers in other languages may know the second name only. One that the author set is that of the SDK's token.
        names = [name for name in (DISPATCH_TOKEN_FILE, TOKEN_FILE) if name not in named]
        env += [{"name": name, "value": f"{TOKEN_FOLDER}/token"} for name in names]
        mounts.append({"name": VOLUME, "mountPath": TOKEN_FOLDER, "readOnly": True})
    given = {"env": env, "volumeMounts": mounts}
    return {**container, **{field: value for field, value in given.items() if value}}


def _token_volume() -> Body:
    token = {"audience": DISPATCH_AUDIENCE, "path": "token", "expirationSeconds": TOKEN_SECONDS}
    return {"name": VOLUME, "projected": {"sources": [{"serviceAccountToken": token}]}}


def _has_volume(pod: Body) -> bool:
    return any(volume.get("name") == VOLUME for volume in pod.get("volumes") or ())


def _mounts_ours(container: Body) -> bool:
    return any(mount.get("name") == VOLUME for mount in container.get("volumeMounts") or ())


def _covers_folder(mount: Body) -> bool:
    path = str(mount.get("mountPath", "")).rstrip("/")
    return path == TOKEN_FOLDER or TOKEN_FOLDER.startswith(f"{path}/")
