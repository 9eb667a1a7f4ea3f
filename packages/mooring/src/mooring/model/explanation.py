"""The explanation of a pod: findings, their sources, and what to do."""

from datetime import datetime

import msgspec

from mooring.model.evidence import Failure
from mooring.model.preflight import Preflight


class PodEvent(msgspec.Struct, frozen=True, rename="camel"):
    """A Kubernetes event about the pod."""

    source: str
    reason: str
    message: str
    warning: bool = False
    count: int = 1
    last_seen: datetime | None = None


class Finding(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that prevents a pod from running; findings are ordered by severity."""

    code: str
    message: str
    fix: str = ""
    since: datetime | None = None


class Explanation(msgspec.Struct, frozen=True, rename="camel"):
    """Everything that is known about why a pod runs or does not."""

    namespace: str
    name: str
    uid: str
    state: str  # running, unschedulable, waiting, terminating, finished
    node: str
    summary: str
    fix: str
    findings: tuple[Finding, ...]
    preflight: Preflight | None  # None if the pod has a node
    events: tuple[PodEvent, ...]
    failure: Failure | None
    unread: tuple[str, ...]  # what could not be read, with the missing verb
    looked_at: datetime
