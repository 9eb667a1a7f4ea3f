"""Containers as local processes: the command is executed as it is, never through a shell, and ends with us."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path

from drydock.processes.supervisor import Command, Process, StartFailed, Supervisor
from drydock.runtime.addresses import LOOPBACK, Addresses
from drydock.runtime.contract import (
    ContainerRun,
    Exit,
    ImageFailed,
    Listener,
    LogLine,
    PodPlace,
    ProbeOutcome,
    StartRefused,
)
from drydock.runtime.execution import ProcessExecution, StandardStreams
from drydock.runtime.images import check_image, command_line
from drydock.runtime.last_words import log_end, make_file, read_words, target_of, wants_log
from drydock.runtime.logs import read_lines, render
from drydock.runtime.probes import FIELDS, ProbeTarget, watch_container
from drydock.streaming.remote_command import CommandFailed, CommandOptions
from hawser.clock import Clock

_PROBE_OUTPUT_LIMIT = 10 * 1024
_ROOT = ("DRYDOCK_ROOT", "MOORING_ROOT")  # the second names are those of the time before drydock had its own
_MOUNTS = ("DRYDOCK_MOUNTS", "MOORING_MOUNTS")


class ProcessHandle:
    """A container that runs."""

    def __init__(
        self, run: ContainerRun, process: Process, command: Command, supervisor: Supervisor, clock: Clock, words: Path
    ) -> None:
        self._run = run
        self._words = words
        self._process = process
        self._command = command
        self._supervisor = supervisor
        self._clock = clock
        self._probing: asyncio.Task[None] | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._listener: Listener | None = None
        self._executions = 0
        self._opened: set[ProcessExecution] = set()
        self.container_id = f"process://{process.identity}"

    def listen(self, listener: Listener) -> None:
        """Report the end."""
        self._listener = listener
        self._waiting = asyncio.create_task(self._await_end(listener), name=f"await {self.container_id}")

    def watch(self) -> None:
        if self._listener and any(field in self._run.spec for field in FIELDS.values()):
            target = ProbeTarget(self._run.spec, self._run.address, self.execute)
            probing = watch_container(target, self._clock, self._listener)
            self._probing = asyncio.create_task(probing, name=f"probe {self.container_id}")

    def signal(self, number: int) -> None:
        self._process.signal(number)

    async def execute(self, command: Sequence[str], timeout_seconds: float) -> ProbeOutcome:
        self._executions += 1
        log = self._command.log.with_name(f"exec-{self._run.attempt}-{self._executions}")
        beside = Command(
            argv=list(command),
            log=log,
            env=self._command.env,
            cwd=self._command.cwd,
            mounts=self._command.mounts,
            scratch=self._command.scratch,
        )
        try:
            process = await self._supervisor.start(beside, f"exec-{self._run.container}")
        except StartFailed as failure:
            return ProbeOutcome(False, failure.message)
        try:
            async with asyncio.timeout(timeout_seconds):
                code = await process.wait()
            output = render(read_lines(log, 0)[0], timestamps=False)[:_PROBE_OUTPUT_LIMIT]
            return ProbeOutcome(code == 0, output.decode("utf-8", "replace"))
        except TimeoutError:
            return ProbeOutcome(False, f'command "{" ".join(command)}" timed out')
        finally:
            process.signal(9)
            log.unlink(missing_ok=True)

    async def open(self, command: Sequence[str], options: CommandOptions) -> "ProcessExecution":
        environment = {**({"TERM": "xterm"} if options.tty else {}), **self._command.env}
        with contextlib.ExitStack() as undo:
            try:
                streams = StandardStreams(stdin=options.stdin, terminal=options.tty)
                undo.callback(streams.close)
                undo.callback(streams.release)
                beside = replace(self._command, argv=list(command), env=environment, attachment=streams.attachment)
                process = await self._supervisor.start(beside, f"exec-{self._run.container}")
            except StartFailed as failure:
                raise CommandFailed(start_error(failure, command[0])) from failure
            except OSError as failure:
                raise CommandFailed(f"no streams for a command: {failure.strerror}") from failure
            undo.pop_all()
            streams.release()
        execution = ProcessExecution(process, streams, self._opened.discard)
        self._opened.add(execution)
        if self._process.exit_code is not None:  # ended while we started
            process.signal(signal.SIGKILL)
        return execution

    async def _await_end(self, listener: Listener) -> None:
        code = await self._process.wait()
        if self._probing:
            self._probing.cancel()
        for execution in self._opened:
            execution.kill()
        signal_number = max(0, -code)
        exit_code = 128 + signal_number if signal_number else code
        listener.exited(Exit(exit_code, signal_number, message=self._last_words(exit_code)))

    def _last_words(self, exit_code: int) -> str:
        try:
            written = read_words(self._words)
        except OSError:  # the pod is gone, and its folder with it
            return ""
        if wants_log(self._run.spec, written, exit_code):
            return log_end(read_lines(self._command.log, 0)[0])
        return written


class ProcessRuntime:
    """Runs containers below `folder`: a folder a node, in it its disk and its pods."""

    has_processes = True

    def __init__(self, folder: Path, supervisor: Supervisor, clock: Clock) -> None:
        self._folder = folder.resolve()
        self._supervisor = supervisor
        self._clock = clock
        self._addresses = Addresses(LOOPBACK, str(self._folder))
        self._path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))

    @property
    def real_mounts(self) -> bool:
        """Whether a mountPath is really there for a container; else it is a link below DRYDOCK_ROOT."""
        return self._supervisor.mounts

    def address_of(self, place: PodPlace, wanted: str) -> str:
        return self._addresses.take(place.uid, wanted)

    def node_folder(self, node: str) -> Path:
        return self._folder / node / "disk"

    def pod_folder(self, place: PodPlace) -> Path:
        return self._folder / place.node / "pods" / place.uid

    def environment(self, place: PodPlace, container: str) -> Mapping[str, str]:
        folder = self._container_folder(place, container)
        root = "" if self.real_mounts else str(folder / "root")
        return {"PATH": self._path, "HOME": str(folder / "work"), **dict.fromkeys(_ROOT, root)}

    async def pull(self, image: str, granted: Collection[str]) -> None:
        if problem := check_image(image, granted):
            raise ImageFailed(problem)

    async def start(self, run: ContainerRun, listener: Listener) -> ProcessHandle:
        folder = self._container_folder(run.place, run.container)
        for name in ("work", "scratch"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / f"{run.attempt - 2}.log").unlink(missing_ok=True)
        (folder / f"{run.attempt - 2}.log.1").unlink(missing_ok=True)
        words = make_file(folder, run.attempt)
        command = self._command(run, folder, words)
        try:
            process = await self._supervisor.start(command, f"{run.place.name}-{run.container}")
        except StartFailed as failure:
            raise StartRefused("StartError", start_error(failure, command.argv[0])) from failure
        handle = ProcessHandle(run, process, command, self._supervisor, self._clock, words)
        handle.listen(listener)
        return handle

    def log(self, place: PodPlace, container: str, attempt: int, after: int) -> tuple[Sequence[LogLine], int]:
        path = self._container_folder(place, container) / f"{attempt}.log"
        lines, position = read_lines(path, after)
        if after == 0:
            older, _ = read_lines(path.with_name(f"{path.name}.1"), 0)
            lines = older + lines
        return lines, position

    def forget_pod(self, place: PodPlace) -> None:
        self._addresses.release(place.uid)
        shutil.rmtree(self.pod_folder(place), ignore_errors=True)

    def keep_only(self, node: str, uids: Set[str]) -> None:
        pods = self._folder / node / "pods"
        for folder in pods.iterdir() if pods.is_dir() else ():
            if folder.name not in uids:
                shutil.rmtree(folder, ignore_errors=True)

    def wipe_node(self, node: str) -> None:
        shutil.rmtree(self._folder / node, ignore_errors=True)

    def _container_folder(self, place: PodPlace, container: str) -> Path:
        return self.pod_folder(place) / "containers" / container

    def _command(self, run: ContainerRun, folder: Path, words: Path) -> Command:
        argv = command_line(run.image, run.command, run.arguments, self._path)
        if not argv:
            told = f'no command given: Drydock runs local programs, and none is named as the image "{run.image}"'
            raise StartRefused("StartError", told)
        environment = dict(run.environment)
        mounts = [(str(mount.source), mount.target, mount.read_only) for mount in run.mounts]
        mounts.append((str(words), target_of(run.spec), False))
        if not self.real_mounts:
            _link_mounts(folder / "root", mounts)
            environment |= dict.fromkeys(_MOUNTS, json.dumps({target: source for source, target, _ in mounts}))
        return Command(
            argv=argv,
            log=folder / f"{run.attempt}.log",
            env=environment,
            cwd=Path(run.spec.get("workingDir") or folder / "work"),
            mounts=mounts if self.real_mounts else (),
            scratch=folder / "scratch",
        )


def _link_mounts(root: Path, mounts: Sequence[tuple[str, str, bool]]) -> None:
    for source, target, _ in mounts:
        link = root / target.lstrip("/")
        if not link.is_symlink():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(source)


def start_error(failure: StartFailed, program: str) -> str:
    """Why a program was not started, in the words of a container runtime."""
    if failure.detail.get("errno") == 2 and failure.detail.get("path") == program:
        return f'failed to start: exec: "{program}": executable file not found in $PATH'
    return f"failed to start: {failure.message}"
