"""Where the objects are, and the keys for them: from the environment, or from a mounted Secret.

| variable | meaning |
|---|---|
| `BLAST_STORE` | `https://HOST[:PORT]/BUCKET[/PREFIX]` |
| `BLAST_STORE_REGION` | region in the signature, `us-east-1` by default |
| `BLAST_STORE_CREDENTIALS` | folder of a mounted Secret with files named like the variables below |
| `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN` | the keys, unless there is such a folder |
| `AWS_CA_BUNDLE` | file with CA certificates for HTTPS, instead of those of the system |
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from mooring.model.errors import InvalidInput, Misconfigured
from mooring_blast.store.signature import Credentials

STORE = "BLAST_STORE"
REGION = "BLAST_STORE_REGION"
CREDENTIALS = "BLAST_STORE_CREDENTIALS"
ACCESS_KEY, SECRET_KEY, SESSION_TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
DEFAULT_REGION = "us-east-1"
_CA_BUNDLE = "AWS_CA_BUNDLE"
_FORM = "https://HOST[:PORT]/BUCKET[/PREFIX], without keys in it"


@dataclass(frozen=True, slots=True)
class Address:
    """A bucket, and the beginning of all keys in it."""

    endpoint: str
    bucket: str
    prefix: str = ""
    region: str = DEFAULT_REGION

    @property
    def host(self) -> str:
        """As in the header `Host`: a port that the scheme implies is left out."""
        parts = urlsplit(self.endpoint)
        implied = {"http": 80, "https": 443}[parts.scheme]
        name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{name}:{parts.port}" if parts.port not in (None, implied) else f"{name}"

    @property
    def url(self) -> str:
        """As in `BLAST_STORE`."""
        return "/".join(part for part in (self.endpoint, self.bucket, self.prefix) if part)

    def path(self, key: str) -> str:
        """The path of an object, not encoded."""
        return f"/{self.bucket}/{self.full(key)}"

    def full(self, key: str) -> str:
        """The key in the bucket."""
        return f"{self.prefix}/{key}" if self.prefix else key


def parse_address(url: str, region: str = DEFAULT_REGION) -> Address:
    """From `BLAST_STORE`; a URL with keys in it is refused, and not repeated."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise InvalidInput(STORE, "...", _FORM) from None
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InvalidInput(STORE, "...", _FORM)
    bucket, _, prefix = parts.path.strip("/").partition("/")
    if not valid or not bucket:
        raise InvalidInput(STORE, url, _FORM)
    return Address(f"{parts.scheme}://{parts.netloc}", bucket, prefix.strip("/"), region)


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """How to reach a store. Its credentials are read for every request: a mounted Secret may change."""

    address: Address
    environment: Mapping[str, str] = field(repr=False)

    def credentials(self) -> Credentials:
        """The keys as they are now."""
        found = {name: self._value(name) for name in (ACCESS_KEY, SECRET_KEY, SESSION_TOKEN)}
        for name in (ACCESS_KEY, SECRET_KEY):
            if not found[name]:
                raise Misconfigured(
                    f"{name} is not set",
                    fix=f"add it to the Secret that podTemplate.envFrom names, or set {CREDENTIALS}",
                )
        return Credentials(*found.values())

    def tls(self) -> ssl.SSLContext | bool:
        """The CA certificates that a store's certificate is checked with."""
        bundle = self.environment.get(_CA_BUNDLE, "")
        try:
            return ssl.create_default_context(cafile=bundle) if bundle else True
        except OSError as error:
            raise Misconfigured(
                f"{_CA_BUNDLE}: {bundle}: {error}", fix="name a file with certificates (PEM)"
            ) from error

    def _value(self, name: str) -> str:
        folder = self.environment.get(CREDENTIALS, "")
        if not folder:
            return self.environment.get(name, "").strip()
        try:
            return (Path(folder) / name).read_text().strip()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise Misconfigured(f"{CREDENTIALS}: {error}", fix="mount the Secret there, readable") from error


def read_settings(environment: Mapping[str, str]) -> StoreSettings:
    """From the variables of a process."""
    if not environment.get(STORE):
        raise Misconfigured(f"{STORE} is not set", fix=f"set it to {_FORM}")
    address = parse_address(environment[STORE], environment.get(REGION) or DEFAULT_REGION)
    return StoreSettings(address, environment)
