"""One run of one container, from its start to its end: what the runtime reports, and how it is stopped."""

import asyncio
import contextlib
import signal
from collections.abc import Callable

from drydock.actors.kubelet.container import Container, Role, Running, Terminated
from drydock.actors.kubelet.hooks import run_hook
from drydock.actors.kubelet.kit import Kit
from drydock.actors.machinery.objects import Object
from drydock.runtime.contract import Exit, Handle, ProbeKind

MINIMUM_GRACE_SECONDS = 2.0


class Run:
    """Hears what happens to a container (it is the runtime's `Listener`) and keeps its record."""

    def __init__(self, kit: Kit, pod: Object, container: Container, wake: Callable[[], None]) -> None:
        self._kit = kit
        self._pod = pod
        self._container = container
        self._wake = wake
        self._handle: Handle | None = None
        self._ended = asyncio.Event()
        self._exit: Exit | None = None
        self._stopper: asyncio.Task[None] | None = None
        self._patience: asyncio.Timeout | None = None
        self._deadline = 0.0  # of the loop's clock; when the grace is over
        self._end_callback: Callable[[], object] = lambda: None

    def begin(self, handle: Handle) -> None:
        """The runtime has started it."""
        container = self._container
        if container.has_run:
            if isinstance(container.state, Terminated):
                container.last = container.state
            container.restart_count += 1
            container.backoff.attempted(container.ended_at, self._kit.clock.monotonic())
        self._handle = handle
        container.state = Running(self._kit.clock.now())
        container.container_id = handle.container_id
        container.started = "startupProbe" not in container.spec
        container.ready = (
            container.role is not Role.INIT and container.started and "readinessProbe" not in container.spec
        )
        if self._exit is not None:  # it ended before the runtime's answer came
            self._record_end(self._exit)
            return
        handle.watch()

    @property
    def handle(self) -> Handle | None:
        return self._handle

    def on_end(self, callback: Callable[[], object]) -> None:
        """Called once, when it is over."""
        self._end_callback = callback
        if self._ended.is_set():
            callback()

    # -- the runtime's listener

    def exited(self, exit: Exit) -> None:
        self._exit = exit
        if self._handle is not None:
            self._record_end(exit)

    def probed(self, kind: ProbeKind, healthy: bool) -> None:
        container = self._container
        if self._ended.is_set():
            return
        match kind, healthy:
            case ProbeKind.STARTUP, True:
                container.started = True
                container.ready = "readinessProbe" not in container.spec
            case ProbeKind.READINESS, _:
                container.ready = healthy and container.started
            case ((ProbeKind.STARTUP | ProbeKind.LIVENESS), False):
                probe = container.spec["startupProbe" if kind is ProbeKind.STARTUP else "livenessProbe"]
                grace = probe.get("terminationGracePeriodSeconds")
                if grace is None:
                    grace = self._pod["spec"].get("terminationGracePeriodSeconds", 30)
                told = f"Container {container.name} failed {kind.value.lower()} probe, will be restarted"
                self.stop(float(grace), told)
        self._wake()

    def probe_failed(self, kind: ProbeKind, output: str) -> None:
        if not self._ended.is_set():
            self._kit.warn(self._pod, "Unhealthy", f"{kind.value} probe failed: {output}")

    # -- stopping

    def stop(self, grace_seconds: float, message: str) -> None:
        """Ask it to end, and see to it that it does; a second call only ever shortens the grace."""
        if self._stopper is not None:
            self.hurry(grace_seconds)
            return
        self._kit.tell(self._pod, "Killing", message)
        self._deadline = _now() + grace_seconds
        self._stopper = asyncio.create_task(self._stop(grace_seconds), name=f"stop {self._container.name}")

    def hurry(self, grace_seconds: float) -> None:
        """The grace has become shorter."""
        deadline = _now() + max(grace_seconds, MINIMUM_GRACE_SECONDS)
        if self._stopper is None or deadline >= self._deadline:
            return
        self._deadline = deadline
        if self._patience is not None and not self._patience.expired():
            self._patience.reschedule(deadline)

    def kill(self) -> None:
        """End it now, without asking."""
        if self._stopper is not None:
            self._stopper.cancel()
        if self._handle is not None and not self._ended.is_set():
            self._handle.signal(signal.SIGKILL)

    async def _stop(self, grace_seconds: float) -> None:
        assert self._handle
        if grace_seconds > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(self._deadline) as self._patience:
                    spec, clock = self._container.spec, self._kit.clock
                    if not await run_hook("preStop", spec, self._handle, clock, grace_seconds):
                        self._kit.warn(self._pod, "FailedPreStopHook", "PreStopHook failed")
        self._handle.signal(signal.SIGTERM)
        self._deadline = max(self._deadline, _now() + MINIMUM_GRACE_SECONDS)
        try:
            async with asyncio.timeout_at(self._deadline) as self._patience:
                await self._ended.wait()
        except TimeoutError:
            self._handle.signal(signal.SIGKILL)

    def _record_end(self, exit: Exit) -> None:
        container = self._container
        started_at = container.state.started_at if isinstance(container.state, Running) else None
        container.state = Terminated(
            exit_code=exit.code,
            reason=exit.reason or ("Completed" if exit.code == 0 else "Error"),
            started_at=started_at,
            finished_at=self._kit.clock.now(),
            message=exit.message,
            container_id=container.container_id,
        )
        container.ready = container.role is Role.INIT and exit.code == 0
        container.started = False
        container.stopping = False
        container.ended_at = self._kit.clock.monotonic()
        self._ended.set()
        self._end_callback()
        self._wake()


def _now() -> float:
    return asyncio.get_running_loop().time()
