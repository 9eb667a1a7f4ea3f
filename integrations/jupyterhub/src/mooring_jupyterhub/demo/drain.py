"""Drain the node under a running cell: `python -m mooring_jupyterhub.demo.drain [--state .state] [--seconds 10]`.

The cell ends as if nothing had happened, variables are kept, and the drain completes when the server is stopped.
"""

import argparse
import asyncio
import subprocess
from pathlib import Path

from mooring.client import AsyncMooring
from mooring_jupyterhub.demo.client import HubClient
from mooring_jupyterhub.demo.hub import DemoHub
from mooring_jupyterhub.demo.pool import KEY

USER = "ada"
DRAIN_SECONDS = 120.0
CELL = "import time; time.sleep({seconds}); print(answer + 1)"


async def play(state: Path, seconds: float, user: str = USER) -> None:
    """Start, compute, drain meanwhile, compare, stop."""
    hub = DemoHub(state)
    if not (hub.folder / "ports.json").exists():
        raise SystemExit(f"no hub was started in {hub.folder}; start it with 'python -m mooring_jupyterhub.demo'")
    async with HubClient(hub.url, hub.token) as client:
        print(f"the server of {user} answered after {await client.start_server(user):.2f} s")
        node = await node_of(state, user)
        async with client.kernel(user) as kernel:
            await kernel.run("answer = 41")
            cell = asyncio.create_task(kernel.run(CELL.format(seconds=seconds)))
            drain = await asyncio.create_subprocess_exec(
                *kubectl(state), "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force",
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            print(f"draining {node} under a cell of {seconds:g} s")
            printed = (await cell).strip()
            if printed != "42" or drain.returncode is not None:
                raise SystemExit(f"the cell printed {printed!r}; the drain ended with {drain.returncode}")
            print(f"the cell printed {printed}; the drain waits for the server")
        await client.stop_server(user)
        async with asyncio.timeout(DRAIN_SECONDS):
            code = await drain.wait()
        print(f"the server is stopped, and the drain ended with exit code {code}; nothing was lost")
    await (await asyncio.create_subprocess_exec(*kubectl(state), "uncordon", node, stdout=subprocess.DEVNULL)).wait()
    if code:
        raise SystemExit(1)


def kubectl(state: Path) -> list[str]:
    """kubectl for the sandbox."""
    return ["kubectl", "--kubeconfig", str(state / "kubeconfig")]


async def node_of(state: Path, user: str) -> str:
    """The node of a user's server."""
    (worker,) = [worker for worker in await AsyncMooring(state=state).workers(KEY) if worker.owner == user]
    return worker.node


def main() -> None:
    """Play it once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, default=Path(".state"), help="the state folder of `mooring up`")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the cell computes")
    given = parser.parse_args()
    asyncio.run(play(given.state.resolve(), given.seconds))


if __name__ == "__main__":
    main()
