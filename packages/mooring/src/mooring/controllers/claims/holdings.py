"""Whose a claim is, and where: facts that never change, kept so that a heartbeat needs no second read."""

from collections import OrderedDict

import msgspec

from mooring.ledger.port import Ledger
from mooring.model.claim import Claim

MOST_KNOWN = 50_000


class Holding(msgspec.Struct, frozen=True, gc=False):
    """Where a claim was made, for whom, and by whom."""

    namespace: str
    pool: str
    owner: str
    holder: str


class Holdings:
    """The holdings of claims that this replica has seen lately."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: OrderedDict[str, Holding] = OrderedDict()  # the least recently learned first

    def learn(self, claim: Claim) -> Holding:
        """Remember a claim that was read or made."""
        holding = self._known.get(claim.id)
        if holding is None:
            holding = self._known[claim.id] = Holding(claim.namespace, claim.pool, claim.owner, claim.holder)
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        return holding

    async def of(self, claim_id: str) -> Holding | None:
        """The holding of the claim with this full id; None if there is no such claim."""
        known = self._known.get(claim_id)
        if known is not None:
            return known
        claim = await self._ledger.claims.get(claim_id)
        return self.learn(claim) if claim is not None else None
