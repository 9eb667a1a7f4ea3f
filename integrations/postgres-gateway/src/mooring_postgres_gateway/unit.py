"""One exchange: what a client sent since the last ReadyForQuery, and what it was answered. No I/O."""

from dataclasses import dataclass, field

from mooring_postgres_gateway.statements import TRANSACTION_CONTROL, Kind, Nature, classify_text
from mooring_postgres_gateway.wire.bodies import (
    Parse,
    parse_bind,
    parse_error,
    parse_execute,
    parse_parse,
    parse_query,
    parse_target,
)
from mooring_postgres_gateway.wire.frames import Message

LARGEST_KEPT_BYTES = 8 * 1024 * 1024  # a larger exchange is not kept, so it is not repeated
_QUERY, _SYNC, _FLUSH = b"Q", b"S", b"H"
_ENDS = (_QUERY, _SYNC)
_UNKNOWN = Nature(Kind.WRITE)
PREPARATIONS = frozenset({b"1", b"2", b"3", b"t", b"T", b"n"})
"""Answers that a repetition gives again. After any other, the client has seen a result."""


@dataclass(slots=True)
class Prepared:
    """A statement that the client prepared."""

    parse: Parse
    natures: tuple[Nature, ...]


@dataclass(slots=True)
class Unit:
    """Messages up to Query or Sync, and the answers to them."""

    known: dict[str, Prepared]  # statements of the session; confirmed ones are added
    messages: list[Message] = field(default_factory=list)
    size: int = 0
    kept: bool = True
    closed: bool = False  # Query or Sync is among the messages
    natures: list[Nature] = field(default_factory=list)
    delivered: list[bytes] = field(default_factory=list)  # kinds of answers that the client got
    begun: bool = False  # a worker got messages of it
    copying: bool = False  # the client sends rows
    copied: bool = False  # the client sent all of them
    cancelled: bool = False
    attempts: int = 0
    sent: int = 0  # messages that were forwarded
    changes: list[tuple[bytes, str, Prepared | None]] = field(default_factory=list)
    _parsed: dict[str, Prepared] = field(default_factory=dict)
    _portals: dict[str, tuple[Nature, ...]] = field(default_factory=dict)

    @property
    def simple(self) -> bool:
        """Whether it ends with a simple query, so that no Sync follows."""
        return bool(self.messages) and self.messages[-1].kind == _QUERY

    @property
    def flushing(self) -> bool:
        """Whether the client waits for answers now."""
        return bool(self.messages) and self.messages[-1].kind in (_FLUSH, *_ENDS)

    @property
    def failed(self) -> bool:
        """Whether the client got an error."""
        return b"E" in self.delivered

    @property
    def result_sent(self) -> bool:
        """Whether the client got more than what a repetition gives again."""
        return any(kind not in PREPARATIONS for kind in self.delivered)

    @property
    def controls_transaction(self) -> bool:
        """Whether it begins or ends a transaction."""
        return any(nature.kind in TRANSACTION_CONTROL for nature in self.natures)

    def take(self, message: Message) -> None:
        """A message of the client. Raises `ProtocolViolation` for a malformed one."""
        kind = message.kind
        if kind == _QUERY:
            self.natures += classify_text(parse_query(message.body))
        elif kind == b"P":
            self._take_parse(parse_parse(message.body))
        elif kind == b"B":
            bind = parse_bind(message.body)
            found = self._parsed.get(bind.statement) or self.known.get(bind.statement)
            self._portals[bind.portal] = found.natures if found else (_UNKNOWN,)
        elif kind == b"E":
            self.natures += self._portals.get(parse_execute(message.body).portal, (_UNKNOWN,))
        elif kind == b"C":
            target = parse_target(message.body)
            self.changes.append((b"3", target.name if target.kind == "S" else "", None))
        self.size += len(message.body)
        self.kept = self.kept and self.size <= LARGEST_KEPT_BYTES
        self.closed = self.closed or kind in _ENDS
        self.messages.append(message)

    def _take_parse(self, parse: Parse) -> None:
        made = self._parsed[parse.name] = Prepared(parse, tuple(classify_text(parse.sql)))
        self.changes.append((b"1", parse.name, made))

    def answer(self, message: Message) -> None:
        """An answer that was sent to the client."""
        kind = message.kind
        if kind in (b"S", b"N"):
            return
        self.delivered.append(kind)
        if kind in (b"1", b"3"):
            self._confirm(kind)
        elif kind == b"G":
            self.copying = True
            self.closed = self.simple  # a worker that waits for rows ignores the Sync that was sent before
        elif kind in (b"C", b"E", b"Z"):
            self.copying = False

    def _confirm(self, kind: bytes) -> None:
        """The oldest Parse or Close that has no answer yet has one now."""
        for place, (awaited, name, made) in enumerate(self.changes):
            if awaited == kind:
                del self.changes[place]
                if made is not None:
                    self.known[name] = made
                elif name:
                    self.known.pop(name, None)
                return

    def forget_progress(self) -> None:
        """Begin again on another worker: what was confirmed stays confirmed."""
        self.begun = self.copying = self.copied = False


def is_refusal(message: Message, routine: str) -> bool:
    """Whether a worker says that it has not begun what it was sent."""
    return message.kind == b"E" and parse_error(message.body).get("R") == routine
