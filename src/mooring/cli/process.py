"""One process of Mooring: the control plane, its API and its pages, from a client and a ledger until told to stop."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable

import structlog

from mooring.api.auth import Access
from mooring.api.events import EventHub
from mooring.api.hosting import HttpHost
from mooring.api.readmodels import Readings
from mooring.api.server import ApiParts, build_api
from mooring.app import Mooring, Surroundings
from mooring.clock import Clock
from mooring.dashboard.live import LiveViews
from mooring.dashboard.pages import build_pages
from mooring.model.timeouts import Timeouts


def configure_logs(level: str) -> None:
    """JSON lines to stderr: data on stdout stays clean."""
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
    """The configured name, or the host's: unique in a cluster, the same after a restart of the pod."""
    return configured or socket.gethostname()


def stop_on_signals() -> asyncio.Event:
    """Set by Ctrl-C or SIGTERM; a second one ends the process at once."""
    stop = asyncio.Event()

    def ask() -> None:
        if stop.is_set():
            os._exit(130)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ask)
    return stop


def spare_the_lasting() -> None:
    """What is there by now, code above all, stays: not looking through it for garbage spares pauses of 50 ms."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)  # nearly all garbage of a request is gone without being looked for


def api_parts(mooring: Mooring, given: Surroundings, hub: EventHub, access: Access) -> ApiParts:
    """What the routes of the API are made of."""
    return ApiParts(
        reading=mooring.reading,
        inspection=mooring.inspection,
        desk=mooring.desk,
        identity=mooring.identity,
        dispatching=mooring.dispatching,
        warming=mooring.warming,
        switches=mooring.switches,
        ledger=given.ledger,
        readiness=mooring,
        hub=hub,
        access=access,
        clock=given.clock,
        entropy=given.entropy,
        services=mooring.services.reading,
        explainer=mooring.explainer,
        doctor=mooring.doctor,
        submissions=mooring.submissions,
    )


def page_readings(mooring: Mooring, clock: Clock) -> Readings:
    """What live pages are made of."""
    return Readings(
        fleet=mooring.reading,
        services=mooring.services.reading,
        warmups=mooring.warming.reading,
        submissions=mooring.submissions.reading,
        inspection=mooring.inspection,
        clock=clock,
    )


async def run_process(
    given: Surroundings,
    access: Access,
    listener: socket.socket,
    stop: asyncio.Event,
    ready: Callable[[], None],
    timeouts: Timeouts = Timeouts(),
) -> None:
    """Run until `stop`; calls `ready` once the caches are synced."""
    mooring = Mooring(given, timeouts)
    hub = EventHub(given.clock)
    mooring.subscribe(hub.publish)
    live = LiveViews(hub, page_readings(mooring, given.clock))
    parts = api_parts(mooring, given, hub, access)
    host = HttpHost(build_api(parts, build_pages(live)), listener)
    async with asyncio.TaskGroup() as group:
        core = [group.create_task(work) for work in (mooring.run(), hub.run(), live.run())]
        web = group.create_task(host.run())
        synced = group.create_task(mooring.fleet.wait_synced())
        stopping = group.create_task(stop.wait())
        await asyncio.wait({synced, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if synced.done():
            spare_the_lasting()
            ready()
            await stop.wait()
        synced.cancel()
        mooring.dispatching.close()
        host.stop()
        await web
        await mooring.stop()
        for task in core:
            task.cancel()
