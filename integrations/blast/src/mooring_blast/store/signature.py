"""AWS Signature Version 4, as data: the headers that sign one request. No I/O, no clock."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote

EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
_ALGORITHM = "AWS4-HMAC-SHA256"
_SERVICE = "s3"


@dataclass(frozen=True, slots=True)
class Credentials:
    """The keys of an account. They are never shown."""

    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """What is signed: a path that is not encoded, the query, headers that the caller sets, the digest of the body."""

    method: str
    host: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    payload_sha256: str = EMPTY_SHA256

    @property
    def target(self) -> str:
        """Path and query, as they are sent and signed."""
        return encode_path(self.path) + (f"?{encode_query(self.query)}" if self.query else "")


def sign(request: Request, credentials: Credentials, region: str, at: datetime) -> dict[str, str]:
    """All headers of the signed request, except `Host`, which the HTTP client sets."""
    stamp = at.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{region}/{_SERVICE}/aws4_request"
    headers = {**request.headers, "x-amz-content-sha256": request.payload_sha256, "x-amz-date": stamp}
    if credentials.session_token:
        headers["x-amz-security-token"] = credentials.session_token
    canonical, names = canonical_request(request, headers)
    text = "\n".join((_ALGORITHM, stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    signature = hmac.new(_signing_key(credentials, scope), text.encode(), hashlib.sha256).hexdigest()
    parts = f"Credential={credentials.access_key}/{scope},SignedHeaders={names},Signature={signature}"
    return {**headers, "Authorization": f"{_ALGORITHM} {parts}"}


def canonical_request(request: Request, headers: Mapping[str, str]) -> tuple[str, str]:
    """The canonical form, and the names of the signed headers."""
    given = {"host": request.host, **{name.lower(): " ".join(value.split()) for name, value in headers.items()}}
    lines = "".join(f"{name}:{given[name]}\n" for name in sorted(given))
    names = ";".join(sorted(given))
    path, query = encode_path(request.path), encode_query(request.query)
    return "\n".join((request.method, path, query, lines, names, request.payload_sha256)), names


def encode_path(path: str) -> str:
    """Percent-encoded once, slashes kept: the rule of S3."""
    return quote(path, safe="/-_.~")


def encode_query(query: Mapping[str, str]) -> str:
    """Sorted by encoded name."""
    pairs = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in query.items())
    return "&".join(f"{name}={value}" for name, value in pairs)


def _signing_key(credentials: Credentials, scope: str) -> bytes:
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
