"""Why an invariant holds, is broken, paused or unknown, since when, and on what evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mooring.model.invariant import Invariant
from mooring.model.why import Why

_LISTINGS: Mapping[str, str] = {  # where the objects of an invariant are listed, each with its reason
    "stamped-has-claim": "mooring workers --only claimed -o wide",
    "claim-has-pod": "mooring claims --only claimed,running -o wide",
    "claim-progresses": "mooring claims --only claimed -o wide",
    "claim-alive": "mooring claims --only running -o wide",
    "busy-is-protected": "mooring workers -o wide",
    "protection-bounded": "mooring workers --only draining -o wide",
    "warm-on-live-node": "mooring warmups -o wide",
    "leftover-jobs": "mooring submissions -o wide",
    "schedulable": "mooring pools -o wide",
    "warm-floor": "mooring pools -o wide",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation of an invariant: the object, the reason, and since when."""

    subject: str
    message: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class InvariantFacts:
    """What is known about an invariant.

    `since` is when it began to hold or to be broken, `watched_since` when this replica began to check.
    """

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


def explain_invariant(facts: InvariantFacts) -> Why:
    """One sentence, and for a broken invariant its violations."""
    since = facts.since or facts.checked_at or facts.watched_since
    match facts.state:
        case "paused":
            because = f": {facts.pause_reason}" if facts.pause_reason else ""
            message = f"paused by {facts.paused_by or 'an unknown user'}{because}"
            blockers = (f"{facts.broken} broken, left as they are",) if facts.broken else ()
            return Why("paused", message, facts.paused_since or since, blockers, fix=f"mooring resume {facts.rule.id}")
        case "unknown":
            return Why("unknown", _unknown(facts), facts.watched_since, fix="mooring doctor")
        case "broken":
            message = f"{facts.broken} broken now; remedy: {facts.rule.remedy}"
            return Why("broken", message, since, _found(facts), fix=_next_command(facts))
    return Why("holds", "nothing is broken", since)


def _next_command(facts: InvariantFacts) -> str:
    """What a person types next: what the violation itself names, else the listing that shows its object."""
    named = (facts.evidence or {}).get("fix")
    return str(named) if named else _LISTINGS.get(facts.rule.id, "mooring audit")


def _unknown(facts: InvariantFacts) -> str:
    if not facts.rule.enforced:
        return "this version does not enforce it"
    return "not checked yet" if facts.synced else "not checked yet: the caches are not read to their end"


def _found(facts: InvariantFacts) -> tuple[str, ...]:
    if facts.violations:
        return tuple(f"{one.subject}: {one.message}" for one in facts.violations)
    if not facts.evidence:
        return ()
    evidence = {key: value for key, value in facts.evidence.items() if key not in ("fix", "subject", "held")}
    plain = [f"{key} {value}" for key, value in evidence.items() if isinstance(value, str | int | float)]
    held = f", left for now: {why}" if (why := facts.evidence.get("held")) else ""
    details = f" ({', '.join(plain)})" if plain else ""
    return (f"the last one: {facts.evidence.get('subject', 'unnamed')}{held}{details}",)
