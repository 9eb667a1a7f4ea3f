"""A real Buildbot master in a folder: started, asked over its REST API, killed and started again."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp

CONFIG = Path(__file__).with_name("master.cfg")
READY_SECONDS = 240.0
LOOK_SECONDS = 0.2
RESULTS = ("success", "warnings", "failure", "skipped", "exception", "retry", "cancelled")


class Master:
    """`job` names a build: a note in the folder `notes` has one line each time that it ran."""

    def __init__(self, folder: Path, state: Path, workers: int) -> None:
        self._folder = folder
        self.notes = folder / "notes"
        ports = {"DEMO_PB_PORT": str(_free_port()), "DEMO_WWW_PORT": str(_free_port())}
        self._environment = {
            **os.environ,
            **ports,
            "DEMO_NOTES": str(self.notes),
            "DEMO_WORKERS": str(workers),
            "MOORING_STATE": str(state.resolve()),
        }
        self.url = f"http://127.0.0.1:{ports['DEMO_WWW_PORT']}"
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start and wait until the REST API answers."""
        if not self.notes.exists():
            self.notes.mkdir(parents=True)
            await asyncio.to_thread(self._run, "buildbot", "create-master", "--no-logrotate", ".")
            shutil.copy(CONFIG, self._folder / "master.cfg")
        with (self._folder / "out.log").open("ab") as out:
            self._process = subprocess.Popen(
                [_program("twistd"), "--nodaemon", "--no_save", "--pidfile=", "--logfile=-", "--python=buildbot.tac"],
                cwd=self._folder,
                env=self._environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        deadline = time.monotonic() + READY_SECONDS
        while not await self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError(f"the master does not start: {self.log()[-2000:]}")
            await asyncio.sleep(LOOK_SECONDS)

    def kill(self) -> None:
        """Without a warning."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As an operator stops it."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def log(self) -> str:
        """All that the master has logged."""
        return (self._folder / "out.log").read_text(errors="replace")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [_program(program), *arguments],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{program} {' '.join(arguments)}: {done.stdout}{done.stderr}")

    # --- builds ------------------------------------------------------------------------------------------------------
    async def force(self, builder: str, job: str, seconds: float = 1) -> int:
        """Ask for a build; the id of its request."""
        builders = (await self.get("builders"))["builders"]
        builder_id = next(found["builderid"] for found in builders if found["name"] == builder)
        answer = await self._control("forceschedulers/force", "force", builderid=builder_id, job=job, seconds=seconds)
        return int(answer["result"][1][str(builder_id)])

    async def builds(self, request: int) -> list[dict[str, Any]]:
        """The builds of a request, the first one first. More than one: a worker was lost, or the master restarted."""
        found = (await self.get(f"builds?buildrequestid={request}"))["builds"]
        return sorted(found, key=lambda build: build["buildid"])

    async def stop_build(self, build: int) -> None:
        """Cancel a build."""
        await self._control(f"builds/{build}", "stop", reason="cancelled by the demo")

    async def cancel(self, request: int) -> None:
        """Cancel a request, before or while it is built."""
        await self._control(f"buildrequests/{request}", "cancel", reason="cancelled by the demo")

    async def result(self, request: int, seconds: float = 120) -> str:
        """Wait for the end of a request."""
        async with asyncio.timeout(seconds):
            while not (found := (await self.get(f"buildrequests/{request}"))["buildrequests"][0])["complete"]:
                await asyncio.sleep(LOOK_SECONDS)
        return RESULTS[found["results"]]

    async def until_running(self, job: str, seconds: float = 60) -> None:
        """Wait until the program of the build runs."""
        async with asyncio.timeout(seconds):
            while not self.runs(job):
                await asyncio.sleep(LOOK_SECONDS / 4)

    def runs(self, job: str) -> int:
        """How often the program of the build was started."""
        note = self.notes / job
        return len(note.read_text().splitlines()) if note.exists() else 0

    def finish(self, job: str) -> None:
        """Let a build end that waits for its file."""
        (self.notes / f"{job}.go").touch()

    # --- REST --------------------------------------------------------------------------------------------------------
    async def get(self, path: str) -> dict[str, Any]:
        """An answer of the REST API. A master that is restarting is asked again."""
        return await self._request("GET", path)

    async def _control(self, path: str, method: str, **params: Any) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await self._request("POST", path, json=body)

    async def _request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session,
            session.request(method, f"{self.url}/api/v2/{path}", **options) as answer,
        ):
            body: dict[str, Any] = await answer.json(content_type=None)
            if answer.status >= 400:
                raise RuntimeError(f"{method} {path}: {answer.status} {body}")
            return body

    async def _answers(self) -> bool:
        try:
            return bool((await self.get("builders"))["builders"])
        except (aiohttp.ClientError, TimeoutError, RuntimeError):
            return False


def _program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
