"""The invariants between claims and workers: checked periodically, and healed when they are broken."""

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from mooring.controllers.invariants.events import InvariantEvents
from mooring.controllers.invariants.remedies import Remedies
from mooring.controllers.invariants.snapshot import ClaimsSnapshots
from mooring.engine.containment import contained
from mooring.engine.context import Context
from mooring.engine.guarded_delete import GuardedActs, Limits
from mooring.ledger.records import InvariantCheck, LiveClaims
from mooring.model.errors import MooringError
from mooring.model.timeouts import Timeouts
from mooring.planning.invariants.claims import (
    Act,
    ClaimsSnapshot,
    plan_account_has_pod,
    plan_claim_alive,
    plan_claim_has_pod,
    plan_claim_progresses,
)
from mooring.planning.invariants.leaks import STAMPED_HAS_CLAIM, find_misnamed, plan_stamped_has_claim

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Enforced:
    """A planner, and how often it is asked."""

    id: str
    plan: Callable[[ClaimsSnapshot], list[Act]]
    period_seconds: float
    confirm_seconds: float


@dataclass(slots=True)
class _Check:
    """An invariant, its guarded acts, and when it is due; lost with the process, then confirmation starts again."""

    invariant: Enforced
    acts: GuardedActs
    due_at: float = float("-inf")


def enforced_invariants(timeouts: Timeouts) -> tuple[Enforced, ...]:
    """All of them. The second of two ticks may come a little early."""
    check, reap = timeouts.claim_check, timeouts.reap_period
    return (
        Enforced("claim-alive", plan_claim_alive, check, check * 0.8),
        Enforced("claim-progresses", plan_claim_progresses, check, check * 0.8),
        Enforced("claim-has-pod", plan_claim_has_pod, check, check * 0.8),
        Enforced(STAMPED_HAS_CLAIM, plan_stamped_has_claim, reap, reap * 0.8),
        Enforced("account-has-pod", plan_account_has_pod, reap, reap * 0.8),
    )


class ClaimEnforcement:
    """All invariants between claims and workers, on the replica that leads."""

    def __init__(
        self, context: Context, snapshots: ClaimsSnapshots, remedies: Remedies, events: InvariantEvents
    ) -> None:
        self._context = context
        self._ledger = context.ledger
        self._clock = context.clock
        self._snapshots = snapshots
        self._remedies = remedies
        self._events = events
        self._checks = tuple(
            _Check(
                invariant,
                GuardedActs(
                    invariant.id, context.auditor, context.clock, Limits(confirm_seconds=invariant.confirm_seconds)
                ),
            )
            for invariant in enforced_invariants(context.timeouts)
        )

    async def run(self) -> None:
        """Until cancelled. A failed read skips the tick; it never counts as absence."""
        shortest = min(check.invariant.period_seconds for check in self._checks)
        while True:
            if self._context.gate.may_act():
                checked = False
                with contained("claim-invariants"):
                    try:
                        with self._context.gate.acting():
                            await self.tick()
                        checked = True
                    except MooringError as error:
                        log.warning("claim invariants were not checked", error=error.message)
                if not checked:
                    self._snapshots.forget()
            else:
                self._snapshots.forget()
            await self._clock.sleep(shortest)

    async def tick(self) -> None:
        """One look at the world, for every invariant that is due."""
        started = self._clock.monotonic()
        due = [check for check in self._checks if started >= check.due_at]
        if not due:
            return
        snapshot, live = await self._snapshots.take()
        for worker, successor in find_misnamed(snapshot.workers, snapshot.claims):
            await self._remedies.pass_on(worker, successor)
        checks = []
        for check in due:
            check.due_at = started + check.invariant.period_seconds
            checks.append(await self._enforce(check, snapshot, live))
        await self._ledger.invariants.record(checks)

    async def _enforce(self, check: _Check, snapshot: ClaimsSnapshot, live: LiveClaims) -> InvariantCheck:
        acts = check.invariant.plan(snapshot)
        brakes = await self._brakes(check.invariant, snapshot, live)
        done = await check.acts.carry_out("", acts, brakes, self._remedies.apply)
        shown = done.held[0].act if done.held else acts[0] if acts else None
        self._events.healed(done.done)
        held = {"held": done.held[0].because} if done.held else {}
        return InvariantCheck(
            id=check.invariant.id,
            at=self._clock.now(),
            broken=done.broken,
            found=done.found,
            healed=done.healed_seconds,
            evidence={"subject": shown.subject.name, **shown.evidence, **held} if shown else None,
        )

    async def _brakes(self, invariant: Enforced, snapshot: ClaimsSnapshot, live: LiveClaims) -> tuple[str, ...]:
        brakes = await self._context.brakes.by_cluster_and_ledger(invariant.id, live)
        if snapshot.claims and not snapshot.workers:
            return (*brakes, f"no worker is seen at all, though {len(snapshot.claims)} claims are live")
        return brakes
