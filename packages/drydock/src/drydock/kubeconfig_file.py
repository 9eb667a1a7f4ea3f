"""Writing a kubeconfig: how any client, kubectl included, finds a cluster of ours and shows who it is."""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from drydock.certificates import KeyPair, write_private


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Everything a client needs. Certificates go into the file itself, so that it can be moved."""

    url: str
    authority: Path | None = None
    token: str = ""
    client: KeyPair | None = None
    name: str = "drydock"


def write_kubeconfig(path: Path, access: ClusterAccess) -> None:
    """Write it readable by its owner only."""
    cluster: dict[str, Any] = {"server": access.url}
    if access.authority:
        cluster["certificate-authority-data"] = _inline(access.authority)
    user: dict[str, Any] = {}
    if access.token:
        user["token"] = access.token
    if access.client:
        user["client-certificate-data"] = _inline(access.client.certificate)
        user["client-key-data"] = _inline(access.client.key)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": access.name, "cluster": cluster}],
        "users": [{"name": access.name, "user": user}],
        "contexts": [{"name": access.name, "context": {"cluster": access.name, "user": access.name}}],
        "current-context": access.name,
    }
    write_private(path, yaml.safe_dump(document, sort_keys=False).encode())


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
