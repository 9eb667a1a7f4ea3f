"""The part of the ledger's interface that keeps sessions of pages."""

from datetime import datetime
from typing import Protocol

import msgspec

from mooring.model.identity import Identity


class PageSession(msgspec.Struct, frozen=True):
    """A login. Its id is known to the browser alone; `proof` names the token that it was made from."""

    id_hash: str
    identity: Identity
    proof: str
    created_at: datetime
    expires_at: datetime


class Sessions(Protocol):
    """Sessions by the hash of their id."""

    async def create(self, new: PageSession) -> None:
        """Keep a session. It may be repeated after a lost answer."""
        ...

    async def find(self, id_hash: str, *, now: datetime) -> PageSession | None:
        """The session, unless it has expired."""
        ...

    async def delete(self, id_hash: str) -> None:
        """End a session; one that does not exist stays so."""
        ...

    async def prune(self, *, now: datetime, limit: int = 1000) -> int:
        """Delete expired sessions; returns how many."""
        ...
