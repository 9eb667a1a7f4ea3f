"""How a worker knows that a connection comes from the holder of its claim.

The gateway signs claim, epoch and worker with a private key; workers have only the public one, so that a query that
reads files or variables of its worker finds no secret. A worker accepts each epoch once and only rising: a gateway
whose claim has passed to another is refused, and so is a repeated packet.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from mooring.model.errors import Misconfigured

_CLAIM, _EPOCH, _PROOF = "mooring.claim", "mooring.epoch", "mooring.proof"
PARAMETERS = frozenset({_CLAIM, _EPOCH, _PROOF})


@dataclass(frozen=True, slots=True)
class HeldWorker:
    """The claim under which a worker is used."""

    claim: str
    epoch: int
    worker_uid: str

    def _statement(self) -> bytes:
        return f"mooring-gateway-1\n{self.claim}\n{self.epoch}\n{self.worker_uid}".encode()

    def sign(self, key: Ed25519PrivateKey) -> dict[str, str]:
        """Start-up parameters for the worker."""
        proof = base64.b64encode(key.sign(self._statement())).decode()
        return {_CLAIM: self.claim, _EPOCH: str(self.epoch), _PROOF: proof}


def verify(parameters: Mapping[str, str], worker_uid: str, key: Ed25519PublicKey) -> HeldWorker | None:
    """What the start-up parameters prove; None if they prove nothing."""
    claim, epoch = parameters.get(_CLAIM, ""), parameters.get(_EPOCH, "")
    if not claim or not (epoch.isascii() and epoch.isdigit()):
        return None
    held = HeldWorker(claim, int(epoch), worker_uid)
    try:
        key.verify(base64.b64decode(parameters.get(_PROOF, ""), validate=True), held._statement())
    except (InvalidSignature, binascii.Error):
        return None
    return held


def load_private_key(path: Path) -> Ed25519PrivateKey:
    """The gateway's key, from a PEM file."""
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError) as error:
        raise Misconfigured(f"{path}: {error}", fix="mooring-postgres-gateway key FILE writes one") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise Misconfigured(f"{path}: not an Ed25519 key", fix="mooring-postgres-gateway key FILE writes one")
    return key


def write_private_key(path: Path) -> Ed25519PrivateKey:
    """A new key in a file that only its owner may read; an existing file is not overwritten."""
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(pem)
    except OSError as error:
        raise Misconfigured(f"{path}: {error.strerror}", fix="name a file that does not exist") from error
    return key


def encode_public_key(key: Ed25519PrivateKey) -> str:
    """The public key in base64, for the workers' environment."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def parse_public_key(text: str) -> Ed25519PublicKey:
    """From base64."""
    try:
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError) as error:
        raise Misconfigured(
            f"MOORING_GATEWAY_KEY: {error}", fix="mooring-postgres-gateway key FILE prints it"
        ) from error
