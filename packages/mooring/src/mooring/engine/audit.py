"""One way to do what cannot be undone: an audit row before, the act, and how it ended."""

from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from hawser.clock import Clock, Entropy
from hawser.errors import KubeError, ObjectConflict, ObjectNotFound
from mooring.ledger.port import Ledger
from mooring.model.audit import AuditEntry, AuditOutcome, Subject
from mooring.model.errors import MooringError, Unavailable
from mooring.model.evidence import clean_reason

log = structlog.get_logger()

Result = tuple[AuditOutcome, str]
DONE: Result = (AuditOutcome.DONE, "")
INVARIANT_ACTOR = "invariant/"


class Auditor:
    """Writes the trail. Without a ledger nothing gets past `begin`, so nothing is done without a row.

    Acts of invariants are the leader's: their rows are fenced on its `term`, so that what a replica still tries after
    another one took over is refused before it is done.
    """

    def __init__(
        self, ledger: Ledger, clock: Clock, entropy: Entropy, replica_id: str, term: Callable[[], int]
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._entropy = entropy
        self._replica_id = replica_id
        self._term = term
        self._listeners: list[Callable[[str], None]] = []

    def on_act(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the subject of every act, when its row is complete."""
        self._listeners.append(listener)

    async def carry_out(
        self,
        act: Callable[[], Awaitable[Result]],
        *,
        actor: str,
        action: str,
        subject: Subject,
        reason: str,
        evidence: dict[str, Any],
    ) -> Result:
        """Row, act, outcome with its error. Gone already is done; changed in between is skipped; the rest failed."""
        entry = AuditEntry(
            id=self._entropy.uuid(),
            at=self._clock.now(),
            actor=actor,
            replica=self._replica_id,
            action=action,
            subject=subject,
            reason=clean_reason(reason),
            evidence=evidence,
        )
        epoch = self._term() if actor.startswith(INVARIANT_ACTOR) else None
        await self._ledger.audit.begin(entry, epoch=epoch)
        try:
            outcome, error = await self._attempt(act, entry)
        except Exception as failure:
            # It may have happened or not: the row must not say that it was done, nor stay open.
            await self._record_death(entry, failure)
            raise
        await self._complete(entry, outcome, error)
        return outcome, error

    async def _record_death(self, entry: AuditEntry, failure: Exception) -> None:
        message = failure.message if isinstance(failure, MooringError) else f"died with {failure!r}"
        if isinstance(failure, Unavailable) or not isinstance(failure, MooringError):
            message = f"{message}; it may have taken effect"
        try:
            await self._complete(entry, AuditOutcome.FAILED, message)
        except Unavailable as away:
            log.warning("how an act ended was not recorded", action=entry.action, id=entry.id, error=away.message)

    async def _complete(self, entry: AuditEntry, outcome: AuditOutcome, error: str) -> None:
        await self._ledger.audit.complete(entry.id, outcome, now=self._clock.now(), error=error)
        for listener in self._listeners:
            listener(f"{entry.subject.namespace}/{entry.subject.name}")

    async def _attempt(self, act: Callable[[], Awaitable[Result]], entry: AuditEntry) -> Result:
        try:
            return await act()
        except ObjectNotFound:
            return AuditOutcome.DONE, "was gone already"
        except ObjectConflict as conflict:
            return AuditOutcome.SKIPPED, conflict.message
        except KubeError as failure:
            log.warning("an act failed", action=entry.action, subject=entry.subject.name, error=failure.message)
            return AuditOutcome.FAILED, failure.message
