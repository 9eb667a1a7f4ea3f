"""Frames of SPDY/3.1, read and written without a socket: the part of the protocol that Kubernetes' streams use.

https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/
"""

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

SYN_STREAM, SYN_REPLY, RST_STREAM, SETTINGS, PING, GOAWAY, HEADERS, WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9
FLAG_FIN = 0x01
PROTOCOL_ERROR, INVALID_STREAM, REFUSED_STREAM, CANCEL = 1, 2, 3, 5

_VERSION = 3
_CONTROL = 0x80000000
_STREAM_MASK = 0x7FFFFFFF
_HEAD = struct.Struct(">II")
_MAX_FRAME_BYTES = 1 << 20  # clients send pieces of 32 KiB
_MAX_HEADER_BYTES = 1 << 16  # after decompression

_DICTIONARY_WORDS = (
    b"options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    b"authorization cache-control connection content-base content-encoding content-language content-length "
    b"content-location content-md5 content-range content-type date etag expect expires from host if-match "
    b"if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    b"proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    b"user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie "
    b"keep-alive origin"
).split()
_DICTIONARY_TAIL = (
    b"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    b"203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    b"403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    b"Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    b"chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    b"publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _dictionary() -> bytes:
    words = (word.replace(b"_", b" ") for word in _DICTIONARY_WORDS)
    return b"".join(struct.pack(">I", len(word)) + word for word in words) + _DICTIONARY_TAIL


DICTIONARY = _dictionary()


class SpdyError(ConnectionError):
    """What came is not SPDY/3.1, or more than this end takes."""


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of a stream."""

    stream: int
    payload: bytes
    fin: bool = False


@dataclass(frozen=True, slots=True)
class SynStream:
    """The client opens a stream."""

    stream: int
    headers: Mapping[str, str]
    fin: bool = False


@dataclass(frozen=True, slots=True)
class SynReply:
    """The other end has accepted a stream."""

    stream: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reset:
    """A stream ends at once, in both directions."""

    stream: int
    status: int = CANCEL


@dataclass(frozen=True, slots=True)
class Ping:
    """To be sent back as it is."""

    identity: int


@dataclass(frozen=True, slots=True)
class GoAway:
    """No further streams."""

    last_stream: int


Frame = Data | SynStream | SynReply | Reset | Ping | GoAway


class FrameReader:
    """Cuts what arrives into frames. Settings, windows and late headers have no meaning here and are left out."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are whole by now. Raises `SpdyError`; nothing can be read after that."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            first, second = _HEAD.unpack_from(self._buffer)
            flags, length = second >> 24, second & 0xFFFFFF
            if length > _MAX_FRAME_BYTES:
                raise SpdyError(f"a frame of {length} bytes; at most {_MAX_FRAME_BYTES} are taken")
            if len(self._buffer) < _HEAD.size + length:
                return
            payload = bytes(self._buffer[_HEAD.size : _HEAD.size + length])
            del self._buffer[: _HEAD.size + length]
            if first & _CONTROL:
                if frame := self._control(first, flags, payload):
                    yield frame
            else:
                yield Data(first & _STREAM_MASK, payload, bool(flags & FLAG_FIN))

    def _control(self, first: int, flags: int, payload: bytes) -> Frame | None:
        if (first >> 16) & 0x7FFF != _VERSION:
            raise SpdyError(f"version {(first >> 16) & 0x7FFF} of SPDY; only 3 is understood")
        kind = first & 0xFFFF
        try:
            match kind:
                case 1:
                    headers = self._headers(payload[10:])
                    return SynStream(_number(payload) & _STREAM_MASK, headers, bool(flags & FLAG_FIN))
                case 2:
                    return SynReply(_number(payload) & _STREAM_MASK, self._headers(payload[4:]))
                case 3:
                    return Reset(_number(payload) & _STREAM_MASK, _number(payload, 4))
                case 6:
                    return Ping(_number(payload))
                case 7:
                    return GoAway(_number(payload) & _STREAM_MASK)
                case 8:
                    self._headers(payload[4:])  # all header blocks share one decompressor
        except (struct.error, zlib.error) as error:
            raise SpdyError(f"a control frame of type {kind} cannot be read: {error}") from error
        return None

    def _headers(self, packed: bytes) -> dict[str, str]:
        block = self._inflate.decompress(packed, _MAX_HEADER_BYTES)
        if self._inflate.unconsumed_tail:
            raise SpdyError(f"headers of more than {_MAX_HEADER_BYTES} bytes")
        headers: dict[str, str] = {}
        position = 4
        for _ in range(_number(block)):
            name, position = _text(block, position)
            headers[name.lower()], position = _text(block, position)
        return headers


class FrameWriter:
    """Frames as bytes, in the order in which they are to be sent."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def pack(self, frame: Frame) -> bytes:
        match frame:
            case Data(stream, payload, fin):
                return _HEAD.pack(stream, _FIN[fin] | len(payload)) + payload
            case SynStream(stream, headers, fin):
                return _control(SYN_STREAM, struct.pack(">IIBB", stream, 0, 0, 0) + self._headers(headers), fin)
            case SynReply(stream, headers):
                return _control(SYN_REPLY, struct.pack(">I", stream) + self._headers(headers))
            case Reset(stream, status):
                return _control(RST_STREAM, struct.pack(">II", stream, status))
            case Ping(identity):
                return _control(PING, struct.pack(">I", identity))
            case GoAway(last_stream):
                return _control(GOAWAY, struct.pack(">II", last_stream, 0))

    def _headers(self, headers: Mapping[str, str]) -> bytes:
        block = struct.pack(">I", len(headers))
        for name, value in headers.items():
            for text in (name.lower().encode(), value.encode()):
                block += struct.pack(">I", len(text)) + text
        return self._deflate.compress(block) + self._deflate.flush(zlib.Z_SYNC_FLUSH)


_FIN = {False: 0, True: FLAG_FIN << 24}


def _control(kind: int, payload: bytes, fin: bool = False) -> bytes:
    return _HEAD.pack(_CONTROL | _VERSION << 16 | kind, _FIN[fin] | len(payload)) + payload


def _number(block: bytes, position: int = 0) -> int:
    return int(struct.unpack_from(">I", block, position)[0])


def _text(block: bytes, position: int) -> tuple[str, int]:
    begin = position + 4
    end = begin + _number(block, position)
    if end > len(block):
        raise SpdyError("a header is longer than its block")
    return block[begin:end].decode("utf-8", "replace"), end
