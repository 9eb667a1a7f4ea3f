"""How a mint knows that Mooring calls: a bearer token, or a signature over the time and the body.

The key is in a Secret of the pool's namespace. It is read by name when a mint is called, kept for a short time, and
never part of an error or a log line.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass

from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import KubeError, NotPermitted, ObjectNotFound
from hawser.resources import SECRETS
from mooring.model.errors import MooringError
from mooring.model.pool import MintAuth, SecretKey

KEPT_SECONDS = 30.0
TIMESTAMP, SIGNATURE = "Mooring-Timestamp", "Mooring-Signature"


class MintFailed(MooringError):
    """The mint refused, did not answer in time, or could not be called."""

    code = "mint_failed"


@dataclass(frozen=True, slots=True)
class _Known:
    value: bytes
    until: float


class MintKeys:
    """Reads keys, and makes the headers of a request from them."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._known: dict[tuple[str, str, str], _Known] = {}

    async def headers(self, namespace: str, auth: MintAuth | None, body: bytes) -> dict[str, str]:
        """The headers that authenticate this body. Raises `MintFailed` if the key cannot be read."""
        if auth is None:
            return {}
        if auth.bearer is not None:
            token = _token(await self._read(namespace, auth.bearer), namespace, auth.bearer)
            return {"Authorization": f"Bearer {token}"}
        if auth.hmac is not None:
            timestamp = str(int(self._clock.now().timestamp()))
            return {TIMESTAMP: timestamp, SIGNATURE: sign(await self._read(namespace, auth.hmac), timestamp, body)}
        raise MintFailed("spec.mint.auth names neither bearer nor hmac", fix="set one of them")

    def forget(self, namespace: str, auth: MintAuth | None) -> None:
        """The mint refused the key: it may have been replaced, so the next call reads it again."""
        for one in (auth.bearer, auth.hmac) if auth is not None else ():
            if one is not None:
                self._known.pop((namespace, one.secret_name, one.key), None)

    async def _read(self, namespace: str, which: SecretKey) -> bytes:
        place, now = (namespace, which.secret_name, which.key), self._clock.monotonic()
        known = self._known.get(place)
        if known is None or known.until <= now:
            known = self._known[place] = _Known(await self._fetch(namespace, which), now + KEPT_SECONDS)
        return known.value

    async def _fetch(self, namespace: str, which: SecretKey) -> bytes:
        name = f"Secret {namespace}/{which.secret_name}"
        try:
            found = await self._client.get(SECRETS.raw(), which.secret_name, namespace)
        except ObjectNotFound:
            raise MintFailed(f"{name} of the mint does not exist", fix="create it, or correct spec.mint.auth") from None
        except NotPermitted:
            raise MintFailed(
                f"Mooring may not read {name} of the mint", fix=f"allow 'get' on secrets/{which.secret_name}"
            ) from None
        except KubeError as error:
            raise MintFailed(f"{name} of the mint cannot be read: {error.message}", fix="ask again") from None
        try:
            value = base64.b64decode((found.get("data") or {}).get(which.key) or "", validate=True)
        except (binascii.Error, ValueError):
            value = b""
        if not value:
            raise MintFailed(f"{name} of the mint has no key {which.key!r}", fix="add it, or correct spec.mint.auth")
        return value


def sign(key: bytes, timestamp: str, body: bytes) -> str:
    """The signature header of a body that is sent at that time (seconds since 1970)."""
    return "sha256=" + hmac.new(key, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _token(value: bytes, namespace: str, which: SecretKey) -> str:
    """The token without surrounding white space. One that is not printable would break the header."""
    token = value.decode("ascii", "replace").strip()
    if not token or not all("!" <= character <= "~" for character in token):
        raise MintFailed(
            f"key {which.key!r} of Secret {namespace}/{which.secret_name} is not a bearer token",
            fix="use printable ASCII characters without spaces",
        )
    return token
