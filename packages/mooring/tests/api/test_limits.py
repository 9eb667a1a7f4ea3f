"""How much one caller may ask: by tables in virtual time, and over the whole API."""

import contextlib
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from prometheus_client import REGISTRY

from hawser.clock import LoopClock
from mooring.api.limits import (
    LARGE_BYTES,
    MOST_CALLERS,
    MOST_HEAVY,
    LimitOptions,
    Limits,
    TooMany,
    address_of,
    caller_of,
)
from packages.mooring.tests.client.dock import TOKEN, Dock
from packages.mooring.tests.planning.fleets import NOW


def scope(path: str = "/v1/pools", client: tuple[str, int] | None = ("10.0.0.7", 1), **more: Any) -> Any:
    return {"path": path, "client": client, "state": {}, "method": "GET", "headers": [], **more}


async def test_a_caller_may_send_a_burst_and_then_so_many_a_second() -> None:
    clock = LoopClock(NOW)
    limits = Limits(LimitOptions(requests_per_second=10, request_burst=20), clock)
    for _ in range(20):
        limits.admit("one")
    with pytest.raises(TooMany) as refused:
        limits.admit("one")
    assert 0 < refused.value.retry_after_seconds <= 0.1
    limits.admit("another")
    await clock.sleep(0.5)
    for _ in range(5):
        limits.admit("one")
    with pytest.raises(TooMany):
        limits.admit("one")
    await clock.sleep(3600)
    for _ in range(20):
        limits.admit("one")
    with pytest.raises(TooMany):
        limits.admit("one")


async def test_unanswered_requests_are_limited_and_an_answer_makes_room() -> None:
    limits = Limits(LimitOptions(open_requests=2), LoopClock(NOW))
    first, second = scope(), scope()
    limits.enter(first, "one")
    limits.enter(second, "one")
    with pytest.raises(TooMany) as refused:
        limits.enter(scope(), "one")
    assert refused.value.code == "too_many_open_requests"
    limits.enter(scope(), "another")
    limits.leave(first)
    limits.leave(first)
    limits.enter(scope(), "one")
    with pytest.raises(TooMany):
        limits.enter(scope(), "one")


async def test_a_refused_request_leaves_nothing_behind() -> None:
    limits = Limits(LimitOptions(open_requests=1), LoopClock(NOW))
    held, refused = scope(), scope()
    limits.enter(held, "one")
    with pytest.raises(TooMany):
        limits.enter(refused, "one")
    limits.leave(refused)
    with pytest.raises(TooMany):
        limits.enter(scope(), "one")


@pytest.mark.parametrize("path", ["/v1/events", "/stream", "/v1/claims/x/stream"])
async def test_event_streams_are_limited_by_caller_and_in_all(path: str) -> None:
    limits = Limits(LimitOptions(streams_each=2, streams=3), LoopClock(NOW))
    held = [scope(path) for _ in range(3)]
    for one, caller in zip(held, ("one", "one", "two"), strict=True):
        limits.enter(one, caller)
    for caller in ("one", "three"):
        with pytest.raises(TooMany) as refused:
            limits.enter(scope(path), caller)
        assert refused.value.code == "too_many_streams"
    limits.enter(scope(), "one")
    limits.leave(held[2])
    limits.enter(scope(path), "three")


@pytest.mark.parametrize(
    "heavy",
    [
        {"path": "/actions/pools/check"},
        {"path": "/"},
        {"method": "POST", "headers": [(b"content-length", b"%d" % (LARGE_BYTES + 1))]},
        {"method": "PUT", "headers": [(b"transfer-encoding", b"chunked")]},
    ],
)
async def test_pages_and_large_requests_of_a_caller_are_few_at_a_time(heavy: dict[str, Any]) -> None:
    """They take long in the event loop: hundreds at once would stop everything else for a minute."""
    limits = Limits(LimitOptions(), LoopClock(NOW))
    held = [scope(**heavy) for _ in range(MOST_HEAVY)]
    for one in held:
        limits.enter(one, "one")
    with pytest.raises(TooMany, match="pages and large requests") as refused:
        limits.enter(scope(**heavy), "one")
    assert refused.value.code == "too_many_open_requests"
    limits.enter(scope(method="POST", headers=[(b"content-length", b"80")]), "one")
    limits.enter(scope(**heavy), "another")
    limits.leave(held[0])
    limits.enter(scope(**heavy), "one")


async def test_probes_are_answered_whatever_else_comes_from_their_address() -> None:
    """Clients behind a proxy, or whose address the node translates, come from the address of the kubelet."""
    options = LimitOptions(requests_per_second=1, request_burst=2 * MOST_HEAVY)
    limits = Limits(options, LoopClock(NOW))
    for _ in range(MOST_HEAVY):
        limits.enter(scope("/openapi.json"), "node")
    for path in ("/healthz", "/readyz", "/login", "/static/style.css"):
        limits.enter(scope(path), "node")
    for _ in range(2 * MOST_HEAVY):
        with contextlib.suppress(TooMany):
            limits.admit("node")
    for path in ("/healthz", "/readyz"):
        limits.enter(scope(path), "node")


async def test_a_limit_that_no_setting_raises_does_not_name_the_settings() -> None:
    limits = Limits(LimitOptions(open_requests=0), LoopClock(NOW))
    for _ in range(MOST_HEAVY):
        limits.enter(scope("/"), "one")
    with pytest.raises(TooMany) as pages:
        limits.enter(scope("/"), "one")
    with pytest.raises(TooMany) as requests:
        limits.enter(scope(), "one")
    assert ("settings" in pages.value.fix, "settings" in requests.value.fix) == (False, True)


async def test_claims_that_wait_keep_no_release_and_no_heartbeat_of_their_caller_out() -> None:
    """They wait for it: with one limit for all, a gateway with enough waiting clients would wait for ever."""
    limits = Limits(LimitOptions(open_requests=2), LoopClock(NOW))
    claims = "/v1/pools/runners/linux/claims"
    for _ in range(2):
        limits.enter(scope(claims, method="POST"), "one")
    with pytest.raises(TooMany, match="2 claims are unanswered"):
        limits.enter(scope(claims, method="POST"), "one")
    limits.enter(scope("/v1/claims/c1", method="DELETE"), "one")
    limits.enter(scope("/v1/claims/c2/heartbeat", method="POST"), "one")
    with pytest.raises(TooMany, match="2 requests are unanswered"):
        limits.enter(scope(claims), "one")


async def test_polls_of_workers_do_not_count_as_unanswered() -> None:
    limits = Limits(LimitOptions(open_requests=1), LoopClock(NOW))
    for _ in range(5):
        limits.enter(scope("/v1/dispatch"), "one")
    limits.enter(scope(), "one")


async def test_callers_that_come_once_do_not_fill_the_memory() -> None:
    limits = Limits(LimitOptions(), LoopClock(NOW))
    for number in range(MOST_CALLERS + 500):
        limits.admit(f"address/{number}")
    assert len(limits._buckets) == MOST_CALLERS


def test_a_caller_is_its_user_or_its_address_and_a_site_has_one_ipv6_network() -> None:
    assert address_of(scope()) == "address/10.0.0.7"
    assert address_of(scope(client=("2001:db8:1:2::7", 1))) == address_of(scope(client=("2001:db8:1:2::8", 1)))
    assert address_of(scope(client=None)) == "address/unknown"
    assert caller_of(scope()) == "address/10.0.0.7"
    assert caller_of(scope(user=SimpleNamespace(user="ci"))) == "user/ci"


@pytest.fixture(scope="module")
def narrow() -> Iterator[Dock]:
    """A whole Mooring with limits that a test can reach."""
    dock = Dock()
    dock.limits = LimitOptions(requests_per_second=5, request_burst=40, open_requests=3, streams_each=2, streams=2)
    with dock:
        yield dock


def http(dock: Dock, token: str = TOKEN) -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.Client(base_url=dock.url, headers=headers, timeout=10)


def refused(answer: httpx.Response, code: str) -> bool:
    if answer.status_code != 429:
        return False
    assert answer.json()["code"] == code
    assert int(answer.headers["retry-after"]) >= 1
    return True


@contextlib.contextmanager
def stream(dock: Dock) -> Iterator[bytes]:
    """An open event stream; the first line of the answer."""
    host, port = dock.listener.getsockname()
    with socket.create_connection((host, port), timeout=10) as connection:
        connection.sendall(
            f"GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n".encode()
        )
        yield connection.recv(64).split(b"\r\n")[0]


@pytest.mark.realtime
def test_streams_beyond_the_limit_are_answered_with_429_and_end_with_their_client(narrow: Dock) -> None:
    with stream(narrow) as one, stream(narrow) as two, stream(narrow) as three:
        assert [answer.split()[1] for answer in (one, two, three)] == [b"200", b"200", b"429"]
    for _ in range(100):
        with stream(narrow) as again:
            if again.split()[1] == b"200":
                return
    raise AssertionError("streams whose clients are gone are still counted")


@pytest.mark.realtime
@pytest.mark.parametrize("token", [TOKEN, "wrong", ""], ids=["right", "wrong", "none"])
def test_requests_beyond_the_rate_are_answered_with_429_also_without_a_valid_token(narrow: Dock, token: str) -> None:
    with http(narrow, token) as client:
        before = REGISTRY.get_sample_value("mooring_requests_refused_total", {"limit": "rate"}) or 0.0
        answers = [client.get("/v1/pools") for _ in range(80)]
        served = 200 if token == TOKEN else 401
        assert {answer.status_code for answer in answers} <= {served, 429}
        count = sum(refused(answer, "too_many_requests") for answer in answers)
        assert count
        assert REGISTRY.get_sample_value("mooring_requests_refused_total", {"limit": "rate"}) == before + count


@pytest.mark.realtime
def test_probes_are_answered_while_their_address_sends_too_much(narrow: Dock) -> None:
    with http(narrow, "wrong") as client:
        answers = [client.get("/v1/pools").status_code for _ in range(80)]
        assert 429 in answers
        assert client.get("/healthz").status_code == 200
