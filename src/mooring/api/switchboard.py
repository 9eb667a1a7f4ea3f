"""Flipping kill switches, and arming the ledger, with a trail: the one way for the API and for pages."""

from mooring.api.events import EventHub
from mooring.clock import Clock, Entropy
from mooring.control.switches import Switches
from mooring.ledger.port import Ledger
from mooring.ledger.records import Incarnation, InvariantState
from mooring.model.audit import AuditEntry, AuditOutcome, Subject
from mooring.model.errors import Conflict


class Switchboard:
    """Pause and resume, audited with who and why."""

    def __init__(self, switches: Switches, ledger: Ledger, clock: Clock, entropy: Entropy, hub: EventHub) -> None:
        self._switches = switches
        self._ledger = ledger
        self._clock = clock
        self._entropy = entropy
        self._hub = hub

    async def pause(self, rule: str, actor: str, reason: str) -> InvariantState:
        """Off for all replicas, over restarts."""
        state = await self._switches.pause(rule, actor=actor, reason=reason)
        await self._record("pause", rule, actor, reason)
        return state

    async def resume(self, rule: str, actor: str, reason: str) -> InvariantState:
        """On again."""
        state = await self._switches.resume(rule, actor=actor)
        await self._record("resume", rule, actor, reason)
        return state

    async def incarnation(self) -> Incarnation:
        """The ledger as it is now."""
        return await self._ledger.meta.incarnation()

    async def arm(self, incarnation: str, actor: str, reason: str) -> Incarnation:
        """The ledger's rows are complete again, somebody says: what a restore had put to rest goes on."""
        present = await self._ledger.meta.arm(incarnation, actor=actor, now=self._clock.now())
        if present.id != incarnation:
            raise Conflict(
                f"the ledger is incarnation {present.id} now", fix="look at GET /v1/ledger, then arm that one"
            )
        await self._record("arm", incarnation, actor, reason, kind="Ledger")
        return present

    async def _record(self, action: str, rule: str, actor: str, reason: str, kind: str = "Invariant") -> None:
        entry = AuditEntry(
            id=self._entropy.uuid(),
            at=self._clock.now(),
            actor=actor,
            replica="",
            action=action,
            subject=Subject(kind, "", rule),
            reason=reason,
            evidence={},
        )
        await self._ledger.audit.record(entry, AuditOutcome.DONE)
        self._hub.publish("invariant", rule)
        self._hub.publish("audit", rule)
