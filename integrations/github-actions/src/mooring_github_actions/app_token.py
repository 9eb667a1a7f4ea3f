"""How a GitHub App proves who it is: a JWT signed with its key (RS256), which buys a token of an installation."""

import base64
import json
from datetime import datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from mooring.model.errors import InvalidInput

# GitHub refuses a JWT from the future and one that lasts longer than ten minutes; clocks differ.
SKEW = timedelta(seconds=60)
LIFE = timedelta(minutes=9)


class AppKey:
    """The private key of the App. Never shown."""

    def __init__(self, app_id: str, pem: bytes) -> None:
        try:
            key = load_pem_private_key(pem, password=None)
        except (ValueError, TypeError) as error:
            raise InvalidInput("private key", "...", "PEM of an RSA key, as GitHub gives it") from error
        if not isinstance(key, RSAPrivateKey):
            raise InvalidInput("private key", "...", "an RSA key, as GitHub gives it")
        self._app_id = app_id
        self._key = key

    def sign(self, now: datetime) -> str:
        """A JWT for the routes of the App."""
        claims = {
            "iat": int((now - SKEW).timestamp()),
            "exp": int((now - SKEW + LIFE).timestamp()),
            "iss": self._app_id,
        }
        signed = f"{_encode({'alg': 'RS256', 'typ': 'JWT'})}.{_encode(claims)}"
        signature = self._key.sign(signed.encode(), PKCS1v15(), SHA256())
        return f"{signed}.{_base64(signature)}"


def _encode(part: dict[str, object]) -> str:
    return _base64(json.dumps(part, separators=(",", ":")).encode())


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
