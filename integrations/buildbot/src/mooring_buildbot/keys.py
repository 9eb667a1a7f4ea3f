"""The idempotency keys of a worker's claims. They are all that a restarted master needs to find its claims. No I/O."""

import hashlib
from collections.abc import Iterable

from mooring.client.records import ClaimView


def make_prefix(installation: str, name: str) -> str:
    """Begins every key of this worker of this Buildbot. Another installation, or another name, has another one."""
    digest = hashlib.sha256(f"{installation}\n{name}".encode()).hexdigest()[:24]
    return f"buildbot-{digest}-"


def plan_leftovers(claims: Iterable[ClaimView], prefix: str, current: str) -> list[ClaimView]:
    """Claims to release: a worker has one instance at a time, so every other one was left by a master that is gone.

    A claim whose epoch is not shown is held by another account, and is left alone.
    """
    found = [claim for claim in claims if claim.open and (claim.key or "").startswith(prefix)]
    return [claim for claim in found if claim.key != current and claim.epoch]
