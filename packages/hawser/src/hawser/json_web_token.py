"""What a JSON web token says of itself. Nothing here is proof: only the API server verifies signatures.

It is read before a TokenReview, so that tokens that cannot be valid cost the API server nothing.
"""

import base64
import binascii
from datetime import datetime

import msgspec

MOST_TOKEN_BYTES = 8 * 1024
_SEGMENTS = 3


class _Claims(msgspec.Struct, frozen=True):
    aud: str | list[str] = ""
    exp: float = 0.0


def find_fault(token: str, audience: str, now: datetime) -> str:
    """Why the token cannot be valid for the audience now; empty if it may be."""
    if len(token) > MOST_TOKEN_BYTES:
        return f"it has more than {MOST_TOKEN_BYTES} characters"
    claims = _read(token)
    if claims is None:
        return "it is not a JSON web token"
    audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    if audience not in audiences:
        return f"its audience is not {audience}"
    if claims.exp <= now.timestamp():
        return "it has expired"
    return ""


def expiry_of(token: str) -> float:
    """When it expires, in seconds since 1970; 0 if it does not say."""
    claims = _read(token)
    return claims.exp if claims is not None else 0.0


def _read(token: str) -> _Claims | None:
    segments = token.split(".")
    if len(segments) != _SEGMENTS or not all(segments) or not token.isascii():
        return None
    try:
        decoded = [base64.b64decode(part + "=" * (-len(part) % 4), b"-_", validate=True) for part in segments]
        return msgspec.json.decode(decoded[1], type=_Claims)
    except (binascii.Error, ValueError, RecursionError):
        return None
