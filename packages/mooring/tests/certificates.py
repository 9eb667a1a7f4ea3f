"""Certificates for tests: an authority of their own, and pairs that are good, expired, or for another name."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hawser.clock import SystemClock


@dataclass(frozen=True, slots=True)
class Issued:
    certificate: bytes
    key: bytes

    def write(self, folder: Path) -> tuple[Path, Path]:
        """As `tls.crt` and `tls.key`, over what is there."""
        folder.mkdir(exist_ok=True)
        for name, data in (("tls.crt", self.certificate), ("tls.key", self.key)):
            fresh = folder / f"{name}.new"
            fresh.write_bytes(data)
            fresh.replace(folder / name)
        return folder / "tls.crt", folder / "tls.key"


class TestAuthority:
    """Signs certificates."""

    __test__ = False

    def __init__(self, name: str = "test-ca") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = SystemClock().now()
        builder = self._begin(self._name, self._key, now - timedelta(days=400), now + timedelta(days=400))
        key_id = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        signed = (
            builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(key_id, critical=False)
            .add_extension(_SIGNS, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = signed.public_bytes(serialization.Encoding.PEM)

    def issue(self, host: str = "localhost", days: float = 90) -> Issued:
        """Valid from a day ago, or long ago if it has expired, for so many days from now."""
        key, now = ec.generate_private_key(ec.SECP256R1()), SystemClock().now()
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        since = now - timedelta(days=1 if days > 0 else 100)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        signed = (
            self._begin(subject, key, since, now + timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(issuer, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        plain = serialization.NoEncryption()
        pem, shape = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
        return Issued(signed.public_bytes(pem), key.private_bytes(pem, shape, plain))

    def _begin(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, since: datetime, until: datetime
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(since)
            .not_valid_after(until)
        )


_SIGNS = x509.KeyUsage(
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
