"""Commands in the pod of a claimed worker, and its log: by `kubectl`, with the rights of the caller."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, TypeVar

from mooring.client.connection import Endpoint, StateFolder
from mooring.client.kubectl import ClusterOptions, Kubectl, WorkerPod, find_kubeconfig
from mooring.client.runtime import BackgroundWork, Runtime
from mooring.model.errors import InvalidInput, Refused

T = TypeVar("T")

LOOK_SECONDS = 0.2  # how often a command that runs is compared with its claim
_LOG_SECONDS = 30.0


class ClusterFlags(TypedDict, total=False):
    """Options of kubectl. Default: the cluster of a local `mooring up`, else as kubectl chooses it."""

    container: str
    kubeconfig: str
    context: str


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command in a worker ended: its exit code, and what it wrote to both of its streams."""

    exit_code: int
    output: str
    errors: str


class PodCommands:
    """What a claim may do in the pod of its worker. `check` raises when the claim is lost, which ends the command."""

    def __init__(self, runtime: Runtime, endpoint: Endpoint, state: StateFolder = None) -> None:
        self._runtime = runtime
        self._endpoint = endpoint
        self._state = Path(state) if state else None

    async def execute(
        self, pod: WorkerPod, command: Sequence[str], text: str, flags: ClusterFlags, check: Callable[[], None]
    ) -> CommandResult:
        """Run a command in the pod to its end."""
        if isinstance(command, str) or not command or not all(isinstance(word, str) for word in command):
            raise InvalidInput("command", command, 'a list of words, such as ["python", "-V"]')
        kubectl = await self._find(pod, flags, check)
        return await self._run(kubectl.exec_words(pod, command, terminal=False), text, check)

    async def read_log(
        self, pod: WorkerPod, words: Sequence[str], flags: ClusterFlags, check: Callable[[], None]
    ) -> str:
        """The end of the log of the pod."""
        kubectl = await self._find(pod, flags, check)
        wait = f"--request-timeout={_LOG_SECONDS:g}s"
        done = await self._run(kubectl.logs_words(pod, [wait, *words]), "", check)
        if done.exit_code:
            raise Refused(f"the log of {pod.namespace}/{pod.name} cannot be read: {done.errors.strip()}")
        return done.output

    async def _find(self, pod: WorkerPod, flags: ClusterFlags, check: Callable[[], None]) -> Kubectl:
        options = ClusterOptions(**flags)
        kubectl = Kubectl(find_kubeconfig(self._endpoint, options, self._state), options)
        await _end_of(self._runtime.in_thread(lambda: kubectl.check(pod), "mooring-look"), check)
        return kubectl

    async def _run(self, words: Sequence[str], text: str, check: Callable[[], None]) -> CommandResult:
        process = _start(words)
        try:
            talk = self._runtime.in_thread(lambda: _talk(process, text.encode()), "mooring-exec")
            output, errors = await _end_of(talk, check)
        except BaseException:
            process.kill()
            raise
        return CommandResult(process.returncode, output.decode(errors="replace"), errors.decode(errors="replace"))


def _start(words: Sequence[str]) -> "subprocess.Popen[bytes]":
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe)


def _talk(process: "subprocess.Popen[bytes]", text: bytes) -> tuple[bytes, bytes]:
    with process:  # closed by the thread that reads: the caller may be gone
        return process.communicate(text)


async def _end_of(work: BackgroundWork[T], check: Callable[[], None]) -> T:
    while not await work.wait(LOOK_SECONDS):
        check()
    return work.result()
