"""What is observed of a service in the cluster: its rollout, its pods, and the answer of its port."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mooring.model.openapi import ApiDocument


@dataclass(frozen=True, slots=True)
class ServicePod:
    """One pod of a service, from its status."""

    name: str
    uid: str
    spec_hash: str
    node: str = ""
    address: str = ""
    account: str = ""  # its ServiceAccount
    phase: str = "Pending"
    ready: bool = False
    terminating: bool = False
    created_at: datetime | None = None
    running_since: datetime | None = None  # of its container
    unschedulable: str = ""  # the message of the scheduler
    waiting: str = ""  # why the container does not run: ImagePullBackOff, CrashLoopBackOff, …
    waiting_message: str = ""
    restarts: int = 0
    exit_code: int = 0  # of the last run that ended
    exit_reason: str = ""


@dataclass(frozen=True, slots=True)
class Rollout:
    """The Deployment of a service."""

    uid: str
    spec_hash: str
    placement: str  # fingerprint of the placement that was derived from the nodes when it was applied
    image: str
    wanted: int
    generation: int
    observed_generation: int
    total: int = 0
    updated: int = 0
    ready: int = 0
    available: int = 0
    create_failure: str = ""  # why pods cannot be created: a quota, an admission policy
    stalled: str = ""  # the Deployment's progress deadline was exceeded

    @property
    def complete(self) -> bool:
        """Whether every replica runs the current template and no older pod is left."""
        seen = self.observed_generation >= self.generation
        return seen and self.updated == self.total == self.available == self.wanted


class Outcome(StrEnum):
    """How a request for a service's document ended."""

    DOCUMENT = "document"
    NOT_A_DOCUMENT = "not-a-document"  # 200, but it does not parse
    BAD_STATUS = "bad-status"
    REDIRECT = "redirect"
    TOO_LARGE = "too-large"
    NOBODY_LISTENS = "nobody-listens"  # the connection was refused
    NO_ANSWER = "no-answer"  # a timeout, or no route to the address
    FOREIGN_ADDRESS = "foreign-address"  # not requested at all


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer, with a message, and the document if there is one."""

    outcome: Outcome
    message: str = ""
    status: int = 0
    document: ApiDocument | None = None
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class PodEvidence:
    """What was read about the pod that explains the state best. A failed read is noted in its lines."""

    pod: ServicePod
    events: tuple[str, ...] = ()  # messages of its warning events, the latest last
    logs: tuple[str, ...] = ()
    answer: Answer | None = None  # the answer of its port to Mooring
