"""Service account tokens: signed, bound to an account and perhaps to a pod, for an audience and a time."""

import base64
import binascii
import hashlib
import hmac
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from drydock.api.kinds.kind import Object
from hawser.clock import Clock, Entropy

ISSUER = "https://kubernetes.default.svc"
_KEY_FILE = "service-account.key"


class Bound(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that must still exist, under the same uid, for a token to be good."""

    name: str
    uid: str = ""


class Binding(msgspec.Struct, frozen=True, omit_defaults=True):
    """The claim that Kubernetes puts into its tokens."""

    namespace: str
    serviceaccount: Bound
    pod: Bound | None = None
    node: Bound | None = None


class Claims(msgspec.Struct, frozen=True, rename={"binding": "kubernetes.io"}):
    """What a token says."""

    aud: list[str]
    exp: int
    iat: int
    iss: str
    jti: str
    nbf: int
    sub: str
    binding: Binding


@dataclass(frozen=True, slots=True)
class Issued:
    """A fresh token and the moment it ends."""

    token: str
    expires: datetime


class TokenSigner:
    """Signs and reads tokens with one key. With `for_pods` every pod gets the token of its account by itself."""

    def __init__(self, key: bytes, clock: Clock, entropy: Entropy, *, for_pods: bool = False) -> None:
        self.for_pods = for_pods
        self._key = key
        self._clock = clock
        self._entropy = entropy
        self._read: dict[str, Claims] = {}

    def issue(self, account: Object, audiences: list[str], seconds: int, pod: Object | None) -> Issued:
        """A token for the account, good for `seconds`."""
        now = self._clock.now()
        metadata = account["metadata"]
        expires = now + timedelta(seconds=seconds)
        claims = Claims(
            aud=audiences,
            exp=int(expires.timestamp()),
            iat=int(now.timestamp()),
            iss=ISSUER,
            jti=self._entropy.uuid(),
            nbf=int(now.timestamp()),
            sub=f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}",
            binding=_binding(metadata, pod),
        )
        head = _encode(msgspec.json.encode({"alg": "HS256", "kid": "drydock", "typ": "JWT"}))
        signed = f"{head}.{_encode(msgspec.json.encode(claims))}"
        return Issued(f"{signed}.{_encode(self._signature(signed))}", expires)

    def read(self, token: str) -> Claims | None:
        """What a token of ours says, whether it is still good or not; None for anything else."""
        known = self._read.get(token)
        if known is not None:
            return known
        signed, _, signature = token.rpartition(".")
        _, _, payload = signed.partition(".")
        try:
            if not hmac.compare_digest(_decode(signature), self._signature(signed)):
                return None
            claims = msgspec.json.decode(_decode(payload), type=Claims)
        except (binascii.Error, ValueError, msgspec.DecodeError):
            return None
        if len(self._read) >= 10_000:
            self._read.clear()
        self._read[token] = claims
        return claims

    def _signature(self, signed: str) -> bytes:
        return hmac.new(self._key, signed.encode(), hashlib.sha256).digest()


def load_key(folder: Path | None, entropy: Entropy) -> bytes:
    """The signing key of a state folder, made on first use; a passing one without a folder."""
    if folder is None:
        return bytes.fromhex(entropy.token())
    path = folder / _KEY_FILE
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as target:
            target.write(entropy.token().encode())
        os.replace(fresh, path)
    return bytes.fromhex(path.read_text())


def _binding(account: Object, pod: Object | None) -> Binding:
    bound = Bound(account["name"], account["uid"])
    if pod is None:
        return Binding(account["namespace"], bound)
    node = pod["spec"].get("nodeName", "")
    return Binding(
        account["namespace"],
        bound,
        pod=Bound(pod["metadata"]["name"], pod["metadata"]["uid"]),
        node=Bound(node) if node else None,
    )


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
