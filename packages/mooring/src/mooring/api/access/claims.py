"""Who may do what with a claim: its holder, or who may read or end claims of its pool."""

from typing import Protocol

from mooring.api.access.acts import CLAIM_FOR_OTHERS, END_CLAIM, READ_POOL
from mooring.api.access.authorization import Authorization
from mooring.model.claim import Claim
from mooring.model.claim_request import unknown_claim
from mooring.model.errors import Forbidden, InvalidInput
from mooring.model.identity import Identity, holds, owner_of


class _Holding(Protocol):
    @property
    def namespace(self) -> str: ...

    @property
    def pool(self) -> str: ...

    @property
    def owner(self) -> str: ...

    @property
    def holder(self) -> str: ...


class _Holdings(Protocol):
    def learn(self, claim: Claim) -> _Holding: ...

    async def of(self, claim_id: str) -> _Holding | None: ...


class _Claims(Protocol):
    async def find(self, claim_id: str) -> Claim: ...

    async def find_by_key(self, namespace: str, pool: str, key: str) -> Claim | None: ...


class ClaimAccess:
    """Answers for one claim at a time. A claim that a caller may not read does not exist for it."""

    def __init__(self, authorization: Authorization, holdings: _Holdings, claims: _Claims) -> None:
        self._authorization = authorization
        self._holdings = holdings
        self._claims = claims

    async def owner_for(self, identity: Identity, asked: str, namespace: str, pool: str) -> str:
        """The owner of a new claim: the caller, or another that it may claim for."""
        own = owner_of(identity)
        if asked in ("", own):
            return own
        await self._authorization.require(identity, CLAIM_FOR_OTHERS.access(namespace, pool))
        return asked

    def is_held(self, identity: Identity, claim: Claim) -> bool:
        """Whether the caller is its holder."""
        self._holdings.learn(claim)
        return holds(identity, claim.holder, claim.owner)

    async def find(self, identity: Identity, claim_id: str) -> Claim:
        """A claim that the caller may read, by its id or by a unique beginning of it."""
        try:
            claim = await self._claims.find(claim_id)
        except InvalidInput:  # it lists the ids that begin so
            if identity.is_operator:
                raise
            raise unknown_claim(claim_id) from None
        if not await self._sees(identity, claim):
            raise unknown_claim(claim_id)
        return claim

    async def find_by_key(self, identity: Identity, namespace: str, pool: str, key: str) -> Claim | None:
        """The claim that was made with a key, if the caller may read it."""
        claim = await self._claims.find_by_key(namespace, pool, key)
        return claim if claim is not None and await self._sees(identity, claim) else None

    async def require_holder(self, identity: Identity, claim_id: str) -> None:
        """Raise unless the caller holds the claim."""
        holding = await self._holdings.of(claim_id)
        if holding is None:
            raise unknown_claim(claim_id)
        if holds(identity, holding.holder, holding.owner):
            return
        if not await self._may_read(identity, holding):
            raise unknown_claim(claim_id)
        raise Forbidden(
            f"{identity.user} does not hold claim {claim_id}",
            fix="act with the token that made the claim; to end the claim of another, release it without an epoch",
        )

    async def find_to_end(self, identity: Identity, claim_id: str) -> Claim:
        """A claim that the caller may end."""
        claim = await self.find(identity, claim_id)
        if not self.is_held(identity, claim):
            await self._authorization.require(identity, END_CLAIM.access(claim.namespace, claim.pool))
        return claim

    async def _sees(self, identity: Identity, claim: Claim) -> bool:
        return self.is_held(identity, claim) or await self._may_read(identity, claim)

    async def _may_read(self, identity: Identity, claim: Claim | _Holding) -> bool:
        return await self._authorization.allows(identity, READ_POOL.access(claim.namespace, claim.pool))
