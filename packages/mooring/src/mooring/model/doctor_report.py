"""The report of `mooring doctor`: one check for each thing that an operator would look at."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec


class CheckStatus(StrEnum):
    """The result of a check. `unknown` is never shown as `ok`."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Check(msgspec.Struct, frozen=True, rename="camel"):
    """One check: its id, result, evidence and fix."""

    id: str
    status: CheckStatus
    message: str
    evidence: dict[str, Any] = {}
    fix: str = ""


class DoctorReport(msgspec.Struct, frozen=True, rename="camel"):
    """All checks of one run."""

    checks: tuple[Check, ...]
    at: datetime
    seconds: float

    @property
    def counts(self) -> dict[str, int]:
        return {status.value: sum(check.status is status for check in self.checks) for status in CheckStatus}
