"""A request for a claim, checked as far as the client can. No I/O."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict
from urllib.parse import quote

from mooring.client.durations import Duration, parse_seconds
from mooring.client.records import OPEN_STATES, Waiting
from mooring.model.errors import InvalidInput

OnWait = Callable[[Waiting], object]


class ClaimOptions(TypedDict, total=False):
    """Less common arguments of `claim`."""

    priority: int
    retryable: bool
    detached: bool
    payload: Mapping[str, Any] | None


class RunOptions(TypedDict, total=False):
    """Less common arguments of `run`."""

    key: str
    priority: int
    retryable: bool
    detached: bool
    on_wait: OnWait | None


class EnqueueOptions(TypedDict, total=False):
    """Less common arguments of `enqueue`."""

    priority: int
    retryable: bool
    payload: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What the caller asks for."""

    pool: str
    owner: str
    ttl_seconds: int
    wait_seconds: float
    key: str = ""
    priority: int = 0
    retryable: bool = False
    payload: Mapping[str, Any] | None = None
    detached: bool = False

    @property
    def pool_path(self) -> str:
        """Path of the pool."""
        namespace, _, name = self.pool.partition("/")
        return f"/v1/pools/{quote(namespace, safe='')}/{quote(name, safe='')}"

    @property
    def path(self) -> str:
        """Path of the pool's claims."""
        return f"{self.pool_path}/claims"

    @property
    def query(self) -> dict[str, str]:
        """Finds the open claim under the key. A server that does not know `key` lists all open claims of the owner."""
        namespace, _, name = self.pool.partition("/")
        states = ",".join(OPEN_STATES)
        about = {"namespace": namespace, "pool": name, "owner": self.owner, "state": states}
        return {**about, "key": self.key, "limit": "1000"}

    def body(self, wait_seconds: float) -> dict[str, Any]:
        """JSON of the request. The server does not compare `wait`: a repeated request may wait for less time."""
        body = {
            "ttlSeconds": self.ttl_seconds,
            "wait": wait_seconds,
            "idempotencyKey": self.key,
            "priority": self.priority,
            "retryable": self.retryable,
            "payload": None if self.payload is None else dict(self.payload),
        }
        named = {"owner": self.owner} if self.owner else {}
        return {**body, **named, **({"detached": True} if self.detached else {})}  # older servers know no `detached`

    def with_key(self, key: str) -> "ClaimRequest":
        """The same request under another key."""
        return replace(self, key=key)


def require_text(field: str, value: object) -> str:
    """The value; raises `InvalidInput` with the name of the field when it is not text."""
    if not isinstance(value, str):
        raise InvalidInput(field, value, "text")
    return value


def require_key(key: object) -> str:
    """The key; a claim that nobody waits for can only be found by it."""
    if not require_text("key", key):
        raise InvalidInput("key", key, "text that is not empty")
    return str(key)


def make_request(pool: str, owner: str, ttl: Duration, wait: Duration, **options: Any) -> ClaimRequest:
    """Checks what would otherwise reach the wrong route, or come back as an unclear error."""
    namespace, slash, name = require_text("pool", pool).partition("/")
    require_text("owner", owner)
    require_text("key", options.get("key", ""))
    if not (namespace and slash and name) or "/" in name:
        raise InvalidInput("pool", pool, "NAMESPACE/NAME")
    ttl_seconds = parse_seconds("ttl", ttl)
    if ttl_seconds < 1 or ttl_seconds != int(ttl_seconds):
        raise InvalidInput("ttl", ttl, "whole seconds, at least one")
    return ClaimRequest(pool, owner, int(ttl_seconds), parse_seconds("wait", wait), **options)
