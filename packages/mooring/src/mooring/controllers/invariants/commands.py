"""What people may ask for: pause and resume an invariant, and arm the ledger. Each is audited with who and why."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from mooring.engine.audit import DONE, Result
from mooring.engine.context import Context
from mooring.engine.switches import require_invariant
from mooring.ledger.records import Incarnation, InvariantState
from mooring.model.audit import Subject
from mooring.model.errors import Conflict
from mooring.model.evidence import clean_reason

T = TypeVar("T")


class InvariantCommands:
    """The one way for the API and for pages."""

    def __init__(self, context: Context) -> None:
        self._auditor = context.auditor
        self._switches = context.switches
        self._ledger = context.ledger
        self._clock = context.clock

    async def pause(self, invariant: str, actor: str, reason: str) -> InvariantState:
        """Switch an invariant off on all replicas. The pause survives restarts."""
        subject = Subject("Invariant", "", require_invariant(invariant))
        return await self._audited(
            lambda: self._switches.pause(invariant, actor=actor, reason=clean_reason(reason)),
            "pause",
            subject,
            actor,
            reason,
        )

    async def resume(self, invariant: str, actor: str, reason: str) -> InvariantState:
        """On again."""
        subject = Subject("Invariant", "", require_invariant(invariant))
        return await self._audited(
            lambda: self._switches.resume(invariant, actor=actor), "resume", subject, actor, reason
        )

    async def incarnation(self) -> Incarnation:
        """The ledger as it is now."""
        return await self._ledger.meta.incarnation()

    async def arm(self, incarnation: str, actor: str, reason: str) -> Incarnation:
        """A person declares that the ledger's rows are complete again: invariants act again after a restore."""

        async def arm() -> Incarnation:
            present = await self._ledger.meta.arm(incarnation, actor=actor, now=self._clock.now())
            if present.id != incarnation:
                raise Conflict(
                    f"the ledger is incarnation {present.id} now", fix="look at GET /v1/ledger, then arm that one"
                )
            return present

        return await self._audited(arm, "arm", Subject("Ledger", "", incarnation), actor, reason)

    async def _audited(
        self, command: Callable[[], Awaitable[T]], action: str, subject: Subject, actor: str, reason: str
    ) -> T:
        """A row before, and how it ended after."""
        answers: list[T] = []

        async def act() -> Result:
            answers.append(await command())
            return DONE

        await self._auditor.carry_out(act, actor=actor, action=action, subject=subject, reason=reason, evidence={})
        return answers[0]
