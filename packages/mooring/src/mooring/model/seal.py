"""The seal of a stamp: shows that Mooring wrote it, and for which pod.

Anybody who may patch pods can write an epoch on one. A seal needs the key, which only the ledger has.
"""

import hashlib
import hmac
import re
from datetime import datetime

import msgspec

_CHARACTERS = 32
_EPOCH = re.compile("[0-9]{1,18}")  # fits a bigint, with room for many restores


def parse_epoch(text: str) -> int | None:
    """The epoch on a pod, if it is one: anybody who may patch the pod can write there."""
    return int(text) if _EPOCH.fullmatch(text) else None


class SealKey(msgspec.Struct, frozen=True):
    """The key of a ledger. A backup has the same one; a new database has another, made at `since`."""

    secret: str
    since: datetime

    def __repr__(self) -> str:
        return f"SealKey(since={self.since.isoformat()})"

    def seal(self, pod_uid: str, claim: str, epoch: int) -> str:
        """The seal of a stamp on one pod."""
        content = f"{pod_uid}/{claim}/{epoch}".encode()
        return hmac.new(self.secret.encode(), content, hashlib.sha256).hexdigest()[:_CHARACTERS]

    def verifies(self, seal: str, pod_uid: str, claim: str, epoch: int) -> bool:
        """Whether this key made the seal, for this stamp on this pod."""
        return hmac.compare_digest(seal.encode(), self.seal(pod_uid, claim, epoch).encode())
