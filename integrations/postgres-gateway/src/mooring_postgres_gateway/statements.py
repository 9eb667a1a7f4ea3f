"""What a statement does, as far as its words show. What is not known to be harmless counts as a write."""

import re
from dataclasses import dataclass
from enum import Enum

from mooring_postgres_gateway.sql import Statement, split_statements

LONGEST_CLASSIFIED = 1_000_000  # characters; a longer text counts as a write
_SAFE = re.compile(r"\bmooring:\s*safe\b", re.IGNORECASE)
_READS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC", "SUMMARIZE"})
_ACTING_WORDS = frozenset(
    {"INSERT", "UPDATE", "DELETE", "MERGE", "INTO", "CREATE", "DROP", "ALTER", "COPY", "ATTACH", "DETACH", "TRUNCATE"}
    | {"CALL", "EXECUTE"}
)
_ACTING_CALLS = frozenset(
    {"NEXTVAL", "SETVAL", "SETSEED", "SET_CONFIG", "WRITE_LOG", "CHECKPOINT", "FORCE_CHECKPOINT", "QUERY"}
)
_ACTING_PREFIXES = ("PG_ADVISORY_LOCK", "PG_TRY_", "PG_NOTIFY", "PG_TERMINATE", "PG_CANCEL", "LO_", "DBLINK", "HTTP")
_ACTING_SUFFIX = "_EXECUTE"  # postgres_execute, mysql_execute
_ENDS = {"COMMIT": "COMMIT", "END": "COMMIT", "ROLLBACK": "ROLLBACK", "ABORT": "ROLLBACK"}
# DuckDB has no savepoints. They do nothing, until one is rolled back to: that fails, and so does the transaction.
_NEUTRAL = frozenset({"DEALLOCATE", "CLOSE", "UNLISTEN", "SAVEPOINT", "RELEASE"})
_PASSING_SETTINGS = frozenset({"LOCAL", "TRANSACTION", "CHARACTERISTICS", "CONSTRAINTS"})


class Kind(Enum):
    """The effect of a statement."""

    READ = "read"
    EXPORT = "export"  # writes outside of the database, at once: COPY ... TO 'file'
    WRITE = "write"
    COPY_IN = "copy in"
    BEGIN = "begin"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    SETTING = "setting"  # of the session; set again on another worker
    DISCARD = "discard"  # DISCARD ALL: the session is as new
    NEUTRAL = "neutral"  # leaves nothing behind


HARMLESS = frozenset(Kind) - {Kind.EXPORT, Kind.WRITE, Kind.COPY_IN}
TRANSACTION_CONTROL = frozenset({Kind.BEGIN, Kind.COMMIT, Kind.ROLLBACK})


@dataclass(frozen=True, slots=True)
class Nature:
    """What a statement does. `safe`: its author marked it with the comment `/* mooring:safe */`."""

    kind: Kind
    safe: bool = False
    text: str = ""
    setting: str = ""  # name of the setting

    @property
    def harmless(self) -> bool:
        """It changes nothing that another session could see."""
        return self.kind in HARMLESS

    @property
    def repeatable(self) -> bool:
        """It may run more than once."""
        return self.harmless or self.safe

    @property
    def pins(self) -> bool:
        """Afterwards the session may have state that only this worker has."""
        return self.kind in (Kind.WRITE, Kind.COPY_IN)


def classify_text(text: str) -> list[Nature]:
    """Of each statement in a text."""
    if len(text) > LONGEST_CLASSIFIED:
        return [Nature(Kind.WRITE)]
    return [classify_statement(statement) for statement in split_statements(text)]


def classify_statement(statement: Statement) -> Nature:
    """By its first word, and by all words that could make it act."""
    safe = any(_SAFE.search(comment) for comment in statement.comments)
    kind = Kind.WRITE if statement.broken else _kind(statement)
    setting = _setting_name(statement) if kind is Kind.SETTING else ""
    return Nature(kind, safe, statement.text, setting)


def _kind(statement: Statement) -> Kind:
    words = [word.text for word in statement.words]
    first = words[0] if words else ""
    if first in _READS:
        return Kind.WRITE if _acts(statement) else Kind.READ
    if first == "EXPLAIN":
        return Kind.WRITE if "ANALYZE" in words and _acts(statement) else Kind.READ
    if first == "COPY":
        return _copy_kind(statement)
    if first == "BEGIN" or words[:2] == ["START", "TRANSACTION"]:
        return Kind.BEGIN
    if first in _ENDS and "TO" not in words and "PREPARED" not in words:
        return Kind(_ENDS[first].lower())
    if first in ("SET", "RESET"):
        return _setting_kind(words)
    if first == "DISCARD":
        return Kind.DISCARD if words[1:2] == ["ALL"] else Kind.NEUTRAL
    if first in _NEUTRAL:
        return Kind.NEUTRAL
    return Kind.WRITE


def _acts(statement: Statement, skip: int = 0) -> bool:
    for word in statement.words[skip:]:
        if word.text in _ACTING_WORDS:
            return True
        if word.call and (
            word.text in _ACTING_CALLS or word.text.startswith(_ACTING_PREFIXES) or word.text.endswith(_ACTING_SUFFIX)
        ):
            return True
    return False


def _copy_kind(statement: Statement) -> Kind:
    top = statement.top()
    direction = next((word for word in top if word in ("FROM", "TO")), "")
    if direction == "FROM":
        return Kind.COPY_IN if "STDIN" in top else Kind.WRITE
    if direction != "TO" or _acts(statement, skip=1):
        return Kind.WRITE
    return Kind.READ if top[top.index("TO") + 1 :][:1] == ["STDOUT"] else Kind.EXPORT


def _setting_kind(words: list[str]) -> Kind:
    if "VARIABLE" in words[:2]:
        return Kind.WRITE
    return Kind.NEUTRAL if _PASSING_SETTINGS.intersection(words[1:3]) else Kind.SETTING


def _setting_name(statement: Statement) -> str:
    names = [word.text for word in statement.words[1:] if word.text not in ("SESSION", "GLOBAL")]
    return names[0].lower() if names else ""
