"""The "why" of a state: pages, terminal, API and SDK all use this structure."""

from datetime import datetime

import msgspec


class Why(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Why something is in its state, since when, what blocks it, and what to do."""

    code: str
    message: str
    since: datetime | None = None
    blockers: tuple[str, ...] = ()
    next_check: datetime | None = None
    fix: str = ""


def place_in_line(position: int | None) -> str:
    """To be added to a sentence about a claim that waits; empty while the position is not known."""
    if position is None:
        return ""
    return ", next in line" if position == 1 else f", number {position} in line"


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
        """When its status last changed; None if its writer gave no time."""
        try:
            return datetime.fromisoformat(self.last_transition_time)
        except ValueError:
            return None


def merge_conditions(old: tuple[Condition, ...], new: tuple[Condition, ...], now: str) -> tuple[Condition, ...]:
    """The new conditions; each keeps its transition time while its status does not change."""
    known = {condition.type: condition for condition in old}
    merged = []
    for condition in new:
        before = known.get(condition.type)
        kept = before is not None and before.status == condition.status and bool(before.last_transition_time)
        since = before.last_transition_time if before is not None and kept else now
        merged.append(msgspec.structs.replace(condition, last_transition_time=since))
    return tuple(merged)
