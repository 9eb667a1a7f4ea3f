"""The part of the ledger's interface that keeps signs of life."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Protocol


class Words(Protocol):
    """Signs of life, counted by speaker: the uid of a pod, a claim under an epoch, or a replica that writes words."""

    async def hear(self, speakers: Iterable[str], *, now: datetime) -> None:
        """Raise the count of every speaker by one. After a lost answer it may be repeated: a count only means newer."""
        ...

    async def counts(self, speakers: Iterable[str]) -> Mapping[str, int]:
        """The counts of these speakers; those that never spoke are left out."""
        ...

    async def forget(self, *, silent_since: datetime, limit: int = 1000) -> int:
        """Delete rows whose last word is older, at most so many; returns how many."""
        ...
