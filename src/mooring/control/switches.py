"""The kill switches, as last read from the ledger. All replicas obey the same ones."""

import asyncio

from mooring.clock import Clock
from mooring.ledger.port import Ledger
from mooring.ledger.records import Channel, InvariantState, Wake
from mooring.model.errors import NotFound, Unavailable
from mooring.model.invariant import INVARIANT_IDS

REFRESH_SECONDS = 30.0
RETRY_SECONDS = 1.0


class Switches:
    """Paused or not, and by whom. Woken by the ledger when somebody flips one anywhere."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._states: dict[str, InvariantState] = {}
        self.known = False  # whether they were ever read; until then nothing may act
        self._changed = asyncio.Event()

    def why_paused(self, rule: str) -> str:
        """Why a rule must not act; empty when it may."""
        state = self._states.get(rule)
        if state is None or not state.paused:
            return ""
        return f"{state.reason or 'switched off'} (by {state.paused_by})"

    @property
    def states(self) -> dict[str, InvariantState]:
        return self._states

    async def refresh(self) -> None:
        """Read all switches."""
        self._states = await self._ledger.invariants.all()
        self.known = True

    async def pause(self, rule: str, *, actor: str, reason: str) -> InvariantState:
        """Switch a rule off; it stays off over restarts."""
        require_rule(rule)
        state = await self._ledger.invariants.pause(rule, actor=actor, reason=reason, now=self._clock.now())
        self._states[rule] = state
        return state

    async def resume(self, rule: str, *, actor: str) -> InvariantState:
        """Switch a rule on again."""
        state = await self._ledger.invariants.resume(require_rule(rule), actor=actor, now=self._clock.now())
        self._states[rule] = state
        return state

    async def run(self) -> None:
        """Keep up until cancelled."""
        unlisten = self._ledger.listen(Channel.INVARIANT, self._wake)
        try:
            while True:
                self._changed.clear()
                try:
                    await self.refresh()
                except Unavailable:
                    pass  # the last known switches stay; without the ledger nothing destructive happens anyway
                try:
                    async with asyncio.timeout(REFRESH_SECONDS if self.known else RETRY_SECONDS):
                        await self._changed.wait()
                except TimeoutError:
                    continue
        finally:
            unlisten()

    def _wake(self, wake: Wake) -> None:
        self._changed.set()


def require_rule(rule: str) -> str:
    """The rule's id; `NotFound` when there is no such rule."""
    if rule not in INVARIANT_IDS:
        raise NotFound(f"there is no invariant {rule!r}", fix=f"one of {', '.join(sorted(INVARIANT_IDS))}")
    return rule
