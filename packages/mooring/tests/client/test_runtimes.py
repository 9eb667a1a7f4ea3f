"""Both runtimes of the SDK behave alike; the blocking one never suspends a coroutine."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from mooring.client.asyncio_runtime import AsyncioRuntime
from mooring.client.blocking_runtime import BlockingRuntime, complete
from mooring.client.connection import Endpoint
from mooring.client.errors import LimitReached, RemoteError, Unavailable, Unreachable
from mooring.client.runtime import Runtime
from packages.mooring.tests.http_servers import serving

Run = Callable[[Coroutine[Any, Any, Any]], Any]


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked, or with the status that the path names."""

    def answer(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        known = {
            "/empty": (204, b""),
            "/garbage": (200, b"<html>a proxy</html>"),
            "/broken": (502, b"<html>a proxy</html>"),
            "/limit": (429, b'{"code": "limit_reached", "message": "enough", "detail": {}}'),
        }
        asked = {"method": self.command, "path": self.path, "body": text, "token": self.headers["Authorization"]}
        status, payload = known.get(self.path, (200, json.dumps(asked).encode()))
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Echo) as address:
        yield address


@pytest.fixture(params=["blocking", "asyncio"])
def both(request: pytest.FixtureRequest, url: str) -> tuple[Runtime, Run]:
    """A runtime, and how a coroutine over it is run."""
    endpoint = Endpoint(url, "secret")
    if request.param == "blocking":
        return BlockingRuntime(endpoint), complete
    return AsyncioRuntime(endpoint), asyncio.run


def test_a_request_is_sent_with_its_token_body_and_query(both):
    runtime, run = both
    query = {"owner": "a b&c", "reason": ""}
    asked = run(runtime.request("POST", "/v1/claims/x%2Fy", query, body={"epoch": 7}))
    assert asked == {
        "method": "POST",
        "path": "/v1/claims/x%2Fy?owner=a+b%26c",
        "body": '{"epoch": 7}',
        "token": "Bearer secret",
    }


def test_an_empty_answer_is_none(both):
    runtime, run = both
    assert run(runtime.request("DELETE", "/empty")) is None


@pytest.mark.parametrize(
    ("path", "kind", "code"),
    [
        ("/limit", LimitReached, "limit_reached"),
        ("/broken", Unavailable, "unreadable"),
        ("/garbage", Unavailable, "unreadable"),
    ],
)
def test_an_answer_that_is_an_error_is_raised_as_one(both, path, kind, code):
    runtime, run = both
    with pytest.raises(kind) as raised:
        run(runtime.request("GET", path))
    assert raised.value.remote_code == code


def test_no_answer_is_unreachable_and_names_the_address(both):
    runtime, run = both
    away = type(runtime)(Endpoint("http://127.0.0.1:9", "secret"))
    with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:9 does not answer: .+"):
        run(away.request("GET", "/v1/pools"))


def test_a_server_that_does_not_answer_in_time_is_unreachable(both):
    runtime, run = both
    with HTTPServer(("127.0.0.1", 0), Echo) as silent:  # accepts connections, and serves none
        slow = type(runtime)(Endpoint(f"http://127.0.0.1:{silent.server_port}", "secret"))
        with pytest.raises(Unreachable):
            run(slow.request("GET", "/v1/pools", timeout_seconds=0.2))


def test_an_event_is_waited_for_no_longer_than_asked(both):
    runtime, run = both

    async def main() -> list[bool]:
        event = runtime.make_event()
        seen = [event.is_set(), await event.wait(0.01)]
        threading.Timer(0.05, event.set).start()  # from another thread, as `check()` may do
        return [*seen, await event.wait(10), event.is_set(), await event.wait(0)]

    assert run(main()) == [False, False, True, True, True]


def test_background_work_runs_beside_its_caller_and_has_a_result(both):
    runtime, run = both

    async def main() -> tuple[bool, bool, int]:
        event = runtime.make_event()

        async def count() -> int:
            return 7 if await event.wait(10) else 0

        work = runtime.start(count(), "counting")
        early = await work.wait(0.02)
        event.set()
        return early, await work.wait(10), work.result()

    assert run(main()) == (False, True, 7)


def test_what_background_work_raises_is_raised_by_its_result(both):
    runtime, run = both

    async def fail() -> None:
        raise RemoteError(409, "stale_epoch", "no", {})

    async def main() -> None:
        work = runtime.start(fail(), "failing")
        assert await work.wait(10)
        work.result()

    with pytest.raises(RemoteError, match="no"):
        run(main())


def test_cancelled_background_work_logs_nothing(both, caplog):
    runtime, run = both

    async def fail() -> None:
        raise RemoteError(409, "stale_epoch", "no", {})

    async def main() -> None:
        for seconds in (0.0, 0.05):  # before its end, and after it
            work = runtime.start(fail(), "failing")
            await runtime.sleep(seconds)
            work.cancel()

    run(main())
    assert caplog.records == []


def test_a_coroutine_that_suspends_is_refused_by_the_blocking_runtime():
    closed = []

    async def suspends() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            closed.append(True)

    with pytest.raises(RuntimeError, match="not part of the blocking runtime"):
        complete(suspends())
    assert closed == [True]


def test_an_interrupt_is_raised_inside_the_coroutine_whose_handlers_run_first():
    handled = []

    async def interrupted() -> None:
        try:
            raise KeyboardInterrupt
        except BaseException:
            handled.append(True)
            raise

    with pytest.raises(KeyboardInterrupt):
        complete(interrupted())
    assert handled == [True]
