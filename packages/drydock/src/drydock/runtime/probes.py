"""Probing a container on this machine as its spec asks: HTTP, TCP or a command, counted against thresholds."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import aiohttp

from drydock.runtime.contract import Listener, Object, ProbeKind, ProbeOutcome
from hawser.clock import Clock

Execute = Callable[[Sequence[str], float], Awaitable[ProbeOutcome]]

FIELDS = {
    ProbeKind.STARTUP: "startupProbe",
    ProbeKind.READINESS: "readinessProbe",
    ProbeKind.LIVENESS: "livenessProbe",
}
_BODY_LIMIT = 10 * 1024


@dataclass(slots=True)
class Threshold:
    """Counts outcomes; `verdict` is what holds until enough of the contrary have come in a row."""

    failures_needed: int
    successes_needed: int
    verdict: bool | None = None
    _streak: int = field(default=0)
    _streak_ok: bool = field(default=True)

    def count(self, ok: bool) -> bool | None:
        """The verdict, if this outcome changes it; else None."""
        self._streak = self._streak + 1 if ok == self._streak_ok else 1
        self._streak_ok = ok
        needed = self.successes_needed if ok else self.failures_needed
        if self._streak < needed or ok == self.verdict:
            return None
        self.verdict = ok
        return ok


def threshold_of(probe: Object) -> Threshold:
    return Threshold(int(probe.get("failureThreshold", 3)), int(probe.get("successThreshold", 1)))


@dataclass(frozen=True, slots=True)
class ProbeTarget:
    """What is probed."""

    spec: Object
    address: str
    execute: Execute


async def watch_container(target: ProbeTarget, clock: Clock, listener: Listener) -> None:
    """Probe until cancelled: the startup probe alone until it succeeds, then readiness and liveness."""
    startup = target.spec.get("startupProbe")
    if startup and not await _until_started(startup, target, clock, listener):
        return
    async with asyncio.TaskGroup() as group:
        for kind in (ProbeKind.READINESS, ProbeKind.LIVENESS):
            if probe := target.spec.get(FIELDS[kind]):
                group.create_task(_repeat(kind, probe, target, clock, listener))


async def _until_started(probe: Object, target: ProbeTarget, clock: Clock, listener: Listener) -> bool:
    threshold = threshold_of(probe)
    await clock.sleep(float(probe.get("initialDelaySeconds", 0)))
    while True:
        verdict = await _once(ProbeKind.STARTUP, probe, threshold, target, listener)
        if verdict is not None:
            return verdict
        await clock.sleep(float(probe.get("periodSeconds", 10)))


async def _repeat(kind: ProbeKind, probe: Object, target: ProbeTarget, clock: Clock, listener: Listener) -> None:
    threshold = threshold_of(probe)
    threshold.verdict = kind is ProbeKind.LIVENESS  # alive and not ready, until the contrary is shown
    await clock.sleep(float(probe.get("initialDelaySeconds", 0)))
    while True:
        await _once(kind, probe, threshold, target, listener)
        await clock.sleep(float(probe.get("periodSeconds", 10)))


async def _once(
    kind: ProbeKind, probe: Object, threshold: Threshold, target: ProbeTarget, listener: Listener
) -> bool | None:
    outcome = await perform(probe, target)
    if not outcome.ok:
        listener.probe_failed(kind, outcome.output)
    verdict = threshold.count(outcome.ok)
    if verdict is not None:
        listener.probed(kind, verdict)
    return verdict


async def perform(probe: Object, target: ProbeTarget) -> ProbeOutcome:
    """One probe."""
    timeout = float(probe.get("timeoutSeconds", 1))
    match probe:
        case {"httpGet": check}:
            return await _http(check, target, timeout)
        case {"tcpSocket": check}:
            return await _tcp(check, target, timeout)
        case {"exec": check}:
            return await target.execute(check.get("command") or (), timeout)
        case _:
            return ProbeOutcome(False, f"this node has no probe of the kind {', '.join(probe)}")


async def _http(check: Object, target: ProbeTarget, timeout: float) -> ProbeOutcome:
    port = port_number(check["port"], target.spec)
    if port is None:
        return ProbeOutcome(False, f"couldn't find port: {check['port']}")
    scheme = str(check.get("scheme") or "HTTP").lower()
    url = f"{scheme}://{check.get('host') or target.address}:{port}{_absolute(check.get('path'))}"
    headers = {entry["name"]: entry["value"] for entry in check.get("httpHeaders") or ()}
    headers.setdefault("User-Agent", "kube-probe/1.36")
    try:
        async with (
            asyncio.timeout(timeout),
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.get(url, headers=headers, ssl=_unverified(scheme), allow_redirects=False) as answer,
        ):
            await answer.content.read(_BODY_LIMIT)
            if 200 <= answer.status < 400:
                return ProbeOutcome(True)
            return ProbeOutcome(False, f"HTTP probe failed with statuscode: {answer.status}")
    except TimeoutError:
        told = f'Get "{url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        return ProbeOutcome(False, told)
    except aiohttp.ClientConnectorError:
        return ProbeOutcome(False, f'Get "{url}": dial tcp {target.address}:{port}: connect: connection refused')
    except aiohttp.ClientError as error:
        return ProbeOutcome(False, f'Get "{url}": {error}')


async def _tcp(check: Object, target: ProbeTarget, timeout: float) -> ProbeOutcome:
    port = port_number(check["port"], target.spec)
    if port is None:
        return ProbeOutcome(False, f"couldn't find port: {check['port']}")
    host = str(check.get("host") or target.address)
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return ProbeOutcome(False, f"dial tcp {host}:{port}: i/o timeout")
    except OSError:
        return ProbeOutcome(False, f"dial tcp {host}:{port}: connect: connection refused")
    writer.close()
    return ProbeOutcome(True)


def port_number(port: int | str, spec: Object) -> int | None:
    """A port given by number, or by the name one of the container's ports has."""
    if isinstance(port, int) or port.isdigit():
        return int(port)
    named = (entry for entry in spec.get("ports") or () if entry.get("name") == port)
    return next((int(entry["containerPort"]) for entry in named), None)


def _absolute(path: object) -> str:
    text = str(path or "/")
    return text if text.startswith("/") else f"/{text}"


def _unverified(scheme: str) -> ssl.SSLContext | bool:
    if scheme != "https":
        return True
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
