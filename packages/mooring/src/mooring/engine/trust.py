"""Which incarnation of the ledger a replica believes: the one it began with, or a later one that somebody armed."""

from mooring.ledger.identity import Meta
from mooring.model.errors import Unavailable


class LedgerTrust:
    """Incarnations that begin after a restore are unarmed; armed later, they were declared complete by a person.

    Only the leader looks, and a person may arm the ledger between two looks. So the history of the ledger counts too.
    Another database altogether is believed only after a restart.
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
