"""COPY: its options, and rows in PostgreSQL's text, csv and binary formats. No I/O."""

import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mooring_postgres_gateway.failures import FEATURE_NOT_SUPPORTED, SessionError
from mooring_postgres_gateway.wire.frames import Reader, encode_value
from mooring_postgres_gateway.worker.values import decode, encode, to_text

_COPY = re.compile(
    r"COPY\s+(?P<target>.+?)\s+(?P<direction>FROM\s+STDIN|TO\s+STDOUT)\b\s*(?:WITH\b\s*)?(?P<options>.*)",
    re.IGNORECASE | re.DOTALL,
)
_TABLE = re.compile(r"(?P<table>(?:\"[^\"]+\"|[\w.])+)\s*(?:\((?P<columns>[^)]*)\))?", re.DOTALL)
_OPTION = re.compile(r"(?P<word>\w+)|[eE]?'(?P<string>(?:[^']|'')*)'|(?P<other>[(),])|\s+")
_SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}

Row = Sequence[str | None]


@dataclass(slots=True)
class CopyOptions:
    """`FORMAT`, `DELIMITER`, `NULL`, `HEADER`, `QUOTE`, `ESCAPE`."""

    form: str = "text"
    delimiter: str = ""
    null: str | None = None
    header: bool = False
    quote: str = '"'
    escape: str = ""

    def finish(self) -> None:
        """Fill in what depends on the format."""
        self.delimiter = self.delimiter or ("," if self.form == "csv" else "\t")
        self.escape = self.escape or self.quote
        if self.null is None:
            self.null = "" if self.form == "csv" else "\\N"


@dataclass(slots=True)
class Copy:
    """One COPY with the client. `source` is a table, or a query in parentheses."""

    source: str
    columns: str
    incoming: bool
    options: CopyOptions = field(default_factory=CopyOptions)

    @property
    def query(self) -> str:
        """What a COPY to the client selects."""
        return self.source[1:-1] if self.source.startswith("(") else f"SELECT {self.columns or '*'} FROM {self.source}"


def parse_copy(text: str) -> Copy:
    """A statement COPY ... FROM STDIN or TO STDOUT."""
    found = _COPY.fullmatch(text[text.upper().index("COPY") :])
    if found is None:
        raise SessionError("42601", "COPY is not understood")
    incoming, target = found["direction"].upper().startswith("FROM"), found["target"].strip()
    table = _TABLE.fullmatch(target)
    if table is None and (incoming or not target.startswith("(")):
        raise SessionError("42601", f"COPY of {target!r} is not understood")
    copy = Copy(table["table"] if table else target, (table["columns"] or "") if table else "", incoming)
    _read_options(copy.options, found["options"])
    copy.options.finish()
    return copy


def _read_options(options: CopyOptions, text: str) -> None:
    words = [
        (found["word"], found["string"])
        for found in _OPTION.finditer(text)
        if found["word"] or found["string"] is not None
    ]
    while words:
        name = (words.pop(0)[0] or "").upper()
        if words and (words[0][0] or "").upper() == "AS":
            words.pop(0)
        if name in ("CSV", "BINARY", "TEXT"):
            options.form = name.lower()
        elif name == "HEADER":
            given = (words[0][0] or "").lower() if words else ""
            options.header = given not in ("false", "off", "0")
            if given in ("true", "on", "1", "false", "off", "0", "match"):
                words.pop(0)
        elif name in ("FORMAT", "DELIMITER", "NULL", "QUOTE", "ESCAPE", "ENCODING") and words:
            word, string = words.pop(0)
            _set_option(options, name, string.replace("''", "'") if string is not None else word)
        else:
            raise SessionError(FEATURE_NOT_SUPPORTED, f"COPY option {name or text!r} is not supported")


def _set_option(options: CopyOptions, name: str, value: str) -> None:
    if name == "FORMAT" and value.lower() in ("text", "csv", "binary"):
        options.form = value.lower()
    elif name == "NULL":
        options.null = value
    elif name in ("DELIMITER", "QUOTE", "ESCAPE") and len(value) == 1:
        setattr(options, name.lower(), value)
    elif not (name == "ENCODING" and value.lower().replace("-", "") in ("utf8", "utf_8")):
        raise SessionError(FEATURE_NOT_SUPPORTED, f"COPY option {name} {value!r} is not supported")


class RowReader:
    """Data of the client, in pieces of any size, as rows of text."""

    def __init__(self, options: CopyOptions, oids: Sequence[int]) -> None:
        self._options = options
        self._oids = oids
        self._rest = b""
        self._header = options.header
        self._started = False
        self.ended = False

    def feed(self, data: bytes) -> list[Row]:
        """The rows that are complete now."""
        if self.ended:
            return []
        self._rest += data
        found = list(self._binary_rows() if self._options.form == "binary" else self._lines())
        if self._header and found and self._options.form != "binary":
            self._header = False
            found.pop(0)
        return found

    def finish(self) -> list[Row]:
        """The last row, if its line has no end."""
        if self._options.form != "binary" and self._rest and not self.ended:
            return self.feed(b"\n")
        if self._rest and not self.ended:
            raise SessionError("22P04", "the last row is not complete")
        return []

    def _lines(self) -> Iterator[Row]:
        quote = self._options.quote.encode()
        start = at = 0
        while (end := self._rest.find(b"\n", at)) >= 0:
            at = end + 1
            line = self._rest[start:end]
            if self._options.form == "csv" and line.count(quote) % 2:
                continue  # the line's end is inside quotes
            start = at
            text = line.removesuffix(b"\r").decode()
            if text == "\\.":
                self.ended = True
                break
            yield self._check(self._csv_row(text) if self._options.form == "csv" else self._text_row(text))
        self._rest = self._rest[start:]

    def _text_row(self, line: str) -> Row:
        delimiter = self._options.delimiter
        values = line.split(delimiter)
        if "\\" + delimiter in line:
            values = re.findall(rf"(?:^|(?<=\A)|{re.escape(delimiter)})((?:[^\\{re.escape(delimiter)}]|\\.)*)", line)
        return [None if value == self._options.null else _unescape(value) for value in values]

    def _csv_row(self, line: str) -> Row:
        quote, escape, delimiter = self._options.quote, self._options.escape, self._options.delimiter
        values: list[str | None] = []
        at, end = 0, len(line)
        while at <= end:
            if line[at : at + 1] == quote:
                value, at = _quoted(line, at + 1, quote, escape)
                values.append(value)
            else:
                stop = line.find(delimiter, at)
                stop = end if stop < 0 else stop
                raw = line[at:stop]
                values.append(None if raw == self._options.null else raw)
                at = stop
            at += 1
        return values

    def _binary_rows(self) -> Iterator[Row]:
        if not self._started:
            if len(self._rest) < 19:
                return
            if self._rest[:11] != _SIGNATURE:
                raise SessionError("22P04", "the data has no signature of a binary COPY")
            (extension,) = struct.unpack_from("!I", self._rest, 15)
            if len(self._rest) < 19 + extension:
                return
            self._rest, self._started = self._rest[19 + extension :], True
        while (size := _tuple_size(self._rest)) is not None:
            fields, self._rest = Reader(self._rest[:size]), self._rest[size:]
            count = fields.number("h")
            if count < 0:
                self.ended, self._rest = True, b""
                return
            raw = [fields.value() for _ in range(count)]
            self._check(raw)
            yield [_text_of(value, oid) for value, oid in zip(raw, self._oids, strict=True)]

    def _check(self, row: Any) -> Any:
        if len(row) != len(self._oids):
            raise SessionError("22P04", f"a row has {len(row)} columns; {len(self._oids)} are expected")
        return row


def _tuple_size(data: bytes) -> int | None:
    if len(data) < 2:
        return None
    (count,) = struct.unpack_from("!h", data)
    at = 2
    for _ in range(count):
        if len(data) < at + 4:
            return None
        (size,) = struct.unpack_from("!i", data, at)
        at += 4 + max(0, size)
    return at if len(data) >= at else None


def _text_of(raw: bytes | None, oid: int) -> str | None:
    return None if raw is None else to_text(decode(raw, oid, 1), oid)


def _quoted(line: str, at: int, quote: str, escape: str) -> tuple[str, int]:
    pieces = []
    while at < len(line):
        letter = line[at]
        if letter == escape and line[at + 1 : at + 2] in (quote, escape) and line[at + 1 : at + 2]:
            pieces.append(line[at + 1])
            at += 2
        elif letter == quote:
            return "".join(pieces), at + 1
        else:
            pieces.append(letter)
            at += 1
    raise SessionError("22P04", "a quoted value has no end")


def _unescape(value: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), value) if "\\" in value else value


def encode_rows(rows: Iterable[Sequence[Any]], oids: Sequence[int], options: CopyOptions) -> bytes:
    """Rows for the client."""
    if options.form == "binary":
        head = struct.pack("!H", len(oids))
        return b"".join(
            head + b"".join(encode_value(encode(value, oid, 1)) for value, oid in zip(row, oids, strict=True))
            for row in rows
        )
    return b"".join(
        _line((_out(value, oid, options) for value, oid in zip(row, oids, strict=True)), options) for row in rows
    )


def encode_header(names: Sequence[str], options: CopyOptions) -> bytes:
    """What comes before the rows."""
    if options.form == "binary":
        return _SIGNATURE + bytes(8)
    return _line((_quote_text(name, options) for name in names), options) if options.header else b""


def encode_trailer(options: CopyOptions) -> bytes:
    """What comes after the rows."""
    return b"\xff\xff" if options.form == "binary" else b""


def _line(values: Iterable[str], options: CopyOptions) -> bytes:
    return (options.delimiter.join(values) + "\n").encode()


def _out(value: Any, oid: int, options: CopyOptions) -> str:
    if value is None:
        return options.null or ""
    return _quote_text(to_text(value, oid), options)


def _quote_text(text: str, options: CopyOptions) -> str:
    if options.form == "csv":
        special = (options.delimiter, options.quote, options.escape, "\n", "\r")
        if text == options.null or any(piece in text for piece in special) or text == "\\.":
            doubled = text.replace(options.escape, options.escape * 2)
            if options.quote != options.escape:
                doubled = doubled.replace(options.quote, options.escape + options.quote)
            return f"{options.quote}{doubled}{options.quote}"
        return text
    escaped = "".join(_SPECIAL.get(letter, letter) for letter in text)
    return (
        escaped.replace(options.delimiter, "\\" + options.delimiter) if options.delimiter not in _SPECIAL else escaped
    )
