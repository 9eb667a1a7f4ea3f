"""The kill switches, as last read from the ledger. All replicas obey the same ones."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from hawser.clock import Clock
from mooring.engine.containment import contained
from mooring.ledger.port import Ledger
from mooring.ledger.records import Channel, InvariantState, Wake
from mooring.model.errors import NotFound, Unavailable
from mooring.model.invariant import INVARIANT_IDS

REFRESH_SECONDS = 30.0
RETRY_SECONDS = 1.0


class Switches:
    """Paused or not, and by whom. The ledger notifies it when a switch is flipped on any replica."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._states: dict[str, InvariantState] = {}
        self.known = False  # whether they were ever read; until then nothing may act
        self._listeners: list[Callable[[str], None]] = []
        self._changed = asyncio.Event()

    def why_paused(self, invariant: str) -> str:
        """Why an invariant must not act; empty when it may."""
        state = self._states.get(invariant)
        if state is None or not state.paused:
            return ""
        return f"{state.reason or 'switched off'} (by {state.paused_by})"

    @property
    def states(self) -> dict[str, InvariantState]:
        return self._states

    async def refresh(self) -> None:
        """Read all switches."""
        before, self._states = self._states, await self._ledger.invariants.all()
        self.known = True
        for invariant in before.keys() | self._states.keys():
            if _paused(before.get(invariant)) != _paused(self._states.get(invariant)):
                self._notify(invariant)

    async def pause(self, invariant: str, *, actor: str, reason: str) -> InvariantState:
        """Switch an invariant off; it stays off over restarts."""
        require_invariant(invariant)
        state = await self._ledger.invariants.pause(invariant, actor=actor, reason=reason, now=self._clock.now())
        self._states[invariant] = state
        self._notify(invariant)
        return state

    async def resume(self, invariant: str, *, actor: str) -> InvariantState:
        """Switch an invariant on again."""
        state = await self._ledger.invariants.resume(require_invariant(invariant), actor=actor, now=self._clock.now())
        self._states[invariant] = state
        self._notify(invariant)
        return state

    def on_flip(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the id of every invariant that is paused or resumed, by any replica."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """Keep up until cancelled."""
        unlisten = self._ledger.listen(Channel.INVARIANT, self._wake)
        try:
            while True:
                self._changed.clear()
                with contained("switches"), suppress(Unavailable):
                    # The last known switches stay; without the ledger nothing destructive happens anyway.
                    await self.refresh()
                try:
                    async with asyncio.timeout(REFRESH_SECONDS if self.known else RETRY_SECONDS):
                        await self._changed.wait()
                except TimeoutError:
                    continue
        finally:
            unlisten()

    def _wake(self, wake: Wake) -> None:
        self._changed.set()

    def _notify(self, invariant: str) -> None:
        for listener in self._listeners:
            listener(invariant)


def _paused(state: InvariantState | None) -> bool:
    return state is not None and state.paused


def require_invariant(invariant: str) -> str:
    """The id itself; `NotFound` when there is no such invariant."""
    if invariant not in INVARIANT_IDS:
        raise NotFound(f"there is no invariant {invariant!r}", fix=f"one of {', '.join(sorted(INVARIANT_IDS))}")
    return invariant
