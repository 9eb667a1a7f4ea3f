"""Why a pod is where it is: what was found, on whose word, and what to do about it."""

from datetime import datetime

import msgspec

from mooring.model.evidence import Failure
from mooring.model.preflight import Preflight


class Happening(msgspec.Struct, frozen=True, rename="camel"):
    """An event that somebody in the cluster wrote about the pod."""

    source: str
    reason: str
    message: str
    warning: bool = False
    count: int = 1
    last_seen: datetime | None = None


class Finding(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that stands in a pod's way, most serious first."""

    code: str
    message: str
    fix: str = ""
    since: datetime | None = None


class Explanation(msgspec.Struct, frozen=True, rename="camel"):
    """All that is known about why a pod runs or does not."""

    namespace: str
    name: str
    uid: str
    state: str  # running, unschedulable, waiting, terminating, finished
    node: str
    summary: str
    fix: str
    findings: tuple[Finding, ...]
    preflight: Preflight | None  # None when the pod has its node
    events: tuple[Happening, ...]
    failure: Failure | None
    unread: tuple[str, ...]  # what could not be read, with the verb that was missing
    looked_at: datetime
