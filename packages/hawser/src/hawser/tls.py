"""Certificates: which server we believe, and with what we show who we are."""

import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hawser.errors import Misconfigured


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate chain and its key, both PEM."""

    chain: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Trust:
    """Which server certificates are good. Without `authority` those of the system's authorities are."""

    authority: bytes = b""  # PEM
    verify: bool = True
    server_name: str = ""  # what the certificate must be for, when it is not the host in the URL


def client_context(trust: Trust, certificate: ClientCertificate | None) -> ssl.SSLContext:
    """A context for connections to one API server; raises `Misconfigured` when a certificate is no certificate."""
    # Not ssl.create_default_context: from Python 3.13 on it refuses the authorities of many clusters, which were made
    # without an authority key identifier.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not trust.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif trust.authority:
        _load_authority(context, trust.authority)
    else:
        context.load_default_certs()
    if certificate:
        _load_certificate(context, certificate)
    return context


def _load_authority(context: ssl.SSLContext, authority: bytes) -> None:
    try:
        context.load_verify_locations(cadata=authority.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise Misconfigured(
            f"the certificate authority cannot be read: {error}",
            fix="give the cluster's CA in PEM form, beginning with -----BEGIN CERTIFICATE-----",
        ) from error


def _load_certificate(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    # The ssl module reads certificates from files only.
    with tempfile.TemporaryDirectory(prefix="hawser-") as folder:
        chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
        chain.write_bytes(certificate.chain)
        key.touch(mode=0o600)
        key.write_bytes(certificate.key)
        try:
            context.load_cert_chain(chain, key, password="")  # without one OpenSSL would ask at the terminal
        except (ssl.SSLError, ValueError) as error:
            raise Misconfigured(
                f"the client certificate and its key cannot be used: {error}",
                fix="give a PEM certificate and the unencrypted PEM key that belongs to it",
            ) from error
