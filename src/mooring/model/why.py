"""One "why" everywhere: pages, terminal, API and SDK explain every state with the same structure."""

from datetime import datetime

import msgspec


class Why(msgspec.Struct, frozen=True, rename="camel"):
    """Why something is as it is, since when, what stands in the way, and what to do."""

    code: str
    message: str
    since: datetime | None = None
    blockers: tuple[str, ...] = ()
    next_check: datetime | None = None
    fix: str = ""


class Condition(msgspec.Struct, frozen=True, rename="camel"):
    """A condition as Kubernetes writes it."""

    type: str
    status: str  # True, False, Unknown
    reason: str
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int = 0

    @property
    def since(self) -> datetime | None:
        """When its status last changed; None where whoever wrote it left no time."""
        try:
            return datetime.fromisoformat(self.last_transition_time)
        except ValueError:
            return None


def merge_conditions(old: tuple[Condition, ...], new: tuple[Condition, ...], now: str) -> tuple[Condition, ...]:
    """The new conditions, each keeping its transition time while its status stays the same."""
    known = {condition.type: condition for condition in old}
    merged = []
    for condition in new:
        before = known.get(condition.type)
        kept = before is not None and before.status == condition.status and bool(before.last_transition_time)
        since = before.last_transition_time if before is not None and kept else now
        merged.append(msgspec.structs.replace(condition, last_transition_time=since))
    return tuple(merged)
