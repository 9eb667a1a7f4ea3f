"""TokenReviews with a memory: one request for a token, however often and however many at once ask.

Valid answers are kept for a minute and never past the token's expiry, others for a few seconds. Tokens that cannot be
valid by what they say of themselves are refused without a request. Tokens are remembered by their hash.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from hawser.clock import Clock
from hawser.json_web_token import expiry_of, find_fault
from hawser.reviewing import Reviewing
from hawser.reviews import TokenReviewResult
from hawser.shared_requests import SharedRequests

VALID_SECONDS = 60.0
INVALID_SECONDS = 10.0
MOST_TOKENS = 10_000


@dataclass(frozen=True, slots=True)
class _Known:
    result: TokenReviewResult
    until: float  # on the monotonic clock
    expires_at: float  # in seconds since 1970


class TokenReviews:
    """Reviews tokens for one audience."""

    def __init__(self, client: Reviewing, clock: Clock, audience: str) -> None:
        self._client = client
        self._clock = clock
        self.audience = audience
        self._known: OrderedDict[bytes, _Known] = OrderedDict()  # the least recently used first
        self._requests: SharedRequests[bytes, TokenReviewResult] = SharedRequests()

    async def review(self, token: str, before_asking: Callable[[], None] = lambda: None) -> TokenReviewResult:
        """Whose token it is. Not `authenticated` unless the API server confirms this audience; `error` says why.

        `before_asking` may raise, to refuse a request to the API server.
        """
        key = hashlib.sha256(token.encode()).digest()
        known = self._recall(key)
        if known is not None:
            return known
        if fault := find_fault(token, self.audience, self._clock.now()):
            return TokenReviewResult(error=fault)
        before_asking()
        return await self._requests.ask(key, lambda: self._ask(key, token))

    def _recall(self, key: bytes) -> TokenReviewResult | None:
        known = self._known.get(key)
        if known is None:
            return None
        if known.until <= self._clock.monotonic() or known.expires_at <= self._clock.now().timestamp():
            del self._known[key]
            return None
        self._known.move_to_end(key)
        return known.result

    async def _ask(self, key: bytes, token: str) -> TokenReviewResult:
        result = await self._client.review_token(token, [self.audience])
        # An API server that knows no audiences authenticates every token of its own: its answer must name ours.
        if not result.authenticated or self.audience not in result.audiences:
            result = TokenReviewResult(error=result.error or f"the API server does not confirm {self.audience}")
        seconds = VALID_SECONDS if result.authenticated else INVALID_SECONDS
        self._known[key] = _Known(result, self._clock.monotonic() + seconds, expiry_of(token))
        while len(self._known) > MOST_TOKENS:
            self._known.popitem(last=False)
        return result
