"""Revoking what a mint made: the intent before the mint is called, the call after the claim has ended.

Any replica does it: a try is reserved in the ledger before it is made. Tries are bounded; the audit row of a claim says
how they ended.
"""

import asyncio
from datetime import timedelta

import msgspec
import structlog

from mooring.controllers.claims.mint import Minter, MintFailed, shown_url
from mooring.controllers.fleet import Fleet
from mooring.engine.containment import contained
from mooring.engine.context import Context
from mooring.ledger.records import Revocation
from mooring.model.audit import AuditEntry, AuditOutcome, Subject
from mooring.model.claim import Claim
from mooring.model.errors import Unavailable
from mooring.model.pool import Mint, Pool

log = structlog.get_logger()

LOOK_SECONDS = 5.0
MOST_TRIES = 20
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 600.0
_RESERVED_SECONDS = 150.0  # more than the longest timeout of a mint


class MintRevocations:
    """Calls `revokeURL` for claims that have ended."""

    def __init__(self, context: Context, fleet: Fleet, minter: Minter) -> None:
        self._ledger = context.ledger
        self._clock = context.clock
        self._replica_id = context.replica_id
        self._fleet = fleet
        self._minter = minter

    async def intend(self, pool: Pool, claim: Claim) -> None:
        """Before the mint is called: from now on a crash may leave credentials behind."""
        mint = pool.spec.mint
        if mint is not None and mint.revoke_url:
            await self._ledger.revocations.intend(
                Revocation(
                    claim_id=claim.id,
                    namespace=claim.namespace,
                    pool=claim.pool,
                    mint=msgspec.to_builtins(mint),
                    next_at=self._clock.now(),
                )
            )

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            with contained("mint-revocations"):
                try:
                    while await self._revoke_due():
                        pass
                except Unavailable as error:
                    log.warning("credentials are revoked later", error=error.message)
            await self._clock.sleep(LOOK_SECONDS)

    async def _revoke_due(self) -> bool:
        """One batch; False when nothing was due."""
        now = self._clock.now()
        due = await self._ledger.revocations.take(now=now, until=now + timedelta(seconds=_RESERVED_SECONDS))
        results = await asyncio.gather(*(self._revoke(one) for one in due), return_exceptions=True)
        for one, result in zip(due, results, strict=True):
            if isinstance(result, Unavailable) or (result is not None and not isinstance(result, Exception)):
                raise result
            with contained("mint-revocations", claim=one.claim_id):
                if result is not None:
                    raise result
        return bool(due)

    async def _revoke(self, one: Revocation) -> None:
        claim = await self._ledger.claims.get(one.claim_id)
        entry = self._entry(one, claim)
        await self._ledger.audit.begin(entry)
        error = "its claim was forgotten" if claim is None else ""
        if claim is not None and one.tries <= MOST_TRIES:
            try:
                await self._minter.revoke(self._mint(one), claim)
            except MintFailed as failure:
                error = failure.message
                if one.tries < MOST_TRIES:
                    log.warning("credentials could not be revoked", claim=one.claim_id, tries=one.tries, error=error)
                    await self._ledger.revocations.postpone(one.claim_id, next_at=self._clock.now() + _pause(one.tries))
                    return
        given_up = bool(error) or one.tries > MOST_TRIES
        outcome = AuditOutcome.FAILED if given_up else AuditOutcome.DONE
        text = f"given up after {one.tries} tries: {error or 'no try was completed'}" if given_up else ""
        await self._ledger.audit.complete(entry.id, outcome, now=self._clock.now(), error=text)
        await self._ledger.revocations.settle(one.claim_id)

    def _mint(self, one: Revocation) -> Mint:
        """The pool's, which may have been corrected since; else the one that was called."""
        pool = self._fleet.pool(f"{one.namespace}/{one.pool}")
        if pool is not None and pool.spec.mint is not None and pool.spec.mint.revoke_url:
            return pool.spec.mint
        return msgspec.convert(one.mint, Mint)

    def _entry(self, one: Revocation, claim: Claim | None) -> AuditEntry:
        cause = claim.cause.value if claim is not None and claim.cause is not None else "unknown"
        return AuditEntry(
            id=f"revoke/{one.claim_id}",
            at=self._clock.now(),
            actor=f"claim/{one.claim_id}",
            replica=self._replica_id,
            action="revoke",
            subject=Subject("Claim", one.namespace, one.claim_id, one.claim_id),
            reason=f"its claim has ended ({cause}), and the pool's mint has a revokeURL",
            evidence={
                "pool": f"{one.namespace}/{one.pool}",
                "url": shown_url(self._mint(one).revoke_url),
                "attempt": claim.attempt if claim is not None else None,
                "worker": (claim.pod_name or "") if claim is not None else "",
            },
        )


def _pause(tries: int) -> timedelta:
    return timedelta(seconds=min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (tries - 1)))
