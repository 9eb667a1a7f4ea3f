"""A real control plane for a whole test session, kept by a thread of its own: every test has its own event loop."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from mooring.clock import Entropy, SystemClock
from mooring.sandbox.kubernetes.components import PlaneOptions
from mooring.sandbox.kubernetes.launcher import ControlPlane


@contextmanager
def control_plane_in_a_thread(options: PlaneOptions = PlaneOptions()) -> Iterator[ControlPlane]:
    """Started when the block begins, gone when it ends."""
    started = threading.Event()
    found: list[ControlPlane] = []
    failed: list[BaseException] = []
    ends: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def keep() -> None:
        stop = asyncio.Event()
        ends.append((asyncio.get_running_loop(), stop))
        async with ControlPlane.start(None, clock=SystemClock(), entropy=Entropy(), options=options) as plane:
            found.append(plane)
            started.set()
            await stop.wait()

    def work() -> None:
        try:
            asyncio.run(keep())
        except BaseException as error:  # noqa: BLE001 - told to the test that waits for the plane
            failed.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=work, name="control plane")
    thread.start()
    started.wait()
    try:
        if failed:
            raise failed[0]
        yield found[0]
    finally:
        for loop, stop in ends:
            if not loop.is_closed():
                loop.call_soon_threadsafe(stop.set)
        thread.join()
