"""Sessions of pages: a random id in a cookie, its hash and the identity in the ledger, for 12 hours.

A session ends with the token that it was made from, where that can be seen: a static token that is removed, or another
operator's token.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from hawser.clock import Clock, Entropy
from mooring.api.access.static_tokens import StaticTokens
from mooring.ledger.page_sessions import PageSession, Sessions
from mooring.model.errors import Unauthorized, Unavailable
from mooring.model.identity import OPERATOR, Identity

COOKIE = "mooring_session"
LIFE = timedelta(hours=12)
TRUSTED_SECONDS = 600.0  # while the ledger is away, a session that was seen within this time may read
MOST_KNOWN = 10_000
_BYTES = 32
_HEX_LENGTH = 2 * _BYTES


@dataclass(frozen=True, slots=True)
class _Seen:
    session: PageSession
    at: float


class PageSessions:
    """Makes, finds and ends sessions."""

    def __init__(
        self, ledger: Sessions, clock: Clock, entropy: Entropy, static: StaticTokens, operator_digest: str
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._entropy = entropy
        self._static = static
        self._operator_digest = operator_digest
        self._seen: OrderedDict[str, _Seen] = OrderedDict()

    async def create(self, identity: Identity, token_digest: str) -> str:
        """The id of a new session, for the browser alone."""
        session_id, now = self._entropy.token(_BYTES), self._clock.now()
        proof = token_digest if identity.via != "kubernetes" else ""
        await self._ledger.create(PageSession(_digest(session_id), identity, proof, now, now + LIFE))
        return session_id

    async def identify(self, session_id: str, before_asking: Callable[[], None], *, reading: bool) -> Identity | None:
        """Whose session it is; None if it does not exist or has ended."""
        if len(session_id) != _HEX_LENGTH:
            return None
        key = _digest(session_id)
        if key not in self._seen:
            before_asking()
        try:
            session = await self._ledger.find(key, now=self._clock.now())
        except Unavailable:
            session = self._recall(key) if reading else None
            if session is None:
                raise
        else:
            self._remember(key, session)
        return self._present(session) if session is not None else None

    async def end(self, session_id: str) -> None:
        """Log out."""
        key = _digest(session_id)
        self._seen.pop(key, None)
        await self._ledger.delete(key)

    def _present(self, session: PageSession) -> Identity | None:
        """The identity as its token stands now."""
        match session.identity.via:
            case "static":
                return self._static.identity_of(session.proof)
            case "operator":
                return OPERATOR if session.proof == self._operator_digest else None
        return session.identity

    def _remember(self, key: str, session: PageSession | None) -> None:
        self._seen.pop(key, None)
        if session is not None:
            self._seen[key] = _Seen(session, self._clock.monotonic())
            if len(self._seen) > MOST_KNOWN:
                self._seen.popitem(last=False)

    def _recall(self, key: str) -> PageSession | None:
        seen = self._seen.get(key)
        if seen is None or self._clock.monotonic() - seen.at > TRUSTED_SECONDS:
            return None
        return seen.session if seen.session.expires_at > self._clock.now() else None


def _digest(session_id: str) -> str:
    return hashlib.sha256(session_id.encode()).hexdigest()


def no_session() -> Unauthorized:
    """The error for a cookie without a session."""
    return Unauthorized("the session has ended", fix="log in again at /login")
