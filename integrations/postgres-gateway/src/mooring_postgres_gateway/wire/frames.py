"""Frames: one byte of kind, four bytes of length, a body. Lengths are bounded before anything is stored."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

HEADER_BYTES = 5
LONGEST_STARTUP_BYTES = 10_000  # as in PostgreSQL itself
LONGEST_MESSAGE_BYTES = 64 * 1024 * 1024
_KINDS = frozenset(bytes([code]) for code in (*range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1)))
_NUMBERS = b"123"  # ParseComplete, BindComplete, CloseComplete


class ProtocolViolation(Exception):
    """What the other side sent is not a message of the protocol, or is longer than allowed."""


class Message(NamedTuple):
    """One message. `kind` is its first byte."""

    kind: bytes
    body: bytes = b""

    def encode(self) -> bytes:
        """The message as it is sent."""
        return self.kind + struct.pack("!I", len(self.body) + 4) + self.body


def encode_all(messages: Iterable[Message]) -> bytes:
    """Several messages in a row."""
    return b"".join(message.encode() for message in messages)


@dataclass(slots=True)
class Framer:
    """Splits a stream of bytes into messages."""

    limit: int = LONGEST_MESSAGE_BYTES
    _buffer: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are complete now. Raises `ProtocolViolation` as soon as a header is wrong."""
        self._buffer += data
        found: list[Message] = []
        start, end = 0, len(self._buffer)
        while end - start >= HEADER_BYTES:
            kind = bytes(self._buffer[start : start + 1])
            (length,) = struct.unpack_from("!I", self._buffer, start + 1)
            self._check(kind, length)
            if end - start < 1 + length:
                break
            found.append(Message(kind, bytes(self._buffer[start + HEADER_BYTES : start + 1 + length])))
            start += 1 + length
        del self._buffer[:start]
        return found

    @property
    def pending_bytes(self) -> int:
        """Bytes of a message that is not complete yet."""
        return len(self._buffer)

    def _check(self, kind: bytes, length: int) -> None:
        if kind not in _KINDS and kind not in _NUMBERS:
            raise ProtocolViolation(f"invalid message kind {kind!r}")
        if length < 4:
            raise ProtocolViolation(f"invalid length {length} of message {kind!r}")
        if length > self.limit:
            raise ProtocolViolation(f"message {kind!r} has {length} bytes; at most {self.limit} are allowed")


class Reader:
    """Reads the fields of a body one after another; `ProtocolViolation` where it is too short or malformed."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    @property
    def left(self) -> int:
        """Bytes that are not read yet."""
        return len(self._body) - self._at

    def text(self) -> str:
        """A string that ends with a zero byte."""
        end = self._body.find(b"\0", self._at)
        if end < 0:
            raise ProtocolViolation("a string has no end")
        raw, self._at = self._body[self._at : end], end + 1
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise ProtocolViolation("a string is not UTF-8") from error

    def number(self, form: str) -> int:
        """A number by its `struct` code."""
        size = struct.calcsize(form)
        (value,) = struct.unpack(f"!{form}", self.take(size))
        return int(value)

    def take(self, size: int) -> bytes:
        """So many bytes."""
        if size < 0 or self.left < size:
            raise ProtocolViolation(f"{size} bytes expected, {self.left} left")
        raw, self._at = self._body[self._at : self._at + size], self._at + size
        return raw

    def count(self, item_bytes: int = 2) -> int:
        """The number of items that follow, each of at least so many bytes."""
        count = self.number("H")
        if count * item_bytes > self.left:
            raise ProtocolViolation(f"{count} items expected, {self.left} bytes left")
        return count

    def value(self) -> bytes | None:
        """A value with its length; None for NULL."""
        size = self.number("i")
        return None if size == -1 else self.take(size)

    def end(self) -> None:
        """Nothing may be left."""
        if self.left:
            raise ProtocolViolation(f"{self.left} bytes too many")


def encode_text(value: str) -> bytes:
    """A string that ends with a zero byte. A zero byte inside would end it early, so it is dropped."""
    return value.replace("\0", "").encode() + b"\0"


def encode_value(value: bytes | None) -> bytes:
    """A value with its length."""
    return struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
