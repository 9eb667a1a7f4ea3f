"""One command for the demo: `python -m mooring_jupyterhub.demo [--state .state] [--port 8800]`. Ctrl-C ends the hub."""

import argparse
import asyncio
import signal
import subprocess
from pathlib import Path

from mooring_jupyterhub.demo.client import HubClient
from mooring_jupyterhub.demo.hub import DemoHub, find_proxy
from mooring_jupyterhub.demo.pool import make_pool, wait_warm


async def prepare(state: Path) -> None:
    """The pool, warm."""
    await make_pool(state)
    print("waiting for two warm workers ...", flush=True)
    await wait_warm(state)


async def announce(hub: DemoHub, process: "subprocess.Popen[bytes]") -> None:
    """Wait for the hub, and say where it is."""
    async with HubClient(hub.url, hub.token) as client:
        await client.wait_up(lambda: process.poll() is not None)
    print(f"JupyterHub is up at {hub.url}: log in with any name and any password", flush=True)


def main() -> None:
    """Run the hub in the foreground."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, default=Path(".state"), help="the state folder of `mooring up`")
    parser.add_argument("--port", type=int, default=8800, help="of JupyterHub; 0: any free port")
    given = parser.parse_args()
    find_proxy()
    state = given.state.resolve()
    asyncio.run(prepare(state))
    hub = DemoHub(state)
    hub.prepare(given.port)
    process = hub.start()
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        asyncio.run(announce(hub, process))
        process.wait()
    except KeyboardInterrupt:
        process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
