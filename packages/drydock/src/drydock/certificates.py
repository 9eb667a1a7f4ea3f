"""The certificates and keys of a control plane: one authority, and what it signs. Kept in a folder over restarts."""

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = timedelta(days=365)
_RENEW_BEFORE_END = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Where a certificate and its key are."""

    certificate: Path
    key: Path


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    partial.replace(path)


class Authority:
    """A certificate authority in a folder: made on first use, found again later."""

    def __init__(self, folder: Path, now: datetime) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._now = now
        self.pair = KeyPair(folder / "ca.crt", folder / "ca.key")
        if not self._still_good(self.pair):
            self._make_authority()
        self._key = _load_key(self.pair.key)
        self._certificate = x509.load_pem_x509_certificate(self.pair.certificate.read_bytes())

    def serving(self, name: str, hosts: Sequence[str]) -> KeyPair:
        """A certificate for a server that answers at `hosts` (names and addresses)."""
        return self._issued(name, name, (), hosts, ExtendedKeyUsageOID.SERVER_AUTH)

    def client(self, name: str, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A certificate with which `user` shows who it is."""
        return self._issued(name, user, groups, (), ExtendedKeyUsageOID.CLIENT_AUTH)

    def signing_key(self, name: str) -> KeyPair:
        """A bare key and its public half (in `certificate`), for service account tokens."""
        pair = KeyPair(self._folder / f"{name}.pub", self._folder / f"{name}.key")
        if not (pair.certificate.exists() and pair.key.exists()):
            key = ec.generate_private_key(ec.SECP256R1())
            write_private(pair.key, _key_bytes(key))
            public = serialization.PublicFormat.SubjectPublicKeyInfo
            pair.certificate.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, public))
        return pair

    def _issued(
        self, name: str, subject: str, groups: Sequence[str], hosts: Sequence[str], usage: x509.ObjectIdentifier
    ) -> KeyPair:
        pair = KeyPair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        if self._still_good(pair):
            return pair
        key = ec.generate_private_key(ec.SECP256R1())
        organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        holder = x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, subject)])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            self._builder(holder, self._certificate.subject, key)
            .add_extension(issuer, critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False
            )
        self._write(pair, builder.sign(self._key, hashes.SHA256()), key)
        return pair

    def _make_authority(self) -> None:
        for stale in self._folder.glob("*.crt"):
            stale.unlink()
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "drydock-ca")])
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = (
            self._builder(name, name, key)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
        )
        self._write(self.pair, builder.sign(key, hashes.SHA256()), key)

    def _builder(
        self, holder: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(holder)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - timedelta(hours=1))
            .not_valid_after(self._now + _LIFETIME)
        )

    def _still_good(self, pair: KeyPair) -> bool:
        if not (pair.certificate.exists() and pair.key.exists()):
            return False
        certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
        return certificate.not_valid_after_utc - _RENEW_BEFORE_END > self._now

    def _write(self, pair: KeyPair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        write_private(pair.key, _key_bytes(key))
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _key_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    pem = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, pem, serialization.NoEncryption())


def _load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
