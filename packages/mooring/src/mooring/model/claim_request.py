"""The body of a claim request, validated field by field before anything is written."""

import hashlib
import re
from typing import Any

import msgspec

from mooring.model.errors import InvalidInput, NotFound
from mooring.model.names import OWNER_VALUE
from mooring.model.payload import find_fault

MOST_TTL_SECONDS = 86_400
MOST_WAIT_SECONDS = 3_600
MOST_PAYLOAD_BYTES = 64 * 1024
_KEY = re.compile(r"[\x21-\x7e]{1,253}")

SHORTEST_PREFIX = 4  # characters of a shortened id


class ClaimRequest(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body of a claim request."""

    owner: str = ""  # the caller, unless it may claim for others
    ttl_seconds: int = 300
    wait: float = 0.0
    idempotency_key: str | None = None
    priority: int = 0
    retryable: bool = False
    payload: dict[str, Any] | None = None
    detached: bool = False  # wait without the client: the claim keeps its place when the client is gone

    def check(self) -> None:
        """Raise `InvalidInput` for the first field that is wrong."""
        if not OWNER_VALUE.fullmatch(self.owner):
            raise InvalidInput("owner", self.owner, "1 to 63 letters, digits, '-', '_' or '.', as in a label value")
        if not 1 <= self.ttl_seconds <= MOST_TTL_SECONDS:
            raise InvalidInput("ttlSeconds", self.ttl_seconds, f"between 1 and {MOST_TTL_SECONDS}")
        if not 0 <= self.wait <= MOST_WAIT_SECONDS:
            raise InvalidInput("wait", self.wait, f"between 0 and {MOST_WAIT_SECONDS} seconds")
        if not -1000 <= self.priority <= 1000:
            raise InvalidInput("priority", self.priority, "between -1000 and 1000")
        if self.idempotency_key is not None and not _KEY.fullmatch(self.idempotency_key):
            raise InvalidInput("idempotencyKey", self.idempotency_key, "1 to 253 printable characters without spaces")
        if fault := find_fault(self.payload):
            raise InvalidInput("payload", "...", fault)
        if self.payload is not None and len(msgspec.json.encode(self.payload)) > MOST_PAYLOAD_BYTES:
            raise InvalidInput("payload", "...", f"at most {MOST_PAYLOAD_BYTES} bytes as JSON")

    def fingerprint(self, pool_key: str) -> str:
        """Equal for equal requests. `wait` is not part of it: a repeat may wait longer."""
        parts = (pool_key, self.owner, self.ttl_seconds, self.priority, self.retryable, self.payload)
        return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


def unknown_claim(claim_id: str) -> NotFound:
    """The answer for an id that no claim has, or none that the caller may see."""
    short = f"give at least {SHORTEST_PREFIX} characters of its id; " if len(claim_id) < SHORTEST_PREFIX else ""
    return NotFound(f"there is no claim {claim_id!r}", fix=f"{short}'mooring claims --all' lists them")
