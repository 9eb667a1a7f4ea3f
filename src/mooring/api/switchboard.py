"""Flipping kill switches, and arming the ledger, with a trail: the one way for the API and for pages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mooring.api.events import EventHub
from mooring.clock import Clock, Entropy
from mooring.control.switches import Switches, require_rule
from mooring.ledger.port import Ledger
from mooring.ledger.records import Incarnation, InvariantState
from mooring.model.audit import AuditEntry, AuditOutcome, Subject
from mooring.model.errors import Conflict, MooringError


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
        async with self._written_down("pause", Subject("Invariant", "", require_rule(rule)), actor, reason):
            return await self._switches.pause(rule, actor=actor, reason=reason)

    async def resume(self, rule: str, actor: str, reason: str) -> InvariantState:
        """On again."""
        async with self._written_down("resume", Subject("Invariant", "", require_rule(rule)), actor, reason):
            return await self._switches.resume(rule, actor=actor)

    async def incarnation(self) -> Incarnation:
        """The ledger as it is now."""
        return await self._ledger.meta.incarnation()

    async def arm(self, incarnation: str, actor: str, reason: str) -> Incarnation:
        """The ledger's rows are complete again, somebody says: what a restore had put to rest goes on."""
        async with self._written_down("arm", Subject("Ledger", "", incarnation), actor, reason):
            present = await self._ledger.meta.arm(incarnation, actor=actor, now=self._clock.now())
            if present.id != incarnation:
                raise Conflict(
                    f"the ledger is incarnation {present.id} now", fix="look at GET /v1/ledger, then arm that one"
                )
            return present

    @asynccontextmanager
    async def _written_down(self, action: str, subject: Subject, actor: str, reason: str) -> AsyncIterator[None]:
        """A row before, and how it ended after."""
        entry = AuditEntry(
            id=self._entropy.uuid(),
            at=self._clock.now(),
            actor=actor,
            replica="",
            action=action,
            subject=subject,
            reason=reason,
            evidence={},
        )
        await self._ledger.audit.begin(entry)
        outcome, error = AuditOutcome.DONE, ""
        try:
            yield
        except MooringError as failure:
            outcome, error = AuditOutcome.FAILED, failure.message
            raise
        finally:
            await self._ledger.audit.complete(entry.id, outcome, now=self._clock.now(), error=error)
            self._hub.publish("invariant", subject.name)
            self._hub.publish("audit", subject.name)
