"""Who may call: webhooks, mint calls, and the tokens of the App."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mooring.model.errors import InvalidInput
from mooring_github_actions.app_token import AppKey
from mooring_github_actions.signatures import verify_bearer, verify_hmac, verify_webhook

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = rsa.generate_private_key(65537, 2048)


def test_the_example_of_githubs_documentation_is_verified() -> None:
    signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert verify_webhook(b"It's a Secret to Everybody", signature, b"Hello, World!")


@pytest.mark.parametrize(
    "signature", ["", "sha256=", "sha1=757107ea", "757107ea0eb2", "sha256=ü", "sha256=" + "0" * 64]
)
def test_any_other_signature_is_refused(signature: str) -> None:
    assert not verify_webhook(b"It's a Secret to Everybody", signature, b"Hello, World!")


def mint_headers(at: datetime, body: bytes, key: bytes = b"key") -> dict[str, str]:
    stamp = str(int(at.timestamp()))
    digest = hmac.new(key, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return {"Mooring-Timestamp": stamp, "Mooring-Signature": f"sha256={digest}"}


def test_a_mint_call_is_accepted_for_five_minutes() -> None:
    assert verify_hmac(b"key", mint_headers(NOW, b"{}"), b"{}", NOW + timedelta(seconds=300))
    assert not verify_hmac(b"key", mint_headers(NOW, b"{}"), b"{}", NOW + timedelta(seconds=301))
    assert not verify_hmac(b"key", mint_headers(NOW, b"{}"), b"{ }", NOW)
    assert not verify_hmac(b"other", mint_headers(NOW, b"{}"), b"{}", NOW)
    assert not verify_hmac(b"key", {}, b"{}", NOW)


def test_a_timestamp_that_is_no_number_is_refused_though_it_is_signed() -> None:
    digest = hmac.new(b"key", b"x.{}", hashlib.sha256).hexdigest()
    headers = {"Mooring-Timestamp": "x", "Mooring-Signature": f"sha256={digest}"}
    assert not verify_hmac(b"key", headers, b"{}", NOW)


def test_a_bearer_token_is_compared_as_a_whole() -> None:
    assert verify_bearer("token", {"Authorization": "Bearer token"})
    assert not verify_bearer("token", {"Authorization": "Bearer toke"})
    assert not verify_bearer("token", {})


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


def test_the_jwt_of_the_app_is_signed_and_lasts_less_than_ten_minutes() -> None:
    head, claims, signature = AppKey("12345", pem(KEY)).sign(NOW).split(".")
    raw = [base64.urlsafe_b64decode(part + "==") for part in (head, claims, signature)]
    KEY.public_key().verify(raw[2], f"{head}.{claims}".encode(), padding.PKCS1v15(), SHA256())
    assert json.loads(raw[0])["alg"] == "RS256"
    found = json.loads(raw[1])
    assert found["iss"] == "12345"
    assert found["iat"] <= NOW.timestamp() < found["exp"] <= found["iat"] + 600


def test_a_key_that_is_not_rsa_is_refused_without_showing_it() -> None:
    for wrong in (b"", b"no pem", pem(ec.generate_private_key(ec.SECP256R1()))):
        with pytest.raises(InvalidInput, match="private key"):
            AppKey("12345", wrong)
