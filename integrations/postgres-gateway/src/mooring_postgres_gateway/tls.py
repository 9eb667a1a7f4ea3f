"""The certificate of the gateway, read again when its files change."""

import logging
import os
import ssl
from pathlib import Path

from mooring.model.errors import Misconfigured

log = logging.getLogger("mooring.postgres_gateway")


class TlsFiles:
    """A certificate and its key. A broken change is reported, and the last good certificate stays."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._paths = (certificate, key)
        self._seen = self._marks()
        try:
            self._context = self._load()
        except (OSError, ssl.SSLError) as error:
            raise Misconfigured(f"{certificate}, {key}: {error}", fix="name a PEM certificate and its key") from error

    def context(self) -> ssl.SSLContext:
        """For the next connection."""
        marks = self._marks()
        if marks != self._seen:
            self._seen = marks
            try:
                self._context = self._load()
            except (OSError, ssl.SSLError) as error:
                log.error("the changed certificate is not used, the last one stays: %s", error)
        return self._context

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(*self._paths)
        return context

    def _marks(self) -> list[tuple[int, int]]:
        marks = []
        for path in self._paths:
            try:
                found = os.stat(path)
            except OSError:
                marks.append((0, 0))
            else:
                marks.append((found.st_mtime_ns, found.st_ino))
        return marks
