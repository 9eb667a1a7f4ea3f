"""One way to do what cannot be undone: write it down, do it, write down how it ended."""

from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from mooring.clock import Clock, Entropy
from mooring.kube.errors import KubeError, ObjectConflict, ObjectNotFound
from mooring.ledger.port import Ledger
from mooring.model.audit import AuditEntry, AuditOutcome, Subject

log = structlog.get_logger()

Result = tuple[AuditOutcome, str]
DONE: Result = (AuditOutcome.DONE, "")
INVARIANT_ACTOR = "invariant/"


class Auditor:
    """Writes the trail. Without a ledger nothing gets past `begin`, so nothing is done untold.

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
        """Be told of every act, when its row is complete."""
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
    ) -> AuditOutcome:
        """Row, act, outcome. Gone already is done; changed in between is skipped; anything else failed."""
        entry = AuditEntry(
            id=self._entropy.uuid(),
            at=self._clock.now(),
            actor=actor,
            replica=self._replica_id,
            action=action,
            subject=subject,
            reason=reason,
            evidence=evidence,
        )
        epoch = self._term() if actor.startswith(INVARIANT_ACTOR) else None
        await self._ledger.audit.begin(entry, epoch=epoch)
        outcome, error = await self._attempt(act, entry)
        await self._ledger.audit.complete(entry.id, outcome, now=self._clock.now(), error=error)
        for listener in self._listeners:
            listener(f"{subject.namespace}/{subject.name}")
        return outcome

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
