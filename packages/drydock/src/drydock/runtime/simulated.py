"""Containers that are only scripts: no process, no socket, no file. Time passes as the clock says."""

import asyncio
import signal
from collections.abc import Collection, Mapping, Sequence, Set
from datetime import datetime, timedelta
from pathlib import Path

from drydock.runtime.addresses import IMAGINARY, Addresses
from drydock.runtime.contract import (
    ContainerRun,
    Exit,
    ImageFailed,
    Listener,
    LogLine,
    PodPlace,
    ProbeKind,
    ProbeOutcome,
    StartRefused,
)
from drydock.runtime.images import check_image
from drydock.runtime.script import Script, Scripts, default_script
from drydock.streaming.remote_command import CommandFailed, CommandOptions, Execution
from hawser.clock import Clock


class SimulatedHandle:
    """A script being played."""

    def __init__(self, run: ContainerRun, script: Script, clock: Clock, listener: Listener) -> None:
        self._run = run
        self._script = script
        self._clock = clock
        self._listener = listener
        self._over = False
        self._tasks: list[asyncio.Task[None]] = []
        self.container_id = f"drydock://{run.place.uid}-{run.container}-{run.attempt}"
        self.started_at = clock.now()
        self.ended_at: datetime | None = None
        if script.run_seconds is not None:
            self._later(script.run_seconds, Exit(script.exit_code, reason=script.reason, message=script.message))

    def watch(self) -> None:
        moments = self._readiness() + self._liveness()
        if moments and not self._over:
            self._tasks.append(asyncio.create_task(self._play(sorted(moments, key=lambda moment: moment[0]))))

    def signal(self, number: int) -> None:
        match number:
            case signal.SIGKILL:
                self._end(Exit(128 + number, number))
            case signal.SIGTERM:
                code = self._script.stop_code
                if self._script.stop_seconds == 0:
                    self._end(Exit(code))
                else:
                    self._later(self._script.stop_seconds, Exit(code))

    async def execute(self, command: Sequence[str], timeout_seconds: float) -> ProbeOutcome:
        return ProbeOutcome(True)

    async def open(self, command: Sequence[str], options: CommandOptions) -> Execution:
        raise CommandFailed("a simulated container runs no commands")

    def log_lines(self) -> list[LogLine]:
        """What it has written by now."""
        until = self.ended_at or self._clock.now()
        step = timedelta(seconds=self._script.log_seconds)
        lines = [LogLine(self.started_at + step * index, text.encode()) for index, text in enumerate(self._script.logs)]
        return [line for line in lines if line.at <= until]

    def cancel(self) -> None:
        """Stop playing without an end."""
        self._over = True
        for task in self._tasks:
            task.cancel()

    def _readiness(self) -> list[tuple[float, ProbeKind, bool]]:
        spec, script = self._run.spec, self._script
        moments = []
        begin = script.ready_seconds
        if probe := spec.get("startupProbe"):
            moments.append((max(begin, float(probe.get("initialDelaySeconds", 0))), ProbeKind.STARTUP, True))
        if probe := spec.get("readinessProbe"):
            begin = max(begin, float(probe.get("initialDelaySeconds", 0)))
            moments.append((begin, ProbeKind.READINESS, True))
            for since, until in script.unready:
                moments += [(since, ProbeKind.READINESS, False), (until, ProbeKind.READINESS, True)]
        return moments

    def _liveness(self) -> list[tuple[float, ProbeKind, bool]]:
        probe, dies = self._run.spec.get("livenessProbe"), self._script.dies_seconds
        if not probe or dies is None:
            return []
        noticed = float(probe.get("periodSeconds", 10)) * int(probe.get("failureThreshold", 3))
        return [(dies + noticed, ProbeKind.LIVENESS, False)]

    async def _play(self, moments: Sequence[tuple[float, ProbeKind, bool]]) -> None:
        passed = 0.0
        for at, kind, healthy in moments:
            if at > passed:
                await self._clock.sleep(at - passed)
                passed = at
            if not healthy:
                self._listener.probe_failed(kind, "the script says so")
            self._listener.probed(kind, healthy)

    def _later(self, seconds: float, exit: Exit) -> None:
        self._tasks.append(asyncio.create_task(self._end_after(seconds, exit)))

    async def _end_after(self, seconds: float, exit: Exit) -> None:
        await self._clock.sleep(seconds)
        self._end(exit)

    def _end(self, exit: Exit) -> None:
        if self._over:
            return
        self._over = True
        self.ended_at = self._clock.now()
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()
        self._listener.exited(exit)


class SimulatedRuntime:
    """Plays scripts. `scripts` chooses them; the default reads the pod's annotation."""

    has_processes = False

    def __init__(self, clock: Clock, scripts: Scripts = default_script) -> None:
        self._clock = clock
        self._scripts = scripts
        self._addresses = Addresses(IMAGINARY, "simulated")
        self._pods: dict[str, dict[tuple[str, int], SimulatedHandle]] = {}

    def address_of(self, place: PodPlace, wanted: str) -> str:
        return self._addresses.take(place.uid, wanted)

    def pod_folder(self, place: PodPlace) -> Path | None:
        return None

    def node_folder(self, node: str) -> Path | None:
        return None

    def environment(self, place: PodPlace, container: str) -> Mapping[str, str]:
        return {}

    async def pull(self, image: str, granted: Collection[str]) -> None:
        if problem := check_image(image, granted):
            raise ImageFailed(problem)

    async def start(self, run: ContainerRun, listener: Listener) -> SimulatedHandle:
        script = self._scripts(run)
        if script.start_seconds:
            await self._clock.sleep(script.start_seconds)
        if script.start_error:
            raise StartRefused("StartError", script.start_error)
        handle = SimulatedHandle(run, script, self._clock, listener)
        handles = self._pods.setdefault(run.place.uid, {})
        handles.pop((run.container, run.attempt - 2), None)
        handles[run.container, run.attempt] = handle
        return handle

    def log(self, place: PodPlace, container: str, attempt: int, after: int) -> tuple[Sequence[LogLine], int]:
        handle = self._pods.get(place.uid, {}).get((container, attempt))
        lines = handle.log_lines() if handle else []
        return lines[after:], len(lines)

    def forget_pod(self, place: PodPlace) -> None:
        self._addresses.release(place.uid)
        for handle in self._pods.pop(place.uid, {}).values():
            handle.cancel()

    def keep_only(self, node: str, uids: Set[str]) -> None:
        return None

    def wipe_node(self, node: str) -> None:
        return None
