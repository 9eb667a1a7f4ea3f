"""Kill switches and counters of the invariants in memory."""

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from mooring.ledger.records import Channel, InvariantCheck, InvariantState
from mooring.ledger.twin.session import Session
from mooring.ledger.twin.store import MemoryStore, as_json


class MemoryInvariants:
    """Implements `Invariants`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def all(self) -> dict[str, InvariantState]:
        return dict(sorted((await self._session.turn()).invariants.items()))

    async def pause(self, invariant: str, *, actor: str, reason: str, now: datetime) -> InvariantState:
        store = await self._session.turn()
        state = store.invariants.get(invariant, InvariantState(id=invariant))
        since = state.paused_since or now
        return _switch(store, replace(state, paused=True, paused_by=actor, reason=reason, paused_since=since))

    async def resume(self, invariant: str, *, actor: str, now: datetime) -> InvariantState:
        store = await self._session.turn()
        state = store.invariants.get(invariant, InvariantState(id=invariant))
        return _switch(store, replace(state, paused=False, paused_by=actor, reason="", paused_since=None))

    async def record(self, checks: Iterable[InvariantCheck]) -> None:
        store = await self._session.turn()
        for check in checks:
            state = store.invariants.get(check.id, InvariantState(id=check.id))
            stands = (state.broken > 0) == (check.broken > 0) and state.verdict_since is not None
            store.invariants[check.id] = replace(
                state,
                checked_at=max(state.checked_at or check.at, check.at),
                broken=check.broken,
                verdict_since=state.verdict_since if stands else check.at,
                found=state.found + check.found,
                healed=state.healed + len(check.healed),
                heal_seconds=state.heal_seconds + sum(check.healed),
                last_heal_seconds=check.healed[-1] if check.healed else state.last_heal_seconds,
                evidence=state.evidence if check.evidence is None else as_json(check.evidence),
            )


def _switch(store: MemoryStore, state: InvariantState) -> InvariantState:
    store.invariants[state.id] = state
    store.notify(Channel.INVARIANT, state.id)
    return state
