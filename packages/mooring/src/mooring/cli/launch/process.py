"""One process of Mooring: the control plane, its API and its pages, until a signal stops it."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence

import structlog

from mooring.api.auth import Access
from mooring.api.hosting import HttpHost
from mooring.api.server import ApiParts, Commands, build_api
from mooring.app import Mooring, Surroundings
from mooring.dashboard.live import LiveViews
from mooring.dashboard.pages import build_pages
from mooring.model.timeouts import Timeouts
from mooring.queries.events import EventHub


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


def api_parts(mooring: Mooring, given: Surroundings, hub: EventHub, access: Access) -> ApiParts:
    """The parts that the routes of the API use."""
    return ApiParts(
        queries=mooring.queries,
        commands=Commands(
            mooring.claims,
            mooring.pools.adoption,
            mooring.invariant_commands,
            mooring.warmups.commands,
            mooring.submissions.commands,
            mooring.services.commands,
        ),
        readiness=mooring,
        hub=hub,
        access=access,
        clock=given.clock,
    )


async def run_process(
    given: Surroundings,
    access: Access,
    listeners: Sequence[socket.socket],
    stop: asyncio.Event,
    ready: Callable[[], None],
    timeouts: Timeouts = Timeouts(),
) -> None:
    """Run until `stop` is set; calls `ready` when the caches are synced."""
    mooring = Mooring(given, timeouts)
    hub = EventHub(given.clock)
    mooring.subscribe(hub.publish)
    live = LiveViews(hub, mooring.queries)
    parts = api_parts(mooring, given, hub, access)
    host = HttpHost(build_api(parts, build_pages(live)), listeners)
    async with asyncio.TaskGroup() as group:
        core = [group.create_task(work) for work in (mooring.run(), hub.run(), live.run())]
        web = group.create_task(host.run())
        synced = group.create_task(mooring.wait_synced())
        stopping = group.create_task(stop.wait())
        await asyncio.wait({synced, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if synced.done():
            tune_garbage_collection()
            ready()
            await stop.wait()
        synced.cancel()
        mooring.claims.close()
        host.stop()
        await web
        await mooring.stop()
        for task in core:
            task.cancel()
