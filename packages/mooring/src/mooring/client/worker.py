"""The worker's side of poll dispatch: fetch a session, run it, keep it alive, report its result, and poll again.

    python -m mooring.client.worker [--url URL] [--ca FILE] [--token-file FILE] [--port 8000] [-- COMMAND...]

Exit codes: 0 drained, stopped by a signal, or not reused; 1 refused. SIGTERM lets the session end first.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hawser.backoff import Backoff
from hawser.clock import Clock, Entropy, SystemClock
from mooring.client.connection import Connection, Endpoint, check_endpoint
from mooring.client.daemon_thread import start_daemon_thread
from mooring.client.errors import RemoteError, Unavailable
from mooring.client.health import answering_health
from mooring.client.sessions import Session, SessionCommand, SessionEnd, SessionRun
from mooring.model import names
from mooring.model.errors import Misconfigured, MooringError

POLL_SECONDS = 20.0
ANSWER_SECONDS = 10.0
LONGEST_BEAT_SECONDS = 15.0  # the server trusts what a worker reported for a minute
_LAST_POLL_SECONDS = 5.0
_TOKEN_FILE = "/var/run/secrets/mooring-dispatch/token"
_DRAINED, _REFUSED = 0, 1


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Address of Mooring, file of the token, the command for payloads that name none, and the CA of Mooring."""

    url: str
    token_file: Path
    command: tuple[str, ...] = ()
    poll_seconds: float = POLL_SECONDS
    ca: str = ""


class WorkerAgent:
    """One worker. `run` returns when it has no more work; `stop` lets the current session end first."""

    def __init__(self, options: AgentOptions, clock: Clock, entropy: Entropy) -> None:
        self._options = options
        self._clock = clock
        self._entropy = entropy
        self._stopping = asyncio.Event()
        self.executing = False

    @property
    def url(self) -> str:
        """Address of Mooring."""
        return self._options.url

    def stop(self) -> None:
        """Take no more sessions."""
        self._stopping.set()

    def describe(self) -> str:
        """Body of the health check."""
        draining = self._stopping.is_set()
        return json.dumps({"executing": self.executing, "sessions": int(self.executing), "draining": draining})

    def open_session(self, session: Session) -> SessionRun:
        """How a session runs. An agent for other sessions than commands overrides it."""
        return SessionCommand(session, self._options.command)

    async def run(self) -> int:
        """Serve sessions; returns the exit code of the process."""
        backoff = Backoff(self._entropy, first_seconds=0.2, last_seconds=10.0)
        while not self._stopping.is_set():
            try:
                session = await self._poll()
            except RemoteError as error:
                if (code := _exit_code(error)) is not None:
                    _say(f"no more sessions: {error.message}")
                    return code
                _say(f"polling again: {error.message}")
                await self._pause(backoff.next_seconds())
                continue
            backoff.reset()
            if session is not None and not await self._serve(session):
                return _DRAINED
        return _DRAINED

    async def _poll(self) -> Session | None:
        body = {"wait": self._options.poll_seconds, "state": "idle"}
        polling = self._post("/v1/dispatch", body, self._options.poll_seconds + ANSWER_SECONDS)
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({polling, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not polling.done():
                # A session may be on its way. Mooring answers as soon as it sees that this worker drains.
                await asyncio.wait({polling}, timeout=_LAST_POLL_SECONDS)
            answer = polling.result() if polling.done() else None
        finally:
            stopping.cancel()
            polling.cancel()
        if answer is None:
            return None
        return Session(answer["claim"], answer["epoch"], answer["owner"], answer["payload"], answer["ttlSeconds"])

    async def _serve(self, session: Session) -> bool:
        """Run one session; returns whether to poll again."""
        _say(f"session {session.claim} of {session.owner}, epoch {session.epoch}")
        self.executing = True
        opened = self.open_session(session)
        running = asyncio.create_task(opened.run())
        keeping = asyncio.create_task(self._keep_alive(session))
        try:
            await asyncio.wait({running, keeping}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return await self._report(session, running.result())
            _say(f"session {session.claim} is lost: {keeping.result()}; it is stopped")
            await opened.stop()
            await running
            return True
        finally:
            keeping.cancel()
            self.executing = False

    async def _keep_alive(self, session: Session) -> str:
        """Send heartbeats until the session is lost; returns the reason."""
        body = {"claim": session.claim, "epoch": session.epoch}
        kept_at = self._clock.monotonic()
        was_stopping = self._stopping.is_set()
        while True:
            sent_at = self._clock.monotonic()
            pause = min(LONGEST_BEAT_SECONDS, session.ttl_seconds / 3)
            try:
                await self._post("/v1/dispatch/heartbeat", body, min(ANSWER_SECONDS, session.ttl_seconds / 3))
                kept_at = sent_at
            except RemoteError as error:
                if error.status in (404, 409):
                    return error.message
                pause = min(1.0, session.ttl_seconds / 10)
                if self._clock.monotonic() + pause - kept_at >= session.ttl_seconds:
                    return f"no heartbeat was accepted for {session.ttl_seconds} s"
            if was_stopping:
                await self._clock.sleep(pause)
            else:  # SIGTERM often means that the claim has ended: the next heartbeat asks at once
                await self._pause(pause)
                was_stopping = self._stopping.is_set()

    async def _report(self, session: Session, ended: SessionEnd) -> bool:
        """Report until the server accepts or refuses it: without a result, the work was done for nothing."""
        _say(f"session {session.claim} ended with exit code {ended.exit_code}")
        body = {
            "claim": session.claim,
            "epoch": session.epoch,
            "exitCode": ended.exit_code,
            "output": ended.output,
        }
        backoff = Backoff(self._entropy, first_seconds=0.2, last_seconds=10.0)
        while True:
            try:
                return bool((await self._post("/v1/dispatch/done", body, ANSWER_SECONDS))["again"])
            except Unavailable as error:
                _say(f"reporting again: {error.message}")
                await self._clock.sleep(backoff.next_seconds())
            except RemoteError as error:
                _say(f"the result of session {session.claim} was refused: {error.message}")
                return True

    def _post(self, path: str, body: dict[str, Any], timeout_seconds: float) -> "asyncio.Future[Any]":
        """In a thread with http.client: aiohttp would add 13 MB to every worker."""
        call = partial(self._request, path, body, timeout_seconds)
        return asyncio.wrap_future(start_daemon_thread(call, "mooring-dispatch"))

    def _request(self, path: str, body: dict[str, Any], timeout_seconds: float) -> Any:
        try:  # read for every request: the kubelet renews the token in place
            token = self._options.token_file.read_text().strip()
        except OSError as error:
            raise RemoteError(401, "no_token", f"{self._options.token_file}: {error.strerror}", {}) from error
        connection = Connection(Endpoint(self._options.url, token, self._options.ca), timeout_seconds)
        return connection.request("POST", path, body=body)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return


def _exit_code(error: RemoteError) -> int | None:
    """Exit code of the process after this answer to a poll; None to poll again."""
    if error.status == 410:
        return _DRAINED
    return _REFUSED if 400 <= error.status < 500 and error.status not in (408, 429) else None


async def run_agent(agent: WorkerAgent, address: str, port: int) -> int:
    """Run an agent with its health endpoint and signal handlers."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, agent.stop)
    async with answering_health(address, port, agent.describe):
        _say(f"polls {agent.url}, healthy at {address}:{port}")
        return await agent.run()


def read_options(arguments: Sequence[str], environment: Callable[[str, str], str]) -> tuple[AgentOptions, str, int]:
    """From the command line, else `MOORING_URL`, `MOORING_CA`, `MOORING_DISPATCH_TOKEN_FILE` and `POD_IP`."""
    parser = argparse.ArgumentParser(prog="python -m mooring.client.worker", description="Run sessions of Mooring.")
    parser.add_argument("--url", default=environment("MOORING_URL", ""))
    parser.add_argument("--ca", default=environment("MOORING_CA", ""), help="CA certificates: a file, or PEM")
    token_file = environment(names.DISPATCH_TOKEN_FILE, "") or environment(names.TOKEN_FILE, "")
    parser.add_argument("--token-file", default=token_file or _TOKEN_FILE)
    parser.add_argument("--address", default=environment("POD_IP", "0.0.0.0"), help="address of the health endpoint")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("command", nargs="*", help="command for payloads that name none; gets the payload on stdin")
    given = parser.parse_args(arguments)
    if not given.url:
        raise Misconfigured("cannot find a Mooring server", fix="give --url or MOORING_URL")
    endpoint = check_endpoint(Endpoint(given.url.rstrip("/"), "", given.ca))
    token = Path(environment("MOORING_ROOT", "") + given.token_file)
    return AgentOptions(endpoint.url, token, tuple(given.command), ca=given.ca), given.address, given.port


def _say(message: str) -> None:
    print(f"mooring: {message}", file=sys.stderr, flush=True)


def main() -> None:
    """Run the agent in this process."""

    async def run(options: AgentOptions, address: str, port: int) -> int:
        return await run_agent(WorkerAgent(options, SystemClock(), Entropy()), address, port)

    run_process(run)


def run_process(run: Callable[[AgentOptions, str, int], Coroutine[Any, Any, int]]) -> None:
    """Read the options and run the coroutine with them; its result is the exit code of the process."""
    try:
        options, address, port = read_options(sys.argv[1:], os.environ.get)
    except MooringError as error:
        _say(str(error))
        sys.exit(_REFUSED)
    sys.exit(asyncio.run(run(options, address, port)))


if __name__ == "__main__":
    main()
