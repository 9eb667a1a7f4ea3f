"""A real Kubernetes control plane on this machine: `async with ControlPlane.start(...) as plane:`.

etcd, kube-apiserver, kube-controller-manager and kube-scheduler on free loopback ports. Leaving the block, or the
death of this process in any way, ends them. With a folder of the caller's the objects are there at the next start.
"""

import asyncio
import contextlib
import json
import shutil
import signal
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import aiohttp

from drydock.certificates import Authority, KeyPair, write_private
from drydock.kubeconfig_file import ClusterAccess, write_kubeconfig
from drydock.kubernetes import components
from drydock.kubernetes.binaries import Binaries, find_binaries
from drydock.kubernetes.components import LOOPBACK, Credentials, PlaneOptions, Ports
from drydock.processes.supervisor import Command, Process, Supervisor
from hawser.clock import Clock, Entropy
from hawser.errors import HawserError

_STOP_SECONDS = 2.0
_POLL_SECONDS = 0.1
_LOG_LINES = 15  # in an error
_BIND_ATTEMPTS = 3
_KEPT_PORT_SECONDS = 5.0
_PORTS = "ports.json"


class ControlPlaneFailed(HawserError):
    """A program of the control plane ended or did not become ready."""

    code = "control_plane_failed"


class _PortTaken(ControlPlaneFailed):
    """Somebody took a free port between our look and the program's bind."""


class Programs(Protocol):
    """The four programs, as they run."""

    @property
    def pids(self) -> dict[str, int]: ...

    async def restart(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A control plane that runs: where it is and how to reach it."""

    url: str
    token: str  # user "admin" in group system:masters
    kubeconfig: Path
    authority: Path
    kubelet_server: KeyPair  # what a kubelet's log server shows; the API server checks it
    logs: Path
    programs: Programs

    @staticmethod
    @contextlib.asynccontextmanager
    async def start(
        state_folder: Path | None, *, clock: Clock, entropy: Entropy, options: PlaneOptions = PlaneOptions()
    ) -> AsyncIterator["ControlPlane"]:
        """Start it and wait until it is ready; without a folder everything it wrote is removed at the end."""
        binaries = find_binaries()
        folder = state_folder or Path(tempfile.mkdtemp(prefix="drydock-kubernetes-"))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            async with Supervisor(str(folder.resolve())) as supervisor:
                launch = _Launch(folder, binaries, supervisor, clock, entropy, options)
                plane = await launch.run()
                try:
                    yield plane
                finally:
                    await launch.stop()
        finally:
            if state_folder is None:
                shutil.rmtree(folder, ignore_errors=True)

    @property
    def pids(self) -> dict[str, int]:
        """Of its programs, by name."""
        return self.programs.pids

    async def restart(self, program: str) -> None:
        """Kill the program of that name, and start it again."""
        await self.programs.restart(program)

    def memory_bytes(self) -> int:
        """Resident memory of all its programs."""
        return sum(_resident_bytes(pid) for pid in self.pids.values())


class _Launch:
    """One start of the four programs."""

    def __init__(
        self,
        folder: Path,
        binaries: Binaries,
        supervisor: Supervisor,
        clock: Clock,
        entropy: Entropy,
        options: PlaneOptions,
    ) -> None:
        self._folder = folder
        self._binaries = binaries
        self._supervisor = supervisor
        self._clock = clock
        self._options = options
        self._logs = folder / "logs"
        self._logs.mkdir(exist_ok=True)
        self._credentials = components.issue_credentials(Authority(folder / "pki", clock.now()), options.address)
        self._tokens = folder / "pki" / "tokens.csv"
        self._token = _kept_token(self._tokens, entropy)
        self._processes: dict[str, Process] = {}
        self._commands: dict[str, list[str]] = {}
        self._deadline = clock.monotonic() + options.start_deadline_seconds

    async def run(self) -> ControlPlane:
        await self._await_kept_port()
        for attempt in range(1, _BIND_ATTEMPTS + 1):
            try:
                return await self._run_once(_choose_ports(self._folder, self._options))
            except _PortTaken:
                await self.stop()
                if self._options.port or attempt == _BIND_ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    async def _await_kept_port(self) -> None:
        """A connection of somebody may hold it for a moment; kubeconfigs that were handed out are worth the wait."""
        kept, until = _kept_ports(self._folder).get("apiserver", 0), self._clock.monotonic() + _KEPT_PORT_SECONDS
        while not _is_free(self._options.address, kept) and self._clock.monotonic() < until:
            await self._clock.sleep(0.1)

    async def _run_once(self, ports: Ports) -> ControlPlane:
        credentials, binaries, options = self._credentials, self._binaries, self._options
        url = f"https://{options.address}:{ports.apiserver}"
        await self._spawn("etcd", components.etcd_command(binaries, ports, credentials, self._folder / "etcd"))
        apiserver = components.apiserver_command(binaries, ports, credentials, self._tokens, options)
        if options.audit:
            apiserver += components.audit_flags(self._folder, self._logs / "audit.jsonl")
        await self._spawn("kube-apiserver", apiserver)
        async with _session(credentials, self._token) as session:
            await self._await_answer(session, f"{url}/readyz", "kube-apiserver")
            kubeconfig = self._kubeconfig("controller-manager", url, credentials.controller_manager)
            manager = components.controller_manager_command(binaries, credentials, kubeconfig, options)
            await self._spawn("kube-controller-manager", manager)
            kubeconfig = self._kubeconfig("scheduler", url, credentials.scheduler)
            await self._spawn("kube-scheduler", components.scheduler_command(binaries, kubeconfig, options))
            account = f"{url}/api/v1/namespaces/default/serviceaccounts/default"
            await self._await_answer(session, account, "kube-controller-manager")
        return self._plane(url)

    def _plane(self, url: str) -> ControlPlane:
        authority = self._credentials.authority.certificate
        kubeconfig = self._folder / "kubeconfig"
        write_kubeconfig(kubeconfig, ClusterAccess(url, authority, self._token, name=self._options.context))
        return ControlPlane(
            url=url,
            token=self._token,
            kubeconfig=kubeconfig,
            authority=authority,
            kubelet_server=self._credentials.kubelet_server,
            logs=self._logs,
            programs=self,
        )

    def _kubeconfig(self, name: str, url: str, client: KeyPair) -> Path:
        path = self._folder / "pki" / f"{name}.kubeconfig"
        write_kubeconfig(path, ClusterAccess(url, self._credentials.authority.certificate, client=client))
        return path

    async def stop(self) -> None:
        """Ask, then insist; etcd last, for the others still write to it."""
        etcd = self._processes.pop("etcd", None)
        await _end(self._processes.values())
        if etcd is not None:
            await _end([etcd])
        self._processes.clear()

    @property
    def pids(self) -> dict[str, int]:
        return {name: process.pid for name, process in self._processes.items()}

    async def restart(self, name: str) -> None:
        process = self._processes[name]
        process.signal(signal.SIGKILL)
        await process.wait()
        await self._spawn(name, self._commands[name])

    async def _spawn(self, name: str, argv: list[str]) -> None:
        log, self._commands[name] = self._logs / f"{name}.log", argv
        log.write_bytes(b"")
        command = Command(argv, log, cwd=self._folder, captured=False, env={"HOME": str(self._folder)})
        self._processes[name] = await self._supervisor.start(command, name)

    async def _await_answer(self, session: aiohttp.ClientSession, url: str, waiting_for: str) -> None:
        """Poll until 200; a program that ends meanwhile, or the deadline, is reported with the end of its log."""
        while True:
            self._check_alive()
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with session.get(url) as answer:
                    if answer.status == 200:
                        return
            if self._clock.monotonic() > self._deadline:
                seconds = self._options.start_deadline_seconds
                raise ControlPlaneFailed(
                    f"{waiting_for} was not ready after {seconds:.0f} s:\n{self._log_tail(waiting_for)}",
                    fix="try again on a less busy machine",
                )
            await self._clock.sleep(_POLL_SECONDS)

    def _check_alive(self) -> None:
        for name, process in self._processes.items():
            if process.exit_code is not None:
                tail = self._log_tail(name)
                kind = _PortTaken if "address already in use" in tail else ControlPlaneFailed
                raise kind(f"{name} ended with code {process.exit_code}:\n{tail}", fix=f"see {self._logs}/{name}.log")

    def _log_tail(self, name: str) -> str:
        text = (self._logs / f"{name}.log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-_LOG_LINES:])


async def _end(processes: Iterable[Process]) -> None:
    ends = [asyncio.ensure_future(process.wait()) for process in processes]
    for process in processes:
        process.signal(signal.SIGTERM)
    if ends:
        await asyncio.wait(ends, timeout=_STOP_SECONDS)
    for process in processes:
        process.signal(signal.SIGKILL)
    await asyncio.gather(*ends)


def _session(credentials: Credentials, token: str) -> aiohttp.ClientSession:
    context = ssl.create_default_context(cafile=str(credentials.authority.certificate))
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context),
        headers={"Authorization": f"Bearer {token}"},
        timeout=aiohttp.ClientTimeout(total=5),
    )


def _kept_token(path: Path, entropy: Entropy) -> str:
    if path.exists():
        return path.read_text().split(",", 1)[0]
    token = entropy.token()
    write_private(path, f'{token},admin,admin,"system:masters"\n'.encode())
    return token


def _choose_ports(folder: Path, options: PlaneOptions) -> Ports:
    """The ports of the last start where they are free, so that a kubeconfig that was handed out stays true."""
    file, kept = folder / _PORTS, _kept_ports(folder)
    if options.port:
        kept["apiserver"] = options.port
    sockets = [_bound(options.address, kept.get("apiserver", 0), required=bool(options.port))]
    sockets += [_bound(LOOPBACK, kept.get(name, 0), required=False) for name in ("etcd", "etcd_peer")]
    ports = Ports(*(held.getsockname()[1] for held in sockets))
    for held in sockets:
        held.close()
    file.write_text(json.dumps({"apiserver": ports.apiserver, "etcd": ports.etcd, "etcd_peer": ports.etcd_peer}))
    return ports


def _kept_ports(folder: Path) -> dict[str, int]:
    file = folder / _PORTS
    kept: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}
    return kept


def _is_free(address: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def _bound(address: str, port: int, *, required: bool) -> socket.socket:
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held.bind((address, port))
    except OSError as error:
        if required:
            held.close()
            raise ControlPlaneFailed(f"port {port} is taken: {error.strerror}", fix="choose another port") from error
        held.bind((address, 0))
    return held


def _resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0
