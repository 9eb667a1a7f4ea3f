"""Destructive acts: judged by the rails, capped for the whole fleet, and never done without an audit row before.

Every invariant has one `GuardedActs` in a replica. What it remembers is lost with the process: then confirmation starts
again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

from hawser.clock import Clock
from mooring.engine.audit import INVARIANT_ACTOR, Auditor, Result
from mooring.engine.metrics import RAILS_HELD
from mooring.model.audit import AuditOutcome, Subject
from mooring.planning.actions import earliest
from mooring.planning.rails import CAP_PER_TICK, CONFIRM_SECONDS, Destructive, Held, apply_rails


class GuardedAct(Destructive, Protocol):
    """What an act brings along for its audit row."""

    @property
    def invariant(self) -> str: ...

    @property
    def action(self) -> str: ...

    @property
    def subject(self) -> Subject: ...

    @property
    def reason(self) -> str: ...

    @property
    def evidence(self) -> dict[str, Any]: ...


A = TypeVar("A", bound=GuardedAct)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many acts a tick of the whole fleet may do, how far two looks are apart, how many acts run side by side."""

    cap: int = CAP_PER_TICK
    confirm_seconds: float = CONFIRM_SECONDS
    side_by_side: int = 1


@dataclass(frozen=True, slots=True)
class Round(Generic[A]):
    """What became of the acts that were asked for."""

    found: int = 0  # asked for the first time
    done: tuple[A, ...] = ()
    undone: tuple[tuple[A, str], ...] = ()  # skipped or failed, each with the reason
    held: tuple[Held[A], ...] = ()
    healed_seconds: tuple[float, ...] = ()  # of each that is done, since it was first seen
    wake_at: datetime | None = None

    @property
    def broken(self) -> int:
        """How many are still to be done."""
        return len(self.undone) + len(self.held)


class GuardedActs:
    """Carries out the acts of one invariant, scope by scope: a pool, a Warmup, a namespace."""

    def __init__(self, invariant: str, auditor: Auditor, clock: Clock, limits: Limits = Limits()) -> None:
        self._invariant = invariant
        self._auditor = auditor
        self._clock = clock
        self._limits = limits
        self._sightings: dict[str, Mapping[str, datetime]] = {}
        self._held: dict[str, int] = {}
        self._window_started = float("-inf")
        self._spent = 0

    async def carry_out(
        self,
        scope: str,
        acts: Sequence[A],
        brakes: Sequence[str],
        perform: Callable[[A], Awaitable[Result]],
        counts: Callable[[A], bool] = lambda _: True,
    ) -> Round[A]:
        """Do what the rails allow. Held acts that `counts` accepts show in the metric."""
        if not acts:  # almost every look
            self.forget(scope)
            return Round()
        before, now = self._sightings.get(scope, {}), self._clock.now()
        limits = self._limits
        verdict = apply_rails(acts, before, now, brakes, self._allowance(), limits.confirm_seconds)
        self._spent += len(verdict.allowed)
        self._sightings[scope] = verdict.sightings
        self._show(scope, sum(counts(held.act) for held in verdict.held))
        ended = await self._perform_all(verdict.allowed, perform)
        done = tuple(act for act, (outcome, _) in ended if outcome is AuditOutcome.DONE)
        undone = tuple((act, _explain(result)) for act, result in ended if result[0] is not AuditOutcome.DONE)
        again_at = now + timedelta(seconds=limits.confirm_seconds) if undone else None
        return Round(
            found=sum(act.key not in before for act in acts),
            done=done,
            undone=undone,
            held=verdict.held,
            healed_seconds=tuple((now - verdict.sightings[act.key]).total_seconds() for act in done),
            wake_at=earliest(verdict.wake_at, again_at),
        )

    def forget(self, scope: str) -> None:
        """Nothing is asked for: the object is gone, or in order."""
        self._sightings.pop(scope, None)
        self._show(scope, 0)

    def _allowance(self) -> int:
        """What is left of the cap in this tick, for all scopes together."""
        started = self._clock.monotonic()
        if started - self._window_started >= self._limits.confirm_seconds:
            self._window_started, self._spent = started, 0
        return max(self._limits.cap - self._spent, 0)

    async def _perform_all(
        self, acts: Sequence[A], perform: Callable[[A], Awaitable[Result]]
    ) -> list[tuple[A, Result]]:
        """A few side by side; the first that cannot be written down ends the round."""
        ended: list[tuple[A, Result]] = []
        for start in range(0, len(acts), self._limits.side_by_side):
            batch = acts[start : start + self._limits.side_by_side]
            ended += zip(batch, await asyncio.gather(*(self._perform(act, perform) for act in batch)), strict=True)
        return ended

    async def _perform(self, act: A, perform: Callable[[A], Awaitable[Result]]) -> Result:
        return await self._auditor.carry_out(
            lambda: perform(act),
            actor=f"{INVARIANT_ACTOR}{act.invariant}",
            action=act.action,
            subject=act.subject,
            reason=act.reason,
            evidence=act.evidence,
        )

    def _show(self, scope: str, held: int) -> None:
        self._held[scope] = held
        if not held:
            del self._held[scope]
        RAILS_HELD.set(sum(self._held.values()), self._invariant)


def _explain(result: Result) -> str:
    outcome, error = result
    return f"failed: {error}" if outcome is AuditOutcome.FAILED else error or "it changed in the meantime"
