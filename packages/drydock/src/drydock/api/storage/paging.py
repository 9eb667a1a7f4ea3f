"""Continue tokens: where the next page of a list starts, and of which state of the world it is a page."""

import base64
import binascii
from dataclasses import dataclass

import msgspec

from drydock.api.answers.status import Refusal

LATEST = -1  # a token that goes on at the newest state, at the price of consistency

_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without"
    " the continue parameter, or use the continue token in this response to retrieve the remainder of the results."
    " Continuing with the provided token results in an inconsistent list - objects that were created, modified, or"
    " deleted between the time the first chunk was returned and now may show up in the list."
)


class _Token(msgspec.Struct, frozen=True):
    v: str
    rv: int
    start: str


@dataclass(frozen=True, slots=True)
class Continuation:
    """A list goes on behind `after`, a key relative to the list's own prefix, at `version`."""

    version: int
    after: str

    def encode(self) -> str:
        raw = msgspec.json.encode(_Token("meta.k8s.io/v1", self.version, self.after + "\0"))
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class ContinuationExpired(Refusal):
    """410 with a token that goes on, inconsistently, at the newest state."""

    def __init__(self, after: str) -> None:
        super().__init__(410, "Expired", _INCONSISTENT)
        self._next = Continuation(LATEST, after)

    def body(self) -> dict[str, object]:
        return {**super().body(), "metadata": {"continue": self._next.encode()}}


def decode_continuation(text: str) -> Continuation:
    """The token of a `continue` parameter; 400 when it is none of ours."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        token = msgspec.json.decode(raw, type=_Token)
    except (binascii.Error, ValueError, msgspec.DecodeError) as error:
        raise Refusal(400, "BadRequest", f"invalid continue token: continue key is not valid: {error}") from error
    if token.v != "meta.k8s.io/v1" or token.rv == 0 or not token.start:
        raise Refusal(
            400, "BadRequest", "invalid continue token: continue key is not valid: incorrect encoded start key"
        )
    return Continuation(token.rv, token.start.removesuffix("\0"))
