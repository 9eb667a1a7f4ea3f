"""One process of Mooring: the control plane, its API and its pages, until a signal stops it."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from hawser.clock import Clock
from mooring.api.access.control import AccessControl, AccessOptions, build_access
from mooring.api.access.doctor import look_at_tokens
from mooring.api.certificate import ServingCertificate
from mooring.api.hosting import HttpHost
from mooring.api.limits import LimitOptions, Limits
from mooring.api.server import ApiParts, Commands, build_api
from mooring.app import Dependencies, Mooring
from mooring.dashboard.live import LiveViews
from mooring.dashboard.pages import build_pages
from mooring.dashboard.replay_pages import Replays
from mooring.model.timeouts import Timeouts
from mooring.queries.events import EventHub
from mooring.settings import Settings

READY_SECONDS = 10.0  # a kind that cannot be watched keeps /readyz at 503; the rest works


def configure_logs(level: str) -> None:
    """JSON lines on stderr: stdout is for data."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper(), logging.INFO)),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def tokens_file(settings: Settings) -> Path | None:
    """The file of static tokens, if there is one."""
    return Path(settings.tokens) if settings.tokens else None


def replica_name(configured: str) -> str:
    """The configured name, or the host name: unique in a cluster, and the same after the pod restarts."""
    return configured or socket.gethostname()


def stop_on_signals() -> asyncio.Event:
    """An event that Ctrl-C or SIGTERM sets. A second signal ends the process at once."""
    stop = asyncio.Event()

    def ask() -> None:
        if stop.is_set():
            os._exit(130)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ask)
    return stop


def tune_garbage_collection() -> None:
    """Exclude the objects that exist now, mostly code, from collection: that avoids pauses of 50 ms."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)  # reference counting frees nearly all garbage of a request


def api_parts(mooring: Mooring, clock: Clock, hub: EventHub, access: AccessControl, limits: Limits) -> ApiParts:
    """The parts that the routes of the API use."""
    mooring.queries.doctor.look_too("access/tokens", lambda: look_at_tokens(access.authentication.static))
    return ApiParts(
        queries=mooring.queries,
        commands=Commands(
            mooring.claims,
            mooring.pools.adoption,
            mooring.invariant_commands,
            mooring.warmups.commands,
            mooring.submissions.commands,
            mooring.services.commands,
            mooring.pools.commands,
        ),
        readiness=mooring.readiness,
        hub=hub,
        access=access,
        limits=limits,
        clock=clock,
    )


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where callers come in: bound sockets, who may enter, the certificate of HTTPS, limits, and replays to watch."""

    listeners: Sequence[socket.socket]
    access: AccessOptions
    certificate: ServingCertificate | None = None
    limits: LimitOptions = field(default_factory=LimitOptions)
    replays: Replays | None = None


async def run_process(
    given: Dependencies,
    entrance: Entrance,
    stop: asyncio.Event,
    ready: Callable[[], None],
    timeouts: Timeouts = Timeouts(),
) -> None:
    """Run until `stop` is set; calls `ready` when `/readyz` answers 200, at the latest READY_SECONDS after the sync."""
    mooring = Mooring(given, timeouts)
    hub = EventHub(given.clock)
    mooring.subscribe(hub.publish)
    live = LiveViews(hub, mooring.queries, given.clock)
    access = build_access(entrance.access, given.client, given.ledger.sessions, mooring.clock, given.entropy)
    parts = api_parts(mooring, mooring.clock, hub, access, Limits(entrance.limits, given.clock))
    certificate = entrance.certificate
    api = build_api(parts, build_pages(live, entrance.replays))
    host = HttpHost(api, entrance.listeners, certificate.context if certificate else None, entrance.limits)
    async with asyncio.TaskGroup() as group:
        core = [group.create_task(work) for work in (mooring.run(), hub.run(), live.run())]
        if certificate is not None:
            core.append(group.create_task(certificate.run()))
        web = group.create_task(host.run())
        synced = group.create_task(_until_ready(mooring, given.clock))
        stopping = group.create_task(stop.wait())
        await asyncio.wait({synced, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if synced.done():
            tune_garbage_collection()
            ready()
            await stop.wait()
        synced.cancel()
        mooring.claims.close()
        host.stop()
        await asyncio.gather(mooring.hand_over(), web)
        await mooring.stop()
        for task in core:
            task.cancel()


async def _until_ready(mooring: Mooring, clock: Clock) -> None:
    await mooring.wait_synced()
    deadline = clock.monotonic() + READY_SECONDS
    while mooring.readiness.obstacles and clock.monotonic() < deadline:
        await clock.sleep(0.05)
