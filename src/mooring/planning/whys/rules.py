"""Why a rule holds, is broken, rests or is not known: since when, and on what evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mooring.model.invariant import Invariant
from mooring.model.why import Why


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that a rule finds broken at every look: what, why, and since when."""

    subject: str
    message: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """What is known of a rule. `since` is since when it holds or is broken, `watched_since` since when we look."""

    rule: Invariant
    state: str  # holds, broken, paused, unknown
    synced: bool
    broken: int
    watched_since: datetime
    since: datetime | None = None
    checked_at: datetime | None = None
    paused_by: str = ""
    pause_reason: str = ""
    paused_since: datetime | None = None
    violations: Sequence[Violation] = ()
    evidence: Mapping[str, Any] | None = None


def explain_rule(facts: RuleFacts) -> Why:
    """One sentence, and of a broken rule what it found."""
    since = facts.since or facts.checked_at or facts.watched_since
    match facts.state:
        case "paused":
            because = f": {facts.pause_reason}" if facts.pause_reason else ""
            told = f"paused by {facts.paused_by or 'somebody'}{because}"
            blockers = (f"{facts.broken} broken, left as they are",) if facts.broken else ()
            return Why("paused", told, facts.paused_since or since, blockers, fix=f"mooring resume {facts.rule.id}")
        case "unknown":
            return Why("unknown", _unknown(facts), facts.watched_since, fix="mooring doctor")
        case "broken":
            told = f"{facts.broken} broken now; remedy: {facts.rule.remedy}"
            return Why("broken", told, since, _found(facts), fix="mooring doctor")
    return Why("holds", "nothing is broken", since)


def _unknown(facts: RuleFacts) -> str:
    if not facts.rule.enforced:
        return "this version does not enforce it"
    return "not checked yet" if facts.synced else "not checked yet: the caches are not read to their end"


def _found(facts: RuleFacts) -> tuple[str, ...]:
    if facts.violations:
        return tuple(f"{one.subject}: {one.message}" for one in facts.violations)
    if not facts.evidence:
        return ()
    plain = [f"{key} {value}" for key, value in facts.evidence.items() if isinstance(value, str | int | float)]
    return (f"the last one: {', '.join(plain)}",) if plain else ()
