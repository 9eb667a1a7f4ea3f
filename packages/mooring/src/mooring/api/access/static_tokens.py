"""Named static tokens: a file, as mounted from a Secret, with the hashes of tokens and the users they stand for.

The file is read again when it changes. One that cannot be read keeps the tokens from before: a typing error must not
lock everyone out.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import structlog
from msgspec import Meta

from hawser.clock import Clock
from mooring.api.yaml_text import read_yaml
from mooring.model.errors import InvalidInput
from mooring.model.identity import OPERATOR, Identity

log = structlog.get_logger()

CHECK_SECONDS = 3.0
MOST_FILE_BYTES = 1_000_000
MOST_YAML_TOKENS = 250_000  # an entry has about 40
RESERVED = "system:"
_Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
_Text = Annotated[str, Meta(min_length=1, max_length=253)]


class TokenEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token: its name, the user and groups it stands for, and its hash; two while it is replaced."""

    name: _Text
    user: _Text
    sha256: Annotated[list[_Hash], Meta(min_length=1, max_length=2)]
    groups: list[_Text] = []


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: list[TokenEntry] = []


@dataclass(frozen=True, slots=True)
class _Version:
    """What shows that the file changed: a mounted Secret is a link to another file each time."""

    inode: int
    modified_ns: int
    size: int


def hash_token(token: str) -> str:
    """How a token is kept."""
    return hashlib.sha256(token.encode()).hexdigest()


def parse_tokens(text: str) -> dict[str, Identity]:
    """The identities by hash; `InvalidInput` says what is wrong with the file."""
    try:
        content = read_yaml(text, "tokens", MOST_YAML_TOKENS)
        file = msgspec.convert({} if content is None else content, _File)
    except ValueError as error:  # as ValidationError is
        raise InvalidInput("tokens", "this file", f"{{tokens: [{{name, user, groups, sha256}}]}} ({error})") from error
    found: dict[str, Identity] = {}
    for entry in file.tokens:
        for word in (entry.user, *entry.groups):
            if word.startswith(RESERVED) or word == OPERATOR.user:
                raise InvalidInput(f"tokens.{entry.name}", word, "a user or group that Kubernetes does not reserve")
        identity = Identity(entry.user, tuple(entry.groups), via="static")
        for digest in entry.sha256:
            if found.setdefault(digest, identity) != identity:
                raise InvalidInput(f"tokens.{entry.name}", digest, "a hash that no other token has")
    return found


class StaticTokens:
    """The tokens of a file; none without a file."""

    def __init__(self, path: Path | None, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._identities: dict[str, Identity] = {}
        self._version: _Version | None = None
        self._checked_at: float | None = None
        self.problem = ""

    @property
    def configured(self) -> bool:
        """Whether there is a file."""
        return self._path is not None

    @property
    def count(self) -> int:
        """How many hashes are valid."""
        return len(self._identities)

    def identity_of(self, digest: str) -> Identity | None:
        """Whom a hash stands for now."""
        self.refresh()
        return self._identities.get(digest)

    def refresh(self) -> None:
        """Read the file again if it changed, at most every few seconds."""
        now = self._clock.monotonic()
        if self._path is None or (self._checked_at is not None and now - self._checked_at < CHECK_SECONDS):
            return
        self._checked_at = now
        try:
            self._load(self._path)
        except (OSError, InvalidInput, UnicodeDecodeError) as error:
            problem = error.strerror or str(error) if isinstance(error, OSError) else str(error)
            self._complain(f"{self._path}: {problem}")
            if isinstance(error, OSError):
                self._version = None

    def _load(self, path: Path) -> None:
        stat = path.stat()
        version = _Version(stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if version == self._version:
            return
        self._version = version  # one that cannot be read is not tried again before it changes
        if stat.st_size > MOST_FILE_BYTES:
            raise InvalidInput("tokens", f"{stat.st_size} bytes", f"at most {MOST_FILE_BYTES} bytes")
        with path.open(encoding="utf-8") as file:
            seen = os.fstat(file.fileno())
            self._version = _Version(seen.st_ino, seen.st_mtime_ns, seen.st_size)
            found = parse_tokens(file.read())
        if self._identities != found:
            log.info("static tokens were read", file=str(path), tokens=len(found))
        self._identities = found
        self.problem = ""

    def _complain(self, problem: str) -> None:
        if problem != self.problem:
            log.error("static tokens were not read; those from before stay valid", problem=problem)
        self.problem = problem
