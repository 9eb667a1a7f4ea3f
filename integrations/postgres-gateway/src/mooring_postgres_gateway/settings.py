"""Settings of PostgreSQL that clients set and read, and that DuckDB does not have. No I/O."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from mooring_postgres_gateway.failures import FEATURE_NOT_SUPPORTED, SessionError

SERVER_VERSION = "15.0 (Mooring, DuckDB)"
VERSION = f"PostgreSQL {SERVER_VERSION}"  # clients read the number after this word
REPORTED = {
    "server_version": SERVER_VERSION,
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "off",
    "application_name": "",
}
"""Sent to every client when its session begins."""

_OTHERS = {
    "bytea_output": "hex",
    "client_min_messages": "notice",
    "default_transaction_isolation": "repeatable read",
    "default_transaction_read_only": "off",
    "extra_float_digits": "1",
    "idle_in_transaction_session_timeout": "0",
    "jit": "off",
    "lock_timeout": "0",
    "row_security": "on",
    "statement_timeout": "0",
    "synchronize_seqscans": "on",
    "synchronous_commit": "on",
    "transaction_isolation": "repeatable read",
    "transaction_read_only": "off",
}
_FIXED = {"client_encoding": ("utf8", "utf-8", "unicode"), "standard_conforming_strings": ("on", "true", "1")}
_SET = re.compile(
    r"SET\s+(?:(?:SESSION|LOCAL)\s+)?(?:(?P<zone>TIME\s+ZONE)\s+|(?P<name>\w+)\s*(?:=|\bTO\b)\s*)(?P<value>.+)",
    re.IGNORECASE | re.DOTALL,
)
_RESET = re.compile(r"RESET\s+(?P<name>\w+)", re.IGNORECASE)
_SHOW = re.compile(r"SHOW\s+(?P<name>transaction\s+isolation\s+level|time\s+zone|\w+)", re.IGNORECASE)
_ASKS_VERSION = re.compile(r"SELECT\s+pg_catalog\.version\(\)", re.IGNORECASE)  # SQLAlchemy's first statement
_LONG_NAMES = {"transaction isolation level": "transaction_isolation", "time zone": "timezone"}
_OPTION = re.compile(r"(?:-c\s*|--)(?P<name>[\w.-]+)=(?P<value>(?:\\.|[^\s\\])*)")  # of libpq's `options`
_DURATION = re.compile(r"(\d+)\s*(us|ms|s|min|h|d)?")
_MILLISECONDS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "min": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}


@dataclass(slots=True)
class Settings:
    """The values of one session. `RESET` goes back to those that the session began with."""

    _initial: Mapping[str, str] = field(default_factory=dict)
    _values: dict[str, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=lambda: {name.lower(): name for name in (*REPORTED, *_OTHERS)})

    def set(self, text: str) -> tuple[str, str] | None:
        """The setting and its value now; None if it is not one of PostgreSQL, so it belongs to DuckDB."""
        found = _SET.fullmatch(text)
        if found is None:
            return None
        name = self._names.get("timezone" if found["zone"] else found["name"].lower())
        if name is None:
            return None
        value = found["value"].strip().strip("'\"")
        if value.upper() == "DEFAULT":
            self._values.pop(name, None)
        else:
            _check(name, value)
            self._values[name] = value
        return name, self.get(name)

    def reset(self, text: str) -> bool:
        """`RESET ALL` or `RESET name`: whether it is one of PostgreSQL."""
        found = _RESET.fullmatch(text)
        name = found["name"].lower() if found else ""
        if name == "all":
            self._values.clear()
            return True
        if name in self._names:
            self._values.pop(self._names[name], None)
            return True
        return False

    def show(self, text: str) -> tuple[str, str] | None:
        """The setting and its value; None if the statement asks for something else."""
        if _ASKS_VERSION.fullmatch(text):
            return "version", VERSION
        found = _SHOW.fullmatch(text)
        if found is None:
            return None
        asked = re.sub(r"\s+", " ", found["name"].lower())
        name = self._names.get(_LONG_NAMES.get(asked, asked))
        return (name, self.get(name)) if name else None

    def get(self, name: str) -> str:
        """The value now."""
        return self._values.get(name) or self._initial.get(name) or REPORTED.get(name) or _OTHERS.get(name, "")

    @property
    def statement_timeout_seconds(self) -> float | None:
        """None if statements may run as long as they want."""
        found = _DURATION.fullmatch(self.get("statement_timeout").strip())
        if found is None or int(found[1]) == 0:
            return None
        return int(found[1]) * _MILLISECONDS[found[2] or "ms"] / 1000.0


def read_initial(parameters: Mapping[str, str]) -> dict[str, str]:
    """What a client sets in its start-up packet, as a parameter or within `options`. Others are ignored."""
    options = [(name.replace("-", "_"), value) for name, value in _OPTION.findall(parameters.get("options", ""))]
    found = {}
    for name, value in [*parameters.items(), *options]:
        if name.lower() in _OTHERS:
            found[name.lower()] = re.sub(r"\\(.)", r"\1", value)
            _check(name.lower(), found[name.lower()])
    return found


def _check(name: str, value: str) -> None:
    allowed = _FIXED.get(name)
    if allowed is not None and value.lower() not in allowed:
        raise SessionError(FEATURE_NOT_SUPPORTED, f"{name} is {REPORTED[name]}; {value!r} is not supported")
    if name == "TimeZone" and value.upper() not in ("UTC", "GMT", "ETC/UTC", "LOCAL"):
        raise SessionError(FEATURE_NOT_SUPPORTED, "TimeZone is UTC; use timezone('Area/City', ...) in the query")
    if name == "statement_timeout" and _DURATION.fullmatch(value) is None:
        raise SessionError("22023", f"invalid value for statement_timeout: {value!r}")
