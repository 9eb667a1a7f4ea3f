"""CA certificates in a file, read again when it changes."""

import ssl
from pathlib import Path

import structlog

from mooring.model.errors import Misconfigured

log = structlog.get_logger()


class TrustBundle:
    """The text of the file. A version that is not a list of certificates is logged, and the one before stays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = 0
        self._text = ""
        try:
            self._seen = path.stat().st_mtime_ns
            self._text = _read(path)
        except (OSError, ValueError) as error:
            raise Misconfigured(
                f"the CA certificates for workers in {path} cannot be used: {error}",
                fix="give a file with certificates (PEM) in MOORING_WORKER_CA",
            ) from error

    def read(self) -> str:
        """Certificates (PEM)."""
        try:
            changed = self._path.stat().st_mtime_ns
            if changed != self._seen:
                self._seen = changed
                self._text = _read(self._path)
        except (OSError, ValueError) as error:
            if self._seen:
                log.error("the new CA certificates cannot be used; the old ones stay", error=str(error))
            self._seen = 0
        return self._text


def _read(path: Path) -> str:
    """The text, if it is what a worker can load. Errors of OpenSSL are `OSError`."""
    text = path.read_text(encoding="ascii").strip()
    ssl.create_default_context(cadata=text)
    return text
