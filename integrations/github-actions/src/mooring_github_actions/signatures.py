"""Who sent a request: GitHub's webhooks and Mooring's mint calls, compared in constant time. No I/O."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime

MOST_SKEW_SECONDS = 300


def verify_webhook(secret: bytes, signature: str, body: bytes) -> bool:
    """`X-Hub-Signature-256` of a webhook."""
    return _equal(f"sha256={_digest(secret, body)}", signature)


def verify_bearer(token: str, headers: Mapping[str, str]) -> bool:
    """`Authorization: Bearer` of a mint call."""
    return _equal(f"Bearer {token}", headers.get("Authorization", ""))


def verify_hmac(key: bytes, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
    """`Mooring-Signature` of a mint call that is not older than five minutes."""
    timestamp = headers.get("Mooring-Timestamp", "")
    expected = f"sha256={_digest(key, timestamp.encode('utf-8', 'replace') + b'.' + body)}"
    if not _equal(expected, headers.get("Mooring-Signature", "")) or not timestamp.isdecimal():
        return False
    return abs(now.timestamp() - int(timestamp)) <= MOST_SKEW_SECONDS


def _digest(key: bytes, body: bytes) -> str:
    return hmac.new(key, body, hashlib.sha256).hexdigest()


def _equal(expected: str, given: str) -> bool:
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace"))
