"""Images without a registry: docker archives made of files of this machine, for `ctr images import`."""

import io
import json
import os
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

PAUSE = "drydock.local/pause:1"
BUSYBOX = ("docker.io/library/busybox:latest", "docker.io/library/busybox:stable")
COREDNS = "drydock.local/coredns:1"
_FOREVER_SECONDS = "2147483647"
_APPLETS = (
    *("ash", "awk", "base64", "basename", "cat", "chmod", "chown", "cp", "cut", "date", "dd", "df", "dirname", "du"),
    *(
        "echo",
        "env",
        "expr",
        "false",
        "find",
        "free",
        "grep",
        "head",
        "hostname",
        "httpd",
        "id",
        "ip",
        "kill",
        "killall",
    ),
    *("ln", "ls", "md5sum", "mkdir", "mkfifo", "mktemp", "mount", "mv", "nc", "nproc", "nslookup", "pidof", "ping"),
    *("printenv", "printf", "ps", "pwd", "readlink", "rm", "rmdir", "sed", "seq", "sh", "sha256sum", "sleep", "sort"),
    *("stat", "stty", "sync", "tail", "tar", "tee", "telnet", "test", "time", "timeout", "top", "touch", "tr", "true"),
    *("tty", "uname", "uniq", "uptime", "usleep", "vi", "wc", "wget", "which", "whoami", "xargs", "yes"),
)


@dataclass(frozen=True, slots=True)
class Image:
    """One layer, and how a container of it starts."""

    names: tuple[str, ...]
    files: Mapping[str, bytes | Path]  # a path is a file of this machine; its mode is kept
    links: Mapping[str, str] = field(default_factory=dict)
    folders: Sequence[str] = ()
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


def busybox_image(busybox: Path, names: tuple[str, ...] = BUSYBOX) -> Image:
    """A shell and its small programs."""
    return Image(
        names=names,
        files={
            "bin/busybox": busybox,
            "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
            "etc/group": b"root:x:0:\nnogroup:x:65534:\n",
        },
        links={f"bin/{name}": "busybox" for name in _APPLETS},
        folders=("dev", "proc", "root", "sys", "tmp", "usr/bin", "var/run"),
        command=("sh",),
    )


def pause_image(busybox: Path) -> Image:
    """What holds the namespaces of a pod."""
    return Image((PAUSE,), {"busybox": busybox}, entrypoint=("/busybox", "sleep", _FOREVER_SECONDS))


def coredns_image(coredns: Path) -> Image:
    return Image((COREDNS,), {"coredns": coredns}, entrypoint=("/coredns",))


def write_archive(path: Path, images: Sequence[Image]) -> None:
    """Write a docker archive, the same bytes for the same images; whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    with tarfile.open(partial, "w") as archive:
        manifest = []
        for image in images:
            layer = _layer(image)
            digest = sha256(layer).hexdigest()
            config = json.dumps(_config(image, digest), sort_keys=True).encode()
            config_name, layer_name = f"{sha256(config).hexdigest()}.json", f"{digest}/layer.tar"
            _add(archive, config_name, config)
            _add(archive, layer_name, layer)
            manifest.append({"Config": config_name, "RepoTags": list(image.names), "Layers": [layer_name]})
        _add(archive, "manifest.json", json.dumps(manifest).encode())
    partial.replace(path)


def _config(image: Image, layer_digest: str) -> dict[str, object]:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    process: dict[str, object] = {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]}
    if image.entrypoint:
        process["Entrypoint"] = list(image.entrypoint)
    if image.command:
        process["Cmd"] = list(image.command)
    rootfs = {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]}
    return {"architecture": machine, "os": "linux", "config": process, "rootfs": rootfs, "history": [{}]}


def _layer(image: Image) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        for folder in image.folders:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            layer.addfile(entry)
        for name, content in image.files.items():
            if isinstance(content, Path):
                _add(layer, name, content.read_bytes(), 0o755)
            else:
                _add(layer, name, content)
        for name, target in image.links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, target, 0o777
            layer.addfile(entry)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
