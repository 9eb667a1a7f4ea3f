"""Settings of the receiver, from the environment. Secrets are read from files. No I/O but that."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mooring.client.durations import parse_seconds
from mooring.model.errors import InvalidInput
from mooring_github_actions.app_token import AppKey
from mooring_github_actions.github import Installation
from mooring_github_actions.pools import parse_rules
from mooring_github_actions.receiver import Secrets
from mooring_github_actions.reconciler import ClaimPolicy

PREFIX = "MOORING_GITHUB_"


@dataclass(frozen=True, slots=True)
class Settings:
    """What `python -m mooring_github_actions` needs."""

    installation: Installation
    key: AppKey
    secrets: Secrets
    policy: ClaimPolicy
    group: int
    host: str
    port: int


class Environment:
    """Reads variables that begin with MOORING_GITHUB_."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def text(self, name: str, default: str | None = None) -> str:
        """A value; without a default it is required."""
        value = self._variables.get(PREFIX + name, "") or default
        if value is None:
            raise InvalidInput(PREFIX + name, "", "set; README.md lists all settings")
        return value

    def number(self, name: str, default: int | None = None) -> int:
        """A whole number."""
        value = self.text(name, None if default is None else str(default))
        if not value.isdecimal():
            raise InvalidInput(PREFIX + name, value, "a whole number")
        return int(value)

    def file(self, name: str) -> bytes:
        """The content of a file, without white space around it; empty if it is not named."""
        path = self.text(name, "")
        try:
            return Path(path).read_bytes().strip() if path else b""
        except OSError as error:
            raise InvalidInput(PREFIX + name, path, f"a file that can be read ({error.strerror})") from error


def read_settings(variables: Mapping[str, str]) -> Settings:
    """Raises `InvalidInput` with the first variable that is wrong."""
    found = Environment(variables)
    installation = found.number("INSTALLATION")
    secrets = Secrets(
        found.file("WEBHOOK_SECRET_FILE"),
        installation,
        found.file("MINT_TOKEN_FILE").decode("utf-8", "replace"),
        found.file("MINT_KEY_FILE"),
    )
    if not secrets.webhook:
        raise InvalidInput(f"{PREFIX}WEBHOOK_SECRET_FILE", "", "a file that is not empty")
    if bool(secrets.mint_token) == bool(secrets.mint_key):
        raise InvalidInput(f"{PREFIX}MINT_TOKEN_FILE", "", f"set, or {PREFIX}MINT_KEY_FILE, but not both")
    policy = ClaimPolicy(
        parse_rules(found.text("POOLS")),
        found.text("OWNER", "github"),
        found.text("TTL", "5m"),
        found.text("WAIT", "1h"),
        parse_seconds(f"{PREFIX}LOOK", found.text("LOOK", "60s")),
        parse_seconds(f"{PREFIX}PAUSE", found.text("PAUSE", "5s")),
    )
    api = found.text("API", "https://api.github.com").rstrip("/")
    return Settings(
        Installation(api, installation, found.text("ORGANIZATION", "")),
        AppKey(found.text("APP"), found.file("PRIVATE_KEY_FILE")),
        secrets,
        policy,
        found.number("RUNNER_GROUP", 1),
        found.text("HOST", "0.0.0.0"),
        found.number("PORT", 8080),
    )
