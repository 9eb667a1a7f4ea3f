"""What `mooring doctor` says: one line for each thing an operator would look at."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec


class CheckStatus(StrEnum):
    """`unknown` is never shown as `ok`."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Check(msgspec.Struct, frozen=True, rename="camel"):
    """One line: what was looked at, how it is, on what evidence, and what to do."""

    id: str
    status: CheckStatus
    message: str
    evidence: dict[str, Any] = {}
    fix: str = ""


class Checkup(msgspec.Struct, frozen=True, rename="camel"):
    """All lines of one look."""

    checks: tuple[Check, ...]
    at: datetime
    seconds: float

    @property
    def counts(self) -> dict[str, int]:
        return {status.value: sum(check.status is status for check in self.checks) for status in CheckStatus}
