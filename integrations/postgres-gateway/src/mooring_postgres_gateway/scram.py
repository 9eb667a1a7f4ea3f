"""SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side, and the verifiers that PostgreSQL stores. No I/O."""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass

MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 4096
_VERIFIER = re.compile(r"SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)")
_FIRST = re.compile(r"(?P<header>[ny],(?:a=[^,]*)?,)(?P<bare>n=[^,]*,r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)(?:,.*)?)")
_FINAL = re.compile(r"(?P<unproved>c=(?P<binding>[^,]+),r=(?P<nonce>[^,]+)(?:,.*)?),p=(?P<proof>[^,]+)")


class WrongExchange(Exception):
    """The client's message is not one of SCRAM-SHA-256."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """What a server keeps of a password: enough to check it, too little to log in with it."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def encode(self) -> str:
        """As PostgreSQL writes it into `pg_authid`."""
        salt, stored, server = (base64.b64encode(raw).decode() for raw in (self.salt, self.stored_key, self.server_key))
        return f"{MECHANISM}${self.iterations}:{salt}${stored}:{server}"


def parse_verifier(text: str) -> Verifier:
    """From PostgreSQL's form; ValueError for any other."""
    found = _VERIFIER.fullmatch(text)
    if found is None:
        raise ValueError("a verifier has the form SCRAM-SHA-256$ITERATIONS:SALT$STORED_KEY:SERVER_KEY")
    salt, stored, server = (base64.b64decode(found[place], validate=True) for place in (2, 3, 4))
    if not 1 <= int(found[1]) <= 10_000_000 or not salt or len(stored) != 32 or len(server) != 32:
        raise ValueError("a verifier has 1 to 10,000,000 iterations, a salt, and two keys of 32 bytes")
    return Verifier(int(found[1]), salt, stored, server)


def make_verifier(password: str, salt: bytes) -> Verifier:
    """Of a password. Only printable ASCII: that is the same before and after SASLprep in every client."""
    if not password or not all(" " <= letter <= "~" for letter in password):
        raise ValueError("a password has at least one character, and only printable ASCII")
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ITERATIONS)
    client_key = _mac(salted, b"Client Key")
    return Verifier(ITERATIONS, salt, hashlib.sha256(client_key).digest(), _mac(salted, b"Server Key"))


def make_decoy(user: str, secret: bytes) -> Verifier:
    """For a user that does not exist: the exchange looks the same, and no password fits."""
    seed = _mac(secret, user.encode())
    return Verifier(ITERATIONS, seed[:16], _mac(seed, b"stored"), _mac(seed, b"server"))


class Exchange:
    """One authentication: `first` answers the client's first message, `final` checks its last one."""

    def __init__(self, verifier: Verifier, server_nonce: str) -> None:
        self._verifier = verifier
        self._server_nonce = server_nonce
        self._header = ""
        self._nonce = ""
        self._transcript = ""

    def first(self, data: bytes) -> bytes:
        """The server's first message: nonce, salt and iterations."""
        found = _FIRST.fullmatch(_text(data))
        if found is None:
            raise WrongExchange("malformed first message, or a channel binding that was not offered")
        self._header, self._nonce = found["header"], found["nonce"] + self._server_nonce
        salt = base64.b64encode(self._verifier.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._verifier.iterations}"
        self._transcript = f"{found['bare']},{answer}"
        return answer.encode()

    def final(self, data: bytes) -> bytes | None:
        """The server's last message; None if the password is wrong."""
        found = _FINAL.fullmatch(_text(data))
        if found is None:
            raise WrongExchange("malformed final message")
        if found["nonce"] != self._nonce or _decode(found["binding"]) != self._header.encode():
            raise WrongExchange("the final message belongs to another exchange")
        transcript = f"{self._transcript},{found['unproved']}".encode()
        signature = _mac(self._verifier.stored_key, transcript)
        proof = _decode(found["proof"])
        if len(proof) != len(signature):
            raise WrongExchange("malformed proof")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        if not hmac.compare_digest(hashlib.sha256(client_key).digest(), self._verifier.stored_key):
            return None
        return b"v=" + base64.b64encode(_mac(self._verifier.server_key, transcript))


def _mac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise WrongExchange("the message is not UTF-8") from error


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise WrongExchange("a field is not base64") from error
