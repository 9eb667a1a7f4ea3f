"""SCRAM, verifiers, proofs of claims, and the directory."""

import base64
import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from mooring_postgres_gateway.directory import parse_entries
from mooring_postgres_gateway.proof import HeldWorker, encode_public_key, parse_public_key, verify
from mooring_postgres_gateway.scram import Exchange, WrongExchange, make_decoy, make_verifier, parse_verifier

KEY = Ed25519PrivateKey.generate()
PUBLIC = parse_public_key(encode_public_key(KEY))


def client_final(password: str, first: bytes, nonce: str = "abc") -> bytes:
    """What a client that knows the password answers."""
    server = first.decode()
    fields = dict(part.split("=", 1) for part in server.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    unproved = f"c=biws,r={fields['r']}"
    transcript = f"n=,r={nonce},{server},{unproved}".encode()
    signature = hmac.digest(hashlib.sha256(client_key).digest(), transcript, "sha256")
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return f"{unproved},p={base64.b64encode(proof).decode()}".encode()


@pytest.mark.parametrize("password, right", [("secret", True), ("Secret", False), ("", False)])
def test_only_the_password_of_the_verifier_is_accepted(password, right):
    exchange = Exchange(parse_verifier(make_verifier("secret", b"salt").encode()), "def")
    first = exchange.first(b"n,,n=,r=abc")
    assert first.startswith(b"r=abcdef,")
    answer = exchange.final(client_final(password, first))
    assert (answer is not None and answer.startswith(b"v=")) == right


def test_no_password_fits_the_decoy_of_an_unknown_user():
    exchange = Exchange(make_decoy("nobody", b"secret"), "def")
    assert exchange.final(client_final("", exchange.first(b"n,,n=,r=abc"))) is None
    assert make_decoy("nobody", b"secret") == make_decoy("nobody", b"secret")


@given(st.binary(max_size=80))
def test_malformed_messages_are_refused(data):
    exchange = Exchange(make_decoy("x", b"y"), "def")
    with pytest.raises(WrongExchange):
        exchange.final(data)


def test_a_channel_binding_that_was_not_offered_is_refused():
    with pytest.raises(WrongExchange):
        Exchange(make_decoy("x", b"y"), "def").first(b"p=tls-server-end-point,,n=,r=abc")


def test_a_verifier_of_postgresql_is_read():
    text = (
        "SCRAM-SHA-256$4096:"
        + base64.b64encode(b"s" * 16).decode()
        + "$"
        + ":".join(base64.b64encode(letter * 32).decode() for letter in (b"a", b"b"))
    )
    assert parse_verifier(text).encode() == text


@pytest.mark.parametrize("text", ["", "md5abc", "SCRAM-SHA-256$0:c2FsdA==$YQ==:Yg==", "SCRAM-SHA-256$x:y$z:w"])
def test_other_verifiers_are_refused(text):
    with pytest.raises(ValueError):
        parse_verifier(text)


def test_a_proof_holds_for_its_claim_epoch_and_worker_only():
    signed = HeldWorker("claim-1", 7, "uid-1").sign(KEY)
    assert verify(signed, "uid-1", PUBLIC) == HeldWorker("claim-1", 7, "uid-1")
    assert verify(signed, "uid-2", PUBLIC) is None
    assert verify({**signed, "mooring.epoch": "8"}, "uid-1", PUBLIC) is None
    assert verify({**signed, "mooring.claim": "claim-2"}, "uid-1", PUBLIC) is None
    assert verify({**signed, "mooring.proof": "!"}, "uid-1", PUBLIC) is None
    assert verify({}, "uid-1", PUBLIC) is None
    assert verify(signed, "uid-1", Ed25519PrivateKey.generate().public_key()) is None


@pytest.mark.parametrize(
    "text, named",
    [
        ('[databases.a]\npool = "x"\nowner = "o"', "databases.a.pool"),
        ('[databases.a]\npool = "x/y"\nowner = ""', "databases.a.owner"),
        ('[databases.a]\npool = "x/y"\nowner = "o"\nusers = ["b"]', "databases.a.users"),
        ('[databases.a]\npool = "x/y"\nowner = "o"\nmax_sessions = 0', "databases.a.max_sessions"),
        ('[databases.a]\npool = "x/y"\nowner = "o"\nidle_secs = 1', "idle_secs"),
        ('[users.a]\nverifier = "x"', "users.a.verifier"),
    ],
)
def test_a_wrong_field_of_the_directory_is_named(text, named):
    with pytest.raises(ValueError, match=named):
        parse_entries(text.encode())
