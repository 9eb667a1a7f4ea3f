"""The doctor's checks of what travels over the network: HTTPS, and the connection to the ledger."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from mooring.model.certificate import CertificateState
from mooring.model.doctor_report import Check, CheckStatus
from mooring.model.hosts import is_loopback

WARN_BEFORE = timedelta(days=14)
_VERIFIED = "verify-full"


def judge_certificate(state: CertificateState | None, address: str, now: datetime) -> Check:
    """Check that callers reach Mooring over HTTPS, and for how long the certificate is still valid."""
    if state is None:
        return _judge_plain(address)
    left = state.expires_at - now
    evidence = {"file": state.file, "expiresAt": state.expires_at.isoformat()}
    renew = f"renew {state.file} and its key; they are loaded without a restart"
    if left <= timedelta(0):
        message = f"the certificate expired at {state.expires_at:%Y-%m-%d %H:%MZ}"
        return Check("certificate", CheckStatus.FAIL, message, evidence, renew)
    if state.problem:
        message = f"the certificate in {state.file} cannot be used, an older one still is: {state.problem}"
        fix = "write a certificate and its key; they are loaded without a restart"
        return Check("certificate", CheckStatus.WARN, message, {**evidence, "problem": state.problem}, fix)
    if left < WARN_BEFORE:
        message = f"the certificate expires in {left.days} day(s), at {state.expires_at:%Y-%m-%d %H:%MZ}"
        return Check("certificate", CheckStatus.WARN, message, evidence, renew)
    return Check("certificate", CheckStatus.OK, f"HTTPS with a certificate for another {left.days} days", evidence)


def _judge_plain(address: str) -> Check:
    host = urlsplit(address).hostname or ""
    if not host or is_loopback(host):
        return Check("certificate", CheckStatus.OK, "plain HTTP, for this machine only")
    message = f"plain HTTP at {address}, because MOORING_PLAIN_HTTP is set: tokens can be read on their way"
    fix = "set MOORING_TLS_CERTIFICATE and MOORING_TLS_KEY, unless only a proxy that ends TLS reaches this port"
    return Check("certificate", CheckStatus.WARN, message, {"address": address}, fix)


def judge_encryption(hosts: Sequence[str], sslmode: str, encrypted: bool) -> Check:
    """Check that the connection to the ledger is encrypted and verified. Without hosts it is on this machine."""
    remote = [host for host in hosts if not host.startswith("/") and not is_loopback(host)]
    evidence = {"hosts": list(hosts), "sslmode": sslmode, "encrypted": encrypted}
    check_id = "ledger/encryption"
    if not remote:
        return Check(check_id, CheckStatus.OK, "the ledger is on this machine", evidence)
    if sslmode == _VERIFIED and encrypted:
        return Check(check_id, CheckStatus.OK, "the connection is encrypted, and the server is verified", evidence)
    state = "encrypted, and the server is not verified" if encrypted else "not encrypted"
    return Check(
        check_id,
        CheckStatus.WARN,
        f"the connection to {', '.join(remote)} is {state} (sslmode={sslmode})",
        evidence,
        "add sslmode=verify-full and sslrootcert=FILE to MOORING_DATABASE (docs/reference/settings.md)",
    )
