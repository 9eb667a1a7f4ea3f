"""Errors of handlers: a browser gets a page, a program gets JSON, under the same status."""

import warnings
from html import unescape
from typing import Any

import pytest
import structlog
from litestar import Litestar, Request, get, post
from litestar.exceptions import LitestarDeprecationWarning
from litestar.testing import TestClient

from mooring.api.errors import error_handlers
from mooring.dashboard.failure_page import failure_page
from mooring.model.errors import Conflict, MooringError, Refused, Unauthorized, Unavailable

BROWSER = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
CASES: dict[str, tuple[Exception, int]] = {
    "unavailable": (Unavailable("the database does not answer", fix="mooring doctor"), 503),
    "conflict": (Conflict("it changed"), 409),
    "refused": (Refused("a limit is reached"), 429),
    "other": (MooringError("the cluster answered with nonsense"), 502),
    "defect": (ValueError("a secret detail"), 500),
}


@get("/{case:str}", sync_to_thread=False)
def fail(case: str) -> None:
    raise CASES[case][0] if case in CASES else Unauthorized("who are you?")


@post("/read")
async def read(request: Request[Any, Any, Any]) -> int:
    return len(await request.body())


def build_app() -> Litestar:
    handlers = error_handlers(failure_page)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LitestarDeprecationWarning)
        return Litestar([fail, read], exception_handlers=handlers, openapi_config=None, logging_config=None)


@pytest.fixture(scope="module")
def client() -> Any:
    with TestClient(build_app(), raise_server_exceptions=False) as opened:
        yield opened


@pytest.mark.parametrize("case", CASES)
def test_a_failure_is_a_page_for_a_browser_and_json_for_a_program(client: Any, case: str):
    error, status = CASES[case]
    page, data = client.get(f"/{case}", headers=BROWSER), client.get(f"/{case}", headers={"Accept": "*/*"})
    assert page.status_code == data.status_code == status
    assert page.headers["content-type"].startswith("text/html") and "<nav" in page.text
    assert data.json().keys() == {"code", "message", "detail"}
    shown = unescape(page.text)
    assert data.json()["message"] in shown and data.json()["code"] in shown
    if isinstance(error, MooringError):
        assert error.fix in shown
    assert "a secret detail" not in page.text + data.text, "what a defect says is for the log"


def test_a_browser_without_a_login_is_led_to_it(client: Any):
    answer = client.get("/stranger", headers=BROWSER, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=%2Fstranger")
    assert client.get("/stranger").status_code == 401


async def test_a_client_that_hangs_up_within_its_body_writes_nothing_into_the_log():
    received = iter([{"type": "http.request", "body": b"half", "more_body": True}, {"type": "http.disconnect"}])
    sent: list[Any] = []

    async def receive() -> Any:
        return next(received)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/read", "raw_path": b"/read", "root_path": "", "query_string": b"", "headers": [],
        "client": ("192.0.2.7", 1), "server": ("mooring.example", 80),
    }  # fmt: skip
    with structlog.testing.capture_logs() as logged:
        await build_app()(scope, receive, send)  # type: ignore[arg-type]
    assert logged == [] and sent[0]["status"] == 400
