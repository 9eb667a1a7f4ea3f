"""One real node: it boots, runs containerd, kubelet and kube-proxy, and can be made to fail.

A node is a process namespace: ending its first process is a power cut, and starting it again is a boot.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from drydock.nodes import settings
from drydock.nodes.cgroups import make_group, remove_group
from drydock.nodes.links import BOOT_PROGRAM, Switch
from drydock.nodes.machine import NodesUnavailable
from drydock.nodes.network import NodeAddress
from drydock.nodes.programs import NodePrograms
from drydock.nodes.settings import Membership, NodeIdentity
from drydock.processes.supervisor import Command, Process, Supervisor
from hawser.clock import Clock, Entropy

_START_SECONDS = 30.0
_POLL_SECONDS = 0.05
_STOP_SECONDS = 5.0
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_PRODUCT_ID = "/sys/class/dmi/id/product_uuid"
_LOG_LINES = 12
_FILL = "var/filled"
_MARGIN_BYTES = 256 * 1024 * 1024
_TAKE_UP_SECONDS = 3.0


class NodeFailed(NodesUnavailable):
    """A program of a node ended or did not become ready."""

    code = "node_failed"


@dataclass(frozen=True, slots=True)
class NodeKit:
    """What all nodes of a cluster share."""

    switch: Switch
    programs: NodePrograms
    archive: Path  # images that every node has
    addresses: tuple[NodeAddress, ...]
    shared: Path  # a folder of this machine that every node sees at `settings.SHARED`
    clock: Clock
    entropy: Entropy


class RealNode:
    """A node under a folder: its disk is `root` there. Public methods are what can happen to a machine."""

    def __init__(self, folder: Path, identity: NodeIdentity, kit: NodeKit) -> None:
        self.name = identity.name
        self.root = folder / "root"
        self._folder = folder
        self._identity = identity
        self._kit = kit
        self._supervisor: Supervisor | None = None
        self._processes: dict[str, Process] = {}
        self._wanted_bytes = 0  # free on the disk
        self.boot_id = ""

    # -- power

    async def power_on(self) -> None:
        """Boot with a new boot id, connect the network and start containerd; images are there afterwards."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.boot_id = self._kit.entropy.uuid()
        remove_group(self._identity.cgroup)  # the kubelet would wait seconds for each container of an earlier boot
        make_group(self._identity.cgroup)
        settings.write_base_files(self.root, self._identity, self._machine_id())
        supervisor = Supervisor(str(self._folder), BOOT_PROGRAM, json.dumps(self._boot_spec()))
        self._supervisor = await supervisor.__aenter__()
        others = [other for other in self._kit.addresses if other != self._identity.where]
        await self._kit.switch.connect(self._identity.number, self.pid, self._identity.where, others)
        await self.start_containerd()
        await self.load_images(self._kit.archive)

    async def power_off(self) -> None:
        """End all of its processes at once."""
        if self._supervisor is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            await self._supervisor.__aexit__(None, None, None)
        self._supervisor = None
        self._processes.clear()

    async def join(self, membership: Membership) -> None:
        """Start kubelet and kube-proxy as a node of that cluster."""
        settings.write_cluster_files(self.root, self._identity, membership)
        await self.start_kubelet()
        await self._start("kube-proxy", settings.proxy_command())

    async def reboot(self) -> None:
        """A power cut and a boot: containers are gone, the disk is kept, the boot id is new."""
        await self.power_off()
        await self.power_on()
        await self.start_kubelet()
        await self._start("kube-proxy", settings.proxy_command())

    async def wipe(self) -> None:
        """Remove the disk of a node that is off: the next boot is that of a new machine."""
        assert self._supervisor is None, f"{self.name} is on"
        shutil.rmtree(self._folder)

    # -- programs

    @property
    def pid(self) -> int:
        """Its first process, as this machine numbers it."""
        assert self._supervisor is not None, f"{self.name} is off"
        guard = self._supervisor.pid
        return int(Path(f"/proc/{guard}/task/{guard}/children").read_text().split()[0])

    @property
    def cgroup(self) -> str:
        return self._identity.cgroup

    async def start_kubelet(self) -> None:
        settings.write_kubelet_config(self.root, self._identity, self._wanted_bytes)
        await self._start("kubelet", settings.kubelet_command(self._identity))

    async def stop_kubelet(self) -> None:
        """Containers go on."""
        await self._stop("kubelet", signal.SIGTERM)

    async def start_containerd(self) -> None:
        """Start it and wait until it answers."""
        await self._start("containerd", settings.containerd_command())
        deadline = self._kit.clock.monotonic() + _START_SECONDS
        while await self._run(["ctr", "version"], "ctr") != 0:
            self._check("containerd", deadline)
            await self._kit.clock.sleep(_POLL_SECONDS)

    async def kill_containerd(self) -> None:
        """Kill it with SIGKILL. Containers go on, and a new containerd finds them."""
        await self._stop("containerd", signal.SIGKILL)

    async def load_images(self, archive: Path) -> None:
        """Import a docker or OCI archive. No registry could bring the images back, so they are never collected."""
        if archive == self._kit.archive and self._has_images(archive):
            return
        copied = self.root / "tmp" / "images.tar"
        copied.parent.mkdir(exist_ok=True)
        shutil.copyfile(archive, copied)
        try:
            await self._ctr(["images", "import", "--label=io.cri-containerd.pinned=pinned", "/tmp/images.tar"])
        finally:
            copied.unlink()
        if archive == self._kit.archive:
            (self.root / "var/images").write_text(_stamp(archive))

    def _has_images(self, archive: Path) -> bool:
        imported = self.root / "var/images"
        return imported.exists() and imported.read_text() == _stamp(archive)

    async def _ctr(self, arguments: list[str]) -> None:
        code = await self._run(["ctr", "--namespace=k8s.io", *arguments], "ctr")
        if code:
            raise NodeFailed(f"ctr {' '.join(arguments)} ended with code {code} on {self.name}:\n{self._tail('ctr')}")

    # -- network and disk

    async def pull_cable(self) -> None:
        """The node is alone: neither the API server nor other nodes reach it."""
        await self._kit.switch.set_cable(self._identity.number, plugged=False)

    async def plug_cable(self) -> None:
        await self._kit.switch.set_cable(self._identity.number, plugged=True)

    async def fill_disk(self) -> None:
        """A file takes the space that the kubelet wants to be free: it reports DiskPressure and evicts pods.

        The disk is a folder of this machine's. So the kubelet first wants nearly as much as is free there now.
        """
        self._wanted_bytes = _free_bytes(self.root) - _MARGIN_BYTES
        await self.stop_kubelet()
        await self.start_kubelet()
        await self._until_kubelet_answers()
        while _free_bytes(self.root) > self._wanted_bytes - _MARGIN_BYTES:
            await asyncio.to_thread(_grow, self.root / _FILL, _MARGIN_BYTES)

    async def free_disk(self) -> None:
        (self.root / _FILL).unlink(missing_ok=True)
        self._wanted_bytes = 0
        await self.stop_kubelet()
        await self.start_kubelet()

    async def _until_kubelet_answers(self) -> None:
        """Until it has taken up its pods: under pressure it would refuse those that it already runs."""
        deadline = self._kit.clock.monotonic() + _START_SECONDS
        while await self._run(["busybox", "wget", "-qO-", "http://127.0.0.1:10248/healthz"], "healthz"):
            self._check("kubelet", deadline)
            await self._kit.clock.sleep(_POLL_SECONDS)
        await self._kit.clock.sleep(_TAKE_UP_SECONDS)

    # -- inside

    def _machine_id(self) -> str:
        kept = self.root / "etc/machine-id"
        return kept.read_text().strip() if kept.exists() else self._kit.entropy.uuid().replace("-", "")

    def _boot_spec(self) -> dict[str, object]:
        binds = [[path, path, True] for path in settings.host_files()]
        binds += [[str(self._kit.shared), settings.SHARED, False]]
        binds += [[str(folder), f"/run/drydock/bin{n}", True] for n, folder in enumerate(self._kit.programs.folders)]
        facts = {_BOOT_ID: f"{self.boot_id}\n", _PRODUCT_ID: f"{self._machine_id()}\n"}
        return {
            "namespaces": "machine",
            "root": str(self.root),
            "hostname": self.name,
            "binds": binds,
            "sysctls": {"net/ipv4/ip_forward": "1", "net/ipv4/conf/all/rp_filter": "0"},
            "facts": {**settings.KERNEL_SETTINGS, **facts},
        }

    async def _start(self, name: str, argv: list[str]) -> None:
        """Start a program that goes on, unless it runs."""
        running = self._processes.get(name)
        if running is None or running.exit_code is not None:
            self._processes[name] = await self._spawn(name, argv)

    async def _run(self, argv: list[str], name: str) -> int:
        """The exit code of a program that ends."""
        return await (await self._spawn(name, argv)).wait()

    async def _spawn(self, name: str, argv: list[str]) -> Process:
        if self._supervisor is None:
            raise NodeFailed(f"{self.name} is off", fix="wait until it has booted")
        command = Command(argv, Path(f"/var/log/{name}.log"), settings.environment(), captured=False)
        return await self._supervisor.start(command, name)

    async def _stop(self, name: str, number: signal.Signals) -> None:
        process = self._processes.pop(name, None)
        if process is not None:
            process.signal(number)
            await process.wait()

    def check(self) -> None:
        """Raises `NodeFailed` for a program that ended by itself."""
        for name in list(self._processes):
            self._check(name)

    def _check(self, name: str, deadline: float = float("inf")) -> None:
        code = self._processes[name].exit_code
        if code is not None:
            raise NodeFailed(
                f"{name} of {self.name} ended with code {code}:\n{self._tail(name)}", fix=self._log_fix(name)
            )
        if self._kit.clock.monotonic() > deadline:
            told = f"{name} of {self.name} does not answer after {_START_SECONDS:.0f} s:\n{self._tail(name)}"
            raise NodeFailed(told, fix=self._log_fix(name))

    def _log_fix(self, name: str) -> str:
        return f"see {self.root}/var/log/{name}.log"

    def _tail(self, name: str) -> str:
        log = self.root / f"var/log/{name}.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-_LOG_LINES:]) if log.exists() else ""


def _free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _grow(file: Path, more_bytes: int) -> None:
    with file.open("ab") as opened:
        size = os.fstat(opened.fileno()).st_size
        os.posix_fallocate(opened.fileno(), size, more_bytes)


def _stamp(archive: Path) -> str:
    facts = archive.stat()
    return f"{facts.st_size} {facts.st_mtime_ns}"
