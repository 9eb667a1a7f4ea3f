"""An OCI archive of layers, made without a container engine. The same content gives the same digests."""

import gzip
import hashlib
import io
import json
import re
import shlex
import tarfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_BASE_PATH = "/usr/local/bin:/usr/bin:/bin"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def read_dockerfile(path: Path) -> dict[str, Any]:
    """The configuration of an image from the last stage of a Dockerfile."""
    stage = re.split(r"^FROM .*$", path.read_text(), flags=re.MULTILINE)[-1]
    config: dict[str, Any] = {"Env": [], "Labels": {}, "ExposedPorts": {}}
    for word, rest in re.findall(r"^([A-Z]+) (.*)$", stage, re.MULTILINE):
        match word:
            case "ENV":
                config["Env"].append(rest.replace("$PATH", _BASE_PATH))
            case "LABEL":
                [(key, value)] = [one.split("=", 1) for one in shlex.split(rest)]
                config["Labels"][key] = value
            case "EXPOSE":
                config["ExposedPorts"][f"{rest}/tcp"] = {}
            case "USER":
                config["User"] = rest
            case "WORKDIR":
                config["WorkingDir"] = rest
            case "ENTRYPOINT" | "CMD":
                config[word.title() if word == "ENTRYPOINT" else "Cmd"] = json.loads(rest)
    return config


class Layer:
    """A folder as a layer: every file of root, at one moment, in the order of names."""

    def __init__(self, folder: Path, epoch: int) -> None:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for path in sorted(folder.rglob("*")):
                _add(tar, path, str(path.relative_to(folder)), epoch)
        plain = buffer.getvalue()
        self.blob = gzip.compress(plain, 6, mtime=0)
        self.diff_id = _digest(plain)


def _add(tar: tarfile.TarFile, path: Path, name: str, epoch: int) -> None:
    info = tar.gettarinfo(str(path), name)
    if info is None:  # a socket
        return
    info.uname = info.gname = ""
    info.mtime = epoch
    if info.islnk():
        info.type, info.linkname, info.size = tarfile.REGTYPE, "", path.stat().st_size
    if info.isreg():
        with open(path, "rb") as file:
            tar.addfile(info, file)
    else:
        tar.addfile(info)


def write_archive(path: Path, tag: str, layers: Iterable[Layer], config: dict[str, Any], epoch: int) -> str:
    """Write the archive; the digest of its manifest."""
    layers = list(layers)
    created = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    image = _encoded(
        {
            "created": created,
            "architecture": "amd64",
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
            "history": [{"created": created, "created_by": "make image"} for _ in layers],
        }
    )
    manifest = _encoded(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _described(_CONFIG, image),
            "layers": [_described(_LAYER, layer.blob) for layer in layers],
            "annotations": config["Labels"],
        }
    )
    # containerd takes its own annotation as it is, and looks images up by their full name.
    names = {"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": f"docker.io/library/{tag}"}
    named = {**_described(_MANIFEST, manifest), "annotations": names}
    files = {
        "oci-layout": _encoded({"imageLayoutVersion": "1.0.0"}),
        "index.json": _encoded({"schemaVersion": 2, "manifests": [named]}),
    }
    for blob in (image, manifest, *(layer.blob for layer in layers)):
        files[f"blobs/sha256/{_digest(blob).removeprefix('sha256:')}"] = blob
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(content), epoch
            tar.addfile(info, io.BytesIO(content))
    return _digest(manifest)


def _described(media_type: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": _digest(content), "size": len(content)}


def _encoded(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
