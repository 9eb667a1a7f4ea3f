"""Which server the SDK believes: CA certificates, and what is wrong with a certificate in plain words."""

import ssl
from functools import lru_cache
from pathlib import Path

from mooring.client.errors import Untrusted
from mooring.model.errors import InvalidInput, Misconfigured

_PEM = "-----BEGIN "
_NOT_YET_VALID, _EXPIRED, _WRONG_NAME, _WRONG_ADDRESS = 9, 10, 62, 64  # X509_V_ERR_* of OpenSSL
_UNKNOWN_ISSUER = frozenset({2, 18, 19, 20, 21})
_TRUST = "give the CA of Mooring with MOORING_CA or Mooring(ca=...): a file, or the certificates themselves (PEM)"


def make_context(ca: str) -> ssl.SSLContext:
    """Trusts the CA certificates in this file, or in this text (PEM); without any, those of the system."""
    if not ca or ca.lstrip().startswith(_PEM):
        return _load("", ca.strip(), 0)
    try:
        changed = Path(ca).stat().st_mtime_ns
    except OSError as error:
        raise Misconfigured(f"the CA file {ca} cannot be read: {error.strerror}", fix=_TRUST) from error
    return _load(ca, "", changed)


@lru_cache(maxsize=8)  # the certificates of the system take 20 ms to load
def _load(file: str, text: str, _changed: int) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=file or None, cadata=text or None)
    except (ssl.SSLError, ValueError) as error:
        raise InvalidInput("ca", file or "the given text", f"CA certificates in PEM ({error})") from error
    except OSError as error:
        raise Misconfigured(f"the CA file {file} cannot be read: {error.strerror}", fix=_TRUST) from error


def explain_refusal(url: str, error: BaseException) -> Untrusted | None:
    """What is wrong with the server's certificate or its TLS; None if the error is about something else."""
    cause = _find_tls_error(error)
    if cause is None:
        return None
    if not isinstance(cause, ssl.SSLCertVerificationError):
        if cause.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
            return Untrusted(f"{url} does not speak TLS", fix=f"is it {url.replace('https://', 'http://', 1)}?")
        return Untrusted(f"TLS with {url} failed: {cause.reason or cause}", fix="look at the log of Mooring")
    if cause.verify_code in _UNKNOWN_ISSUER:
        return Untrusted(f"the certificate of {url} is from an unknown issuer", fix=_TRUST)
    if cause.verify_code == _EXPIRED:
        return Untrusted(f"the certificate of {url} has expired", fix="renew it; 'mooring doctor' warns 14 days before")
    if cause.verify_code == _NOT_YET_VALID:
        return Untrusted(f"the certificate of {url} is not valid yet", fix="set the clock of this machine")
    if cause.verify_code in (_WRONG_NAME, _WRONG_ADDRESS):
        return Untrusted(
            f"the certificate of {url} is for another name: {cause.verify_message}",
            fix="use a name that is in the certificate, or make a certificate for this one",
        )
    return Untrusted(f"the certificate of {url} is refused: {cause.verify_message}", fix=_TRUST)


def _find_tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """The error of the ssl module. Those of aiohttp are of its class too, and only wrap it."""
    while error is not None:
        inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", None)
        if isinstance(inner, ssl.SSLError):
            return inner
        if isinstance(error, ssl.SSLError):
            return error
        error = error.__cause__
    return None
