"""The supervisor's own program: a small single-threaded process, the parent of every process it is asked to start.

It reads commands as JSON lines on stdin and writes events as JSON lines on stdout (`protocol` in supervisor.py).
When stdin ends, for whatever reason, everything it started is killed, descendants included: it is their subreaper.
Standard library only, because it is a process of its own and should stay small.
"""

import ctypes
import errno
import fcntl
import json
import os
import selectors
import signal
import socket
import sys
import termios
from collections.abc import Callable
from typing import Any, NoReturn

from drydock.processes.logfile import LogFile
from drydock.processes.mounting import can_mount, enter_view

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CONTAINER_VARIABLE = b"DRYDOCK_PROCESS="
_libc = ctypes.CDLL(None, use_errno=True)


class Process:
    """One started process: its pid is also its process group."""

    def __init__(self, identity: str, pid: int, streams: dict[int, str], log: LogFile | None) -> None:
        self.identity = identity
        self.pid = pid
        self.streams = streams
        self.log = log


class Program:
    """Commands in, events out. Standard streams that are not a log arrive on the socket `handed_over`."""

    def __init__(self, commands: int, events: int, handed_over: socket.socket) -> None:
        self._commands = commands
        self._events = events
        self._handed_over = handed_over
        self._buffer = b""
        self._processes: dict[int, Process] = {}
        self._selector = selectors.DefaultSelector()
        self._ending = False

    def run(self) -> None:
        """Serve until stdin ends or SIGTERM comes; then end everything."""
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        woken, wake = socket.socketpair()
        woken.setblocking(False)
        wake.setblocking(False)
        signal.set_wakeup_fd(wake.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._end())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._tell(event="ready", mounts=can_mount())
        self._selector.register(self._commands, selectors.EVENT_READ, self._read_commands)
        self._selector.register(woken, selectors.EVENT_READ, lambda: self._reap(woken))
        while not self._ending:
            for key, _ in self._selector.select():
                key.data()
        self._kill_everything()

    def _end(self) -> None:
        self._ending = True

    def _read_commands(self) -> None:
        data = os.read(self._commands, 1 << 20)
        if not data:
            self._end()
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            command = json.loads(line)
            match command["do"]:
                case "start":
                    self._start(command)
                case "signal":
                    self._signal(command["id"], command["signal"])

    def _tell(self, **event: Any) -> None:
        data = json.dumps(event).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._events, data) :]
        except BrokenPipeError:
            self._end()

    def _start(self, command: dict[str, Any]) -> None:
        try:
            process = self._spawn(command)
        except OSError as error:
            self._tell(event="failed", id=command["id"], errno=error.errno, error=error.strerror, path=error.filename)
            return
        self._processes[process.pid] = process
        for descriptor in process.streams:
            self._selector.register(descriptor, selectors.EVENT_READ, self._copier(process, descriptor))
        self._tell(event="started", id=process.identity, pid=process.pid)

    def _spawn(self, command: dict[str, Any]) -> Process:
        inner, streams, log = self._standard_streams(command)
        failure_out, failure_in = os.pipe()
        supervisor = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become(command, inner, failure_in, supervisor)
        for descriptor in (*inner, failure_in):
            os.close(descriptor)
        with os.fdopen(failure_out, "rb") as reader:
            failure = reader.read()
        if failure:
            os.waitpid(pid, 0)
            for descriptor in streams:
                os.close(descriptor)
            told = json.loads(failure)
            raise OSError(told["errno"], told["error"], told["path"])
        for descriptor in streams:
            os.set_blocking(descriptor, False)
        return Process(command["id"], pid, streams, log)

    def _standard_streams(self, command: dict[str, Any]) -> tuple[list[int], dict[int, str], LogFile | None]:
        """The process's own three streams; our ends of those that go to a log, and that log."""
        if command["attached"]:
            _, inner, _, _ = socket.recv_fds(self._handed_over, 1, 3)
            for descriptor in inner:
                os.set_inheritable(descriptor, False)
            return inner, {}, None
        if command["captured"]:
            log = LogFile(command["log"], command["log_limit_bytes"])
            outer_out, inner_out = os.pipe()
            outer_err, inner_err = os.pipe()
            return [_nothing(), inner_out, inner_err], {outer_out: "stdout", outer_err: "stderr"}, log
        inner_out = os.open(command["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return [_nothing(), inner_out, os.dup(inner_out)], {}, None

    def _copier(self, process: Process, descriptor: int) -> Callable[[], object]:
        return lambda: self._copy(process, descriptor)

    def _copy(self, process: Process, descriptor: int) -> bool:
        """Move what is there into the log; False when there was nothing."""
        if descriptor not in process.streams:  # closed by an earlier event of the same turn
            return False
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return False
        assert process.log
        if data:
            process.log.write(process.streams[descriptor], data)
            return True
        self._close_stream(process, descriptor)
        return False

    def _close_stream(self, process: Process, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        os.close(descriptor)
        stream = process.streams.pop(descriptor)
        if process.log:
            process.log.end(stream)

    def _signal(self, identity: str, number: int) -> None:
        for process in self._processes.values():
            if process.identity != identity:
                continue
            if number == signal.SIGKILL:
                _kill_group(process.pid, number)
            else:
                _kill(process.pid, number)  # as in a container, where only its first process is asked

    def _reap(self, woken: socket.socket) -> None:
        try:
            woken.recv(4096)
        except BlockingIOError:
            pass
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if process := self._processes.pop(pid, None):
                self._finish(process, os.waitstatus_to_exitcode(status))

    def _finish(self, process: Process, code: int) -> None:
        _kill_group(process.pid, signal.SIGKILL)
        self._kill_strays(process.identity)
        for descriptor in list(process.streams):
            while self._copy(process, descriptor):
                pass
            if descriptor in process.streams:
                self._close_stream(process, descriptor)
        if process.log:
            process.log.close()
        self._tell(event="exited", id=process.identity, code=code)

    def _kill_strays(self, identity: str) -> None:
        """Descendants that left the process group come to us as orphans; their environment says whose they were."""
        mark = _CONTAINER_VARIABLE + identity.encode()
        for pid in _children():
            if pid not in self._processes and mark in _environment(pid):
                _kill(pid, signal.SIGKILL)

    def _kill_everything(self) -> None:
        for pid in self._processes:
            _kill_group(pid, signal.SIGKILL)
        while children := _children():
            for pid in children:
                _kill(pid, signal.SIGKILL)
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return


def _become(command: dict[str, Any], streams: list[int], failure: int, supervisor: int) -> NoReturn:
    """In the forked child: turn into the command, or report why not."""
    try:
        os.setsid()
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != supervisor:
            os._exit(1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        for target, source in enumerate(streams):
            os.dup2(source, target)
        if command["terminal"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        environment = {**command["env"], "DRYDOCK_PROCESS": command["id"]}
        enter_view(command["mounts"], command["scratch"])
        os.chdir(command["cwd"])
        os.execvpe(command["argv"][0], command["argv"], environment)
    except OSError as error:
        path = os.fsdecode(error.filename or command["argv"][0])
        if path.rsplit("/", 1)[-1] == command["argv"][0]:  # the last folder of PATH that was tried
            path = command["argv"][0]
        os.write(failure, json.dumps({"errno": error.errno, "error": error.strerror, "path": path}).encode())
    except ValueError as error:
        told = {"errno": errno.EINVAL, "error": str(error), "path": command["argv"][0]}
        os.write(failure, json.dumps(told).encode())
    finally:
        os._exit(127)


def _nothing() -> int:
    return os.open(os.devnull, os.O_RDONLY)


def _children() -> list[int]:
    me = os.getpid()
    with open(f"/proc/{me}/task/{me}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _kill_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        pass


def main() -> None:
    """Run on the standard streams."""
    commands, events = os.dup(0), os.dup(1)
    handed_over = socket.socket(fileno=int(sys.argv[2]))
    handed_over.set_inheritable(False)
    Program(commands, events, handed_over).run()
    sys.exit(0)
