"""How much one caller may ask of a replica: requests a second, unanswered requests, event streams.

A caller is the user of a proven identity, else the address that the connection comes from.
"""

import re
from collections import Counter, OrderedDict
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from litestar.types import Scope

from hawser.clock import Clock
from mooring.api.metrics import REQUESTS_REFUSED
from mooring.model.errors import Refused

MOST_HEAVY = 20  # pages and large requests of one caller at a time: each may take the event loop for 0.1 s
LARGE_BYTES = 128 * 1024  # a claim with the largest payload is smaller
MOST_CALLERS = 10_000  # whose rate is remembered; one that is forgotten starts with a full burst
_RAISE = "ask again later, or raise the limit (docs/reference/settings.md)"
_VISIT = "mooring_visit"
_RETRY_SECONDS = 1.0  # until an unanswered request or a stream may have ended
_PROBES = ("/healthz", "/readyz")  # a kubelet may share its address with clients, and restarts what refuses it
_LIGHT = ("/v1/", "/static/", "/login")  # the last two are for callers that share the address of a proxy
_CLAIMS = re.compile(r"/v1/pools/[^/]+/[^/]+/claims")  # may wait, until another request of the caller ends a claim
_POLLS = "/v1/dispatch"  # a worker holds one open all the time, and proves itself there


class TooMany(Refused):
    """The caller has reached a limit."""

    def __init__(self, limit: str, code: str, message: str, retry_after_seconds: float, fix: str = _RAISE) -> None:
        super().__init__(message, fix=fix, detail={"limit": limit})
        self.code = code  # type: ignore[misc]  # one class, a code for each limit
        self.retry_after_seconds = retry_after_seconds
        REQUESTS_REFUSED.labels(limit).inc()


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """The settings."""

    requests_per_second: int = 1000
    request_burst: int = 2000
    open_requests: int = 500
    streams_each: int = 50
    streams: int = 1000
    connections_each: int = 2000
    connections: int = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(frozen=True, slots=True)
class _Visit:
    caller: str
    counts: Counter[str]
    stream: bool = False


class Limits:
    """The limits of one replica, and who has used how much of them."""

    def __init__(self, options: LimitOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._open: Counter[str] = Counter()
        self._claims: Counter[str] = Counter()
        self._heavy: Counter[str] = Counter()
        self._streams: Counter[str] = Counter()
        self._all_streams = 0

    def admit(self, caller: str) -> None:
        """Count one request; raises `TooMany` if the caller sends too many a second."""
        self._bucket_with_credit(caller).tokens -= 1

    def check(self, caller: str) -> None:
        """Raise `TooMany` if the next request of the caller would be one too many."""
        self._bucket_with_credit(caller)

    def _bucket_with_credit(self, caller: str) -> _Bucket:
        bucket = self._refill(caller)
        if bucket.tokens < 1:
            rate = self._options.requests_per_second
            message = f"more than {rate} requests a second"
            raise TooMany("rate", "too_many_requests", message, (1 - bucket.tokens) / max(rate, 1))
        return bucket

    def _refill(self, caller: str) -> _Bucket:
        rate, burst, now = self._options.requests_per_second, self._options.request_burst, self._clock.monotonic()
        bucket = self._buckets.get(caller)
        if bucket is None:
            bucket = self._buckets[caller] = _Bucket(burst, now)
            if len(self._buckets) > MOST_CALLERS:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(caller)
            bucket.tokens = min(burst, bucket.tokens + (now - bucket.at) * rate)
            bucket.at = now
        return bucket

    def enter(self, scope: Scope, caller: str) -> None:
        """Count a request until `leave`."""
        path = scope["path"]
        if path in _PROBES:
            return
        self.admit(caller)
        if path.startswith(_POLLS):
            return
        if path == "/v1/events" or path.endswith("/stream"):
            visit = self._begin_stream(caller)
        elif not path.startswith(_LIGHT) or _is_large(scope):
            visit = self._begin(caller, self._heavy, MOST_HEAVY, "pages and large requests", "ask again later")
        elif scope.get("method") == "POST" and _CLAIMS.fullmatch(path):
            visit = self._begin(caller, self._claims, self._options.open_requests, "claims", _RAISE)
        else:
            visit = self._begin(caller, self._open, self._options.open_requests, "requests", _RAISE)
        scope["state"][_VISIT] = visit

    def leave(self, scope: Scope) -> None:
        """The request has been answered, or its caller is gone."""
        visit: _Visit | None = scope["state"].pop(_VISIT, None)
        if visit is None:
            return
        visit.counts[visit.caller] -= 1
        if not visit.counts[visit.caller]:
            del visit.counts[visit.caller]
        self._all_streams -= visit.stream

    def _begin(self, caller: str, counts: Counter[str], most: int, what: str, fix: str) -> _Visit:
        if counts[caller] >= most:
            message = f"{counts[caller]} {what} are unanswered"
            raise TooMany("open", "too_many_open_requests", message, _RETRY_SECONDS, fix)
        counts[caller] += 1
        return _Visit(caller, counts)

    def _begin_stream(self, caller: str) -> _Visit:
        if self._streams[caller] >= self._options.streams_each or self._all_streams >= self._options.streams:
            message = f"{self._streams[caller]} event streams of this caller are open, {self._all_streams} in all"
            raise TooMany("streams", "too_many_streams", message, _RETRY_SECONDS)
        self._streams[caller] += 1
        self._all_streams += 1
        return _Visit(caller, self._streams, stream=True)


def _is_large(scope: Scope) -> bool:
    """Whether the request has a body that takes, or may take, long to read."""
    if scope.get("method") in ("GET", "DELETE"):
        return False
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) > LARGE_BYTES
    return any(name == b"transfer-encoding" for name, _ in scope["headers"])


def caller_of(scope: Scope) -> str:
    """The key under which a caller's requests are counted."""
    user = getattr(scope.get("user"), "user", "")
    return f"user/{user}" if user else address_of(scope)


def address_of(scope: Scope) -> str:
    """The address of the client; of IPv6, the network that a site has to itself."""
    client = scope.get("client")
    return address_of_host(client[0]) if client else "address/unknown"


def address_of_host(host: str) -> str:
    """The same, of the host that a connection comes from."""
    try:
        address = ip_address(host)
    except ValueError:
        return f"address/{host}"
    return f"address/{address if address.version == 4 else ip_network((address, 64), strict=False)}"
