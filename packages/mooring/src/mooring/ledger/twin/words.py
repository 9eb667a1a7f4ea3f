"""Words of workers in memory."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from mooring.ledger.twin.session import Session


class MemoryWords:
    """Implements `Words`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def hear(self, speakers: Iterable[str], *, now: datetime) -> None:
        store = await self._session.turn()
        for speaker in set(speakers):
            count, heard_at = store.words.get(speaker, (0, now))
            store.words[speaker] = (count + 1, max(heard_at, now))

    async def counts(self, speakers: Iterable[str]) -> Mapping[str, int]:
        store = await self._session.turn()
        return {speaker: store.words[speaker][0] for speaker in speakers if speaker in store.words}

    async def forget(self, *, silent_since: datetime, limit: int = 1000) -> int:
        store = await self._session.turn()
        silent = [speaker for speaker, (_, heard_at) in store.words.items() if heard_at < silent_since][:limit]
        for speaker in silent:
            del store.words[speaker]
        return len(silent)
