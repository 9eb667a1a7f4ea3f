"""The state of the certificate with which Mooring serves HTTPS."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CertificateState:
    """Which file it is from, when it expires, and why a newer pair in the files is not used."""

    file: str
    expires_at: datetime
    problem: str = ""
