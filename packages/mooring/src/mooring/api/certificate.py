"""The certificate of the HTTPS server: loaded from two files, and again when they change.

Each pair has a context of its own, and every handshake is given the latest one. So a pair that cannot be used never
replaces one that can, and open connections stay.
"""

import ssl
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog
from cryptography import x509

from hawser.clock import Clock
from mooring.api.metrics import CERTIFICATE_EXPIRY
from mooring.model.certificate import CertificateState
from mooring.model.errors import Misconfigured

log = structlog.get_logger()

LOOK_SECONDS = 5.0
FileState = tuple[int, int, int]  # inode, size and time of the last change


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Where the certificate chain and its key are."""

    certificate: Path
    key: Path

    def state(self) -> tuple[FileState, FileState] | None:
        """Differs whenever a file was replaced or written; None if one cannot be read."""
        try:
            found = [path.stat() for path in (self.certificate, self.key)]
        except OSError:
            return None
        first, second = ((one.st_ino, one.st_size, one.st_mtime_ns) for one in found)
        return first, second


class ServingCertificate:
    """Raises `Misconfigured` if the files cannot be used at the start. `run` looks for newer ones."""

    def __init__(self, files: TlsFiles, clock: Clock) -> None:
        self._files = files
        self._clock = clock
        self._seen = files.state()
        try:
            self._current, self._expires_at = _load(files)
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            raise Misconfigured(
                f"HTTPS cannot be served with {files.certificate} and {files.key}: {_reason(error)}",
                fix="give a certificate and its key (PEM) in MOORING_TLS_CERTIFICATE and MOORING_TLS_KEY",
            ) from error
        self._problem = ""
        self.context = _new_context()
        self.context.sni_callback = self._choose
        CERTIFICATE_EXPIRY.set(self._expires_at.timestamp())

    @property
    def state(self) -> CertificateState:
        """For the doctor."""
        return CertificateState(str(self._files.certificate), self._expires_at, self._problem)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Load the files if they changed."""
        state = self._files.state()
        if state == self._seen:
            return
        self._seen = state
        try:
            self._current, self._expires_at = _load(self._files)
        except (OSError, ValueError) as error:
            self._problem = _reason(error)
            log.error(
                "the new certificate cannot be used; the old one stays",
                certificate=str(self._files.certificate),
                error=self._problem,
            )
            return
        self._problem = ""
        CERTIFICATE_EXPIRY.set(self._expires_at.timestamp())
        log.info("certificate loaded", expires_at=self._expires_at.isoformat())

    def _choose(self, handshake: Any, _name: str | None, _context: ssl.SSLContext) -> None:
        handshake.context = self._current


def _new_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _load(files: TlsFiles) -> tuple[ssl.SSLContext, datetime]:
    """A context with this pair, and when its certificate expires."""
    certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    context = _new_context()
    context.load_cert_chain(files.certificate, files.key, password=_refuse_password)
    return context, certificate.not_valid_after_utc


def _refuse_password() -> str:
    """OpenSSL would ask for the password of an encrypted key on the terminal, and wait."""
    raise ValueError("the key is encrypted; give one without a password")


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return {"KEY_VALUES_MISMATCH": "the key does not belong to the certificate"}.get(
            error.reason or "", f"not a certificate and its key in PEM ({error.reason or error})"
        )
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    return str(error)
