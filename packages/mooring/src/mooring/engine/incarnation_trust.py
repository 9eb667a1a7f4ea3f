"""Which incarnation of the ledger a replica trusts: the one it started with, or a later one that an operator armed."""

from mooring.ledger.identity import Meta
from mooring.model.errors import Unavailable


class IncarnationTrust:
    """An incarnation that begins after a restore is unarmed until an operator declares it complete.

    Only the leader looks, and an operator may arm the ledger between two looks: so its history counts too.
    Another database is trusted only after a restart.
    """

    def __init__(self, incarnation: str, meta: Meta) -> None:
        self._expected = incarnation
        self._meta = meta
        self._unarmed: set[str] = set()

    async def expect(self, incarnation: str, armed: bool) -> str:
        """What the rails have to compare with, after a look at the ledger as it is now."""
        if not armed:
            self._unarmed.add(incarnation)
        elif incarnation != self._expected and await self._is_later(incarnation):
            self._expected = incarnation
        return self._expected

    async def _is_later(self, incarnation: str) -> bool:
        if incarnation in self._unarmed:  # also if the backup is older than the incarnation that was believed
            return True
        try:
            return await self._meta.succeeds(incarnation, self._expected)
        except Unavailable:
            return False  # not known yet: the next look asks again
