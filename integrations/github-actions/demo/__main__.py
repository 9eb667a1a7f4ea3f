"""Jobs of a fake GitHub on a pool of a running `mooring up`; with --drain, a node is drained under a job.

    python -m integrations.github-actions.demo [--state DIR] [--jobs N] [--drain]

Ends with 0 if every job succeeded and ran once, and nothing is left.
"""

import argparse
import asyncio
import contextlib
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from integrations.stage import Stage, polling_pool, run_demo

from .fake_github import APP, INSTALLATION, SECRET, FakeGitHub, FakeJob, post_to  # type: ignore[import-not-found]

POOL = "ci/github"
WARM, MOST = 2, 4
AGENT = [sys.executable, "-m", "mooring.client.worker", "--", sys.executable, "-m", "mooring_github_actions.runner"]
MINT_TOKEN = "mint-token"
RUNNER = Path(__file__).parent / "runner"


class Demo:
    """A fake GitHub, and a real receiver as a process of its own, which may be killed and started again."""

    def __init__(self, folder: Path, state: Path) -> None:
        self.stage = Stage(state, POOL)
        self.fake = FakeGitHub()
        self._folder = folder
        self._port = _free_port()
        self._process: asyncio.subprocess.Process | None = None
        self._deliveries: set[asyncio.Task[None]] = set()
        self.url = f"http://127.0.0.1:{self._port}"

    def pool_spec(self) -> dict[str, Any]:
        """Runners that wait for a job, run it, and are replaced. The mint is the receiver."""
        mint = {
            "url": f"{self.url}/mint",
            "revokeURL": f"{self.url}/revoke",
            "timeoutSeconds": 10,
            "auth": {"bearer": {"secretName": "github-mint", "key": "token"}},
        }
        spec = polling_pool(AGENT, WARM, MOST, mint=mint)
        variables = {"ACTIONS_RUNNER_DIR": str(RUNNER), "DEMO_PYTHON": sys.executable}
        spec["template"]["spec"]["containers"][0]["env"] = [
            {"name": name, "value": value} for name, value in variables.items()
        ]
        return spec

    async def start_receiver(self) -> None:
        """Start it, and wait until it answers."""
        for name, content in (("key.pem", self.fake.pem), ("webhook", SECRET), ("mint", MINT_TOKEN.encode())):
            (self._folder / name).write_bytes(content)
        prefix = "MOORING_GITHUB_"
        settings = {
            f"{prefix}API": self.fake.url,
            f"{prefix}APP": APP,
            f"{prefix}INSTALLATION": str(INSTALLATION),
            f"{prefix}PRIVATE_KEY_FILE": str(self._folder / "key.pem"),
            f"{prefix}WEBHOOK_SECRET_FILE": str(self._folder / "webhook"),
            f"{prefix}MINT_TOKEN_FILE": str(self._folder / "mint"),
            f"{prefix}POOLS": f"{POOL}=self-hosted,linux",
            f"{prefix}HOST": "127.0.0.1",
            f"{prefix}PORT": str(self._port),
            f"{prefix}LOOK": "2s",
            f"{prefix}PAUSE": "1s",
            "MOORING_STATE": str(self.stage.state.resolve()),
        }
        with (self._folder / "receiver.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "mooring_github_actions",
                env={**os.environ, **settings},
                stdout=log,
                stderr=log,
            )
        async with asyncio.timeout(120), aiohttp.ClientSession() as session:
            while True:
                with contextlib.suppress(aiohttp.ClientError):
                    async with session.get(f"{self.url}/healthz"):
                        break
                if self._process.returncode is not None:
                    raise RuntimeError(f"the receiver does not start: {self.log()}")
                await asyncio.sleep(0.1)
        self.fake.deliver = post_to(f"{self.url}/webhook", self._deliveries)

    async def stop_receiver(self) -> None:
        """Kill it."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def log(self) -> str:
        """All that the receiver has logged."""
        return (self._folder / "receiver.log").read_text(errors="replace")

    async def _describe(self, failure: str) -> str:
        """A failure, and what helps to explain it."""
        mooring, pool = self.stage.mooring, self.stage.pool
        workers = await asyncio.to_thread(mooring.workers, pool)
        claims = await asyncio.to_thread(mooring.claims, pool)
        return "\n".join([failure, *map(repr, workers), *map(repr, claims), self.log()[-3000:]])

    async def until_done(self, jobs: list[FakeJob], seconds: float = 120) -> None:
        """Wait until all jobs are completed."""
        try:
            async with asyncio.timeout(seconds):
                while any(job.status != "completed" for job in jobs):
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise RuntimeError(await self._describe(f"not all jobs were run: {jobs}")) from None

    async def until_running(self, job: FakeJob, seconds: float = 120) -> str:
        """Wait until a job runs; the name of its worker."""
        try:
            async with asyncio.timeout(seconds):
                while job.status != "in_progress":
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise RuntimeError(await self._describe(f"the job does not run: {job}")) from None
        claim_id = (job.runner or "").removeprefix("mooring-").rpartition("-")[0]
        claim = await asyncio.to_thread(self.stage.mooring.get_claim, claim_id)
        assert claim.worker is not None
        return claim.worker.name.rpartition("/")[2]


@contextlib.asynccontextmanager
async def running_demo(folder: Path, state: Path, *middlewares: Any) -> AsyncIterator[Demo]:
    """GitHub, receiver and pool are ready."""
    demo = Demo(folder, state)
    server = web.AppRunner(demo.fake.application(*middlewares))
    await server.setup()
    await web.TCPSite(server, "127.0.0.1", 0).start()
    demo.fake.url = f"http://127.0.0.1:{server.addresses[0][1]}"
    try:
        await demo.start_receiver()
        await demo.stage.put_secret("github-mint", {"token": MINT_TOKEN})
        await demo.stage.make(demo.pool_spec())
        yield demo
    finally:
        await demo.stop_receiver()
        await server.cleanup()


async def drain_under(demo: Demo) -> str:
    """Drain the node under a running job; the job ends while the drain waits for it."""
    job = demo.fake.push(held=True)
    worker = await demo.until_running(job)
    node = await demo.stage.node_of(worker)
    print(f"draining {node} under job {job.id} on {worker}")
    draining = asyncio.create_task(demo.stage.drain(node))
    try:
        while not draining.done() and not demo.stage.refused:
            await asyncio.sleep(0.1)
        job.held = False
        await draining
        assert job.status == "completed", "the node was empty before the job was done"
    finally:
        draining.cancel()
        await demo.stage.uncordon(node)
    return f"job {job.id}: {job.conclusion}, ran {job.runs} time(s); {len(demo.stage.refused)} evictions were refused"


async def play(state: Path, jobs: int, drain: bool) -> int:
    """The whole demo."""
    with tempfile.TemporaryDirectory(prefix="mooring-github-") as folder:
        async with running_demo(Path(folder), state) as demo:
            if drain:
                print(await drain_under(demo))
            pushed = [demo.fake.push() for _ in range(jobs)]
            await demo.until_done(pushed)
            left = await demo.stage.remove()
    for job in pushed:
        print(f"job {job.id}  {job.conclusion}  ran {job.runs} time(s) on {job.runner}")
    fine = all((job.conclusion, job.runs) == ("success", 1) for job in pushed) and not any(left.values())
    print(f"{len(pushed)} jobs, each ran once; nothing is left" if fine else f"left behind: {left}")
    return 0 if fine else 1


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def main() -> int:
    """Run the demo on a `mooring up`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, default=Path(".state"), help="the state folder of `mooring up`")
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--drain", action="store_true", help="drain the node under a running job first")
    options = parser.parse_args()
    return run_demo(play(options.state, options.jobs, options.drain))


if __name__ == "__main__":
    sys.exit(main())
