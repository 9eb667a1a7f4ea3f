"""The part of the ledger's interface that keeps signs of life."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Protocol


class Liveness(Protocol):
    """Signs of life, counted by sender: the uid of a pod, a claim under an epoch, or a replica that writes signs."""

    async def record(self, senders: Iterable[str], *, now: datetime) -> None:
        """Raise the count of every sender by one. It may be repeated after a lost answer: a count only means newer."""
        ...

    async def counts(self, senders: Iterable[str]) -> Mapping[str, int]:
        """The counts of these senders; those without a sign of life are left out."""
        ...

    async def forget(self, *, silent_since: datetime, limit: int = 1000) -> int:
        """Delete at most `limit` rows whose last sign is older; returns how many."""
        ...
