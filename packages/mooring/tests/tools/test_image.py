"""The images that `make image` builds: what is in them, as whom they run, and how fast they start."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from mooring import __version__
from mooring.kinds.deployment import USER
from packages.mooring.tests.acceptance.world import MOORING, clean_environment, until
from packages.mooring.tests.postgres import PostgresForTests, postgres
from packages.mooring.tests.requirements import absent

__all__ = ["postgres"]
pytestmark = [pytest.mark.slow, pytest.mark.realtime]

ROOT = Path(__file__).resolve().parents[4]
DOCKERFILE = (ROOT / "deploy" / "image" / "Dockerfile").read_text()
BASE_PATH = "/usr/local/bin:/usr/bin:/bin"
START_SECONDS = 2.0
MOST_STARTS = 8  # the fastest counts: other tests use the same processors and their caches
COMPILERS = ("gcc", "cc", "make", "ld", "g++", "pip", "pip3")


@dataclass(frozen=True, slots=True)
class Image:
    """An archive, unpacked."""

    config: dict[str, Any]
    root: Path
    bytes: int

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """A command in the image, as its user, with its environment."""
        return subprocess.run(self.command(*command), capture_output=True, text=True, check=False, env=self.environment)

    def command(self, *command: str) -> list[str]:
        return ["/usr/sbin/chroot", f"--userspec={self.config['User']}", str(self.root), *command]

    @property
    def environment(self) -> dict[str, str]:
        return dict(one.split("=", 1) for one in self.config["Env"])


def built(name: str) -> Path:
    archive = ROOT / "dist" / f"{name}.oci.tar"
    if os.geteuid() != 0 or not archive.exists():
        absent("image", f"no dist/{name}.oci.tar, or not root (fix: make image, as root)")
    return archive


def unpack(name: str, folder: Path) -> Image:
    archive = built(name)
    with tarfile.open(archive) as tar:

        def blob(digest: str) -> bytes:
            member = tar.extractfile(f"blobs/sha256/{digest.removeprefix('sha256:')}")
            assert member is not None
            content = member.read()
            assert f"sha256:{hashlib.sha256(content).hexdigest()}" == digest
            return content

        index = tar.extractfile("index.json")
        assert index is not None
        manifest = json.loads(blob(json.load(index)["manifests"][0]["digest"]))
        image = json.loads(blob(manifest["config"]["digest"]))
        for number, layer in enumerate(manifest["layers"]):
            packed = folder / f"layer-{number}.tar.gz"
            packed.write_bytes(blob(layer["digest"]))
            with tarfile.open(packed) as inner:
                inner.extractall(folder / "root", filter="fully_trusted")
            packed.unlink()
    return Image(image["config"], folder / "root", archive.stat().st_size)


@pytest.fixture(scope="module", params=["mooring", "mooring-worker"])
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Image:
    return unpack(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Image:
    return unpack("mooring", tmp_path_factory.mktemp("server"))


@pytest.mark.parametrize("name", ["mooring", "mooring-worker"])
def test_containerd_finds_it_by_its_full_name(name: str) -> None:
    with tarfile.open(built(name)) as tar:
        index = tar.extractfile("index.json")
        assert index is not None
        [image] = json.load(index)["manifests"]
    assert image["annotations"]["io.containerd.image.name"] == f"docker.io/library/{name}:{__version__}"


def test_user_environment_and_entrypoint_are_those_of_the_dockerfile(image: Image):
    assert re.search(rf"^USER {USER}:{USER}$", DOCKERFILE, re.MULTILINE) and image.config["User"] == f"{USER}:{USER}"
    named = {one.replace("$PATH", BASE_PATH) for one in re.findall(r"^ENV (.*)$", DOCKERFILE, re.MULTILINE)}
    assert named <= set(image.config["Env"])
    entrypoint = re.search(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.MULTILINE)
    assert entrypoint is not None and image.config["Entrypoint"] == json.loads(entrypoint[1])
    assert image.config["Labels"]["org.opencontainers.image.version"] == __version__


def test_commands_that_documents_name_are_found(image: Image):
    """`kubectl exec deploy/mooring -- mooring doctor`, and the agent as the documents start it."""
    assert image.run("mooring", "--version").stdout == f"mooring {__version__}\n"
    assert image.run("python", "-c", "import mooring.client.worker").returncode == 0


def test_it_holds_no_compiler_and_no_package_manager_of_python(image: Image):
    found = [path for name in COMPILERS for path in image.root.glob(f"usr/**/bin/{name}")]
    assert found == []
    assert not (image.root / "opt/mooring/pip").exists()


def test_it_runs_as_its_user_and_writes_no_file(image: Image):
    done = image.run(*image.config["Entrypoint"], "--help")
    assert done.returncode == 0 and "Keeps worker fleets" in done.stdout, done.stderr
    mine = [path for path in image.root.rglob("*") if not path.is_symlink() and path.stat().st_uid == USER]
    assert mine == []


def test_the_worker_image_has_the_agent_and_not_the_server(tmp_path: Path):
    image = unpack("mooring-worker", tmp_path)
    assert image.run("python3", "-c", "import mooring.client.worker").returncode == 0
    assert image.run("python3", "-c", "import litestar").returncode != 0


def test_wheels_with_c_plus_plus_inside_find_their_library(image: Image):
    loaded = image.run("python3", "-c", "import ctypes; ctypes.CDLL('libstdc++.so.6')")
    assert loaded.returncode == 0, loaded.stderr


def test_the_sbom_names_every_package(image: Image):
    sbom = json.loads((image.root / "usr/share/sbom/mooring.spdx.json").read_text())
    named = {(one["name"], one["versionInfo"]) for one in sbom["packages"]}
    assert ("kube-mooring", __version__) in named
    for metadata in (image.root / "opt/mooring").glob("*.dist-info"):
        assert any(metadata.name.lower().startswith(one[0].lower().replace("-", "_")) for one in named), metadata
    assert any(name == "libssl3" for name, _ in named) and sbom["spdxVersion"] == "SPDX-2.3"


def test_it_is_not_larger_than_it_was(image: Image):
    assert image.bytes < 90e6


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of an embedded cluster with Mooring's kinds."""
    home = tmp_path_factory.mktemp("sandbox")
    command = [MOORING, "sandbox", "--state", str(home / "state"), "--nodes", "1", "--runtime", "simulated"]
    with open(home / "log", "wb") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log, env=clean_environment())
    try:
        until(lambda: (home / "log").read_text().startswith("ready: "), 30, "the sandbox is ready")
        install = [sys.executable, "-c", INSTALL, str(home / "state" / "kubeconfig")]
        subprocess.run(install, check=True)
        yield home / "state" / "kubeconfig"
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(30)


INSTALL = """
import asyncio, sys
from hawser.client import KubeClient
from hawser.clock import SystemClock
from hawser.connection import connect
from hawser.kubeconfig import load_kubeconfig
from mooring.kinds.installation import install_crds

async def main():
    connection = await connect(load_kubeconfig(sys.argv[1]).target(), SystemClock())
    await install_crds(KubeClient(connection), SystemClock())
    await connection.close()

asyncio.run(main())
"""


def test_the_control_plane_of_the_image_computes_for_less_than_two_seconds_until_it_is_up(
    server: Image, sandbox: Path, postgres: PostgresForTests, tmp_path: Path
):
    inside = server.root / "tmp" / "kubeconfig"
    inside.write_text(portable(sandbox))
    inside.chmod(0o644)
    settings = {"MOORING_PORT": "0", "MOORING_STATE": "/tmp/state", "MOORING_TOKEN": "t"}
    settings |= {"MOORING_KUBECONFIG": "/tmp/kubeconfig"}
    with reachable(postgres, server.root) as url:
        settings["MOORING_DATABASE"] = url
        starts = [start_once(server, settings, tmp_path / "log-0")]
        while min(busy for _, busy in starts) >= START_SECONDS and len(starts) < MOST_STARTS:
            starts.append(start_once(server, settings, tmp_path / f"log-{len(starts)}"))
    wall, busy = map(min, zip(*starts, strict=True))
    print(f"up in {wall:.2f} s, {busy:.2f} s of them on a processor; archive {server.bytes / 1e6:.1f} MB")
    assert busy < START_SECONDS, "other tests share the processors, so only the time on one of them counts"


def start_once(image: Image, settings: dict[str, str], log: Path) -> tuple[float, float]:
    """Seconds from the start of the process until it serves, and how many of them it computed."""
    began = time.monotonic()
    with open(log, "wb") as out:
        command = image.command(*image.config["Entrypoint"], "serve")
        running = subprocess.Popen(command, stdout=out, stderr=out, env={**image.environment, **settings})
    try:
        while "mooring serves http" not in log.read_text():
            assert running.poll() is None and time.monotonic() - began < 120, log.read_text()
            time.sleep(0.01)
        took = time.monotonic() - began, processor_seconds(running.pid)
        address = log.read_text().split("mooring serves ")[1].split()[0]
        until(lambda: httpx.get(f"{address}/readyz").status_code == 200, 10, "it is ready")
        return took
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(30)


def processor_seconds(pid: int) -> float:
    """The time that the process has computed, for itself and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def portable(kubeconfig: Path) -> str:
    """The kubeconfig with its certificates inside, for a process that does not see their files."""
    command = ["kubectl", "--kubeconfig", str(kubeconfig), "config", "view", "--raw", "--flatten"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@contextmanager
def reachable(server: PostgresForTests, root: Path) -> Iterator[str]:
    """The URL of a fresh database, whose socket the user of the image may use until the end of the block."""
    url = server.fresh_database()
    found = re.search(r"host=([^&]+)", url)
    assert found is not None, url
    folder, inside = Path(found[1].replace("%2F", "/")), root / "tmp" / "pg"
    mode = folder.stat().st_mode
    inside.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", str(folder), str(inside)], check=True)
    folder.chmod(0o755)
    for door in folder.glob(".s.PGSQL.*[0-9]"):
        door.chmod(0o777)
    try:
        yield url.replace(found[1], "/tmp/pg")
    finally:
        folder.chmod(mode)
        subprocess.run(["umount", str(inside)], check=True)
