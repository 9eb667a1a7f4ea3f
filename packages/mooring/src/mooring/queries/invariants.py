"""The invariants as people see them: whether each holds, since when, what was found and healed, and its switch."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from hawser.clock import Clock
from mooring.ledger.records import InvariantState
from mooring.model.invariant import INVARIANTS, Invariant
from mooring.model.why import Why
from mooring.planning.actions import earliest
from mooring.planning.explanations.invariants import InvariantFacts, Violation, explain_invariant
from mooring.queries.sources import GateSource, PoolSource, SwitchSource


class InvariantReading(msgspec.Struct, frozen=True, rename="camel"):
    """An invariant: whether it holds, what was found and healed, and its switch."""

    id: str
    rule: str
    remedy: str
    constants: str
    enforced: bool
    state: str  # holds, broken, paused, unknown
    paused: bool
    paused_by: str
    pause_reason: str
    broken: int
    found: int
    healed: int
    mean_heal_seconds: float | None
    checked_at: datetime | None
    evidence: dict[str, Any] | None
    why: Why
    known: bool  # whether somebody has looked; else `broken` says nothing


_SEEN_IN = {
    "warm-floor": "Ready",
    "schedulable": "Schedulable",
}  # invariants that are read from the conditions of pools


class InvariantQueries:
    """Answers from the switches, as last read, and from the conditions of pools; changes nothing."""

    def __init__(self, pools: PoolSource, gate: GateSource, switches: SwitchSource, clock: Clock) -> None:
        self._pools = pools
        self._gate = gate
        self._switches = switches
        self._since = clock.now()
        self._found_too: list[tuple[str, Callable[[], list[Violation]]]] = []

    def find_too(self, rule: str, find: Callable[[], list[Violation]]) -> None:
        """Add the violations that another part finds to an invariant that is read from conditions."""
        self._found_too.append((rule, find))

    def readings(self) -> list[InvariantReading]:
        """All invariants; those that this build does not enforce say so."""
        violations, held_since = self._look()
        return [
            self._read(rule, self._switches.states.get(rule.id), violations.get(rule.id), held_since.get(rule.id))
            for rule in INVARIANTS
        ]

    def _look(self) -> tuple[dict[str, list[Violation]], dict[str, datetime]]:
        """What is broken now, and since when the rest holds, of the invariants read from conditions."""
        violations: dict[str, list[Violation]] = {rule: [] for rule in _SEEN_IN}
        held_since: dict[str, datetime] = {}
        for key, pool in sorted(self._pools.pools.items()):
            conditions = {condition.type: condition for condition in pool.status.conditions}
            for rule, type_ in _SEEN_IN.items():
                condition = conditions.get(type_)
                if condition is None:
                    continue
                if condition.status == "False":
                    violations[rule].append(Violation(f"pool/{key}", condition.message, condition.since))
                elif condition.since is not None:
                    held_since[rule] = max(held_since.get(rule, condition.since), condition.since)
        for rule, find in self._found_too:
            violations[rule] += find()
        return violations, held_since

    def _read(
        self,
        rule: Invariant,
        kept: InvariantState | None,
        violations: list[Violation] | None,
        held_since: datetime | None,
    ) -> InvariantReading:
        kept = kept or InvariantState(id=rule.id)
        broken = kept.broken if violations is None else len(violations)
        looked = violations is not None or kept.checked_at is not None
        known = rule.enforced and self._gate.synced and self._switches.known and looked
        state = "paused" if kept.paused else "unknown" if not known else "broken" if broken else "holds"
        broken_since = earliest(*(violation.since for violation in violations or ()))
        facts = InvariantFacts(
            rule=rule,
            state=state,
            synced=self._gate.synced,
            broken=broken,
            watched_since=self._since,
            since=kept.verdict_since if violations is None else broken_since if violations else held_since,
            checked_at=kept.checked_at,
            paused_by=kept.paused_by,
            pause_reason=kept.reason,
            paused_since=kept.paused_since,
            violations=violations or (),
            evidence=kept.evidence,
        )
        return InvariantReading(
            id=rule.id,
            rule=rule.rule,
            remedy=rule.remedy,
            constants=rule.constants,
            enforced=rule.enforced,
            state=state,
            paused=kept.paused,
            paused_by=kept.paused_by,
            pause_reason=kept.reason,
            broken=broken,
            found=kept.found,
            healed=kept.healed,
            mean_heal_seconds=kept.heal_seconds / kept.healed if kept.healed else None,
            checked_at=kept.checked_at,
            evidence=kept.evidence,
            why=explain_invariant(facts),
            known=known,
        )
