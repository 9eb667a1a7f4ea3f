"""Serves the page until it is cancelled."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from hawser.clock import Entropy
from mooring.model.errors import InvalidInput, Misconfigured
from mooring_blast.page.server import build_page
from mooring_blast.searches.desk import Desk


async def serve_page(desk: Desk, entropy: Entropy, listen: str, report: Callable[[str], None]) -> None:
    """Serve for ever."""
    async with running_page(desk, entropy, listen) as url:
        report(f"page: {url}")
        await asyncio.Event().wait()


@asynccontextmanager
async def running_page(desk: Desk, entropy: Entropy, listen: str) -> AsyncIterator[str]:
    """The page for the time of a block; yields its address."""
    host, _, port = listen.rpartition(":")
    if not port.isdigit():
        raise InvalidInput("listen", listen, "HOST:PORT")
    runner = web.AppRunner(build_page(desk, entropy), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host or "127.0.0.1", int(port))
        await site.start()
        yield f"http://{host or '127.0.0.1'}:{runner.addresses[0][1]}"
    except OSError as error:
        raise Misconfigured(f"cannot listen on {listen}: {error.strerror}", fix="choose another port") from error
    finally:
        await runner.cleanup()
