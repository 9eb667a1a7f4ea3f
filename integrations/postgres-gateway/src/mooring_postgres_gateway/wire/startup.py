"""The first packet of a connection, which has a length and no kind."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from mooring_postgres_gateway.wire.frames import LONGEST_STARTUP_BYTES, ProtocolViolation, Reader, encode_text

PROTOCOL = 196608  # 3.0
_TLS, _GSS, _CANCEL = 80877103, 80877104, 80877102


@dataclass(frozen=True, slots=True)
class TlsRequest:
    """The client asks for TLS."""


@dataclass(frozen=True, slots=True)
class GssRequest:
    """The client asks for GSS encryption, which is refused."""


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """The client asks to cancel what a session runs."""

    process: int
    secret: int


@dataclass(frozen=True, slots=True)
class Startup:
    """The client begins a session."""

    parameters: Mapping[str, str]
    minor: int = 0
    unknown: tuple[str, ...] = ()  # options of newer protocols, which the server reports back


Packet = TlsRequest | GssRequest | CancelRequest | Startup


def check_length(raw: bytes) -> int:
    """The size of the body, from its first four bytes."""
    (length,) = struct.unpack("!I", raw)
    if not 8 <= length <= LONGEST_STARTUP_BYTES:
        raise ProtocolViolation(f"invalid length {length} of the start-up packet")
    return int(length) - 4


def parse_packet(body: bytes) -> Packet:
    """The packet without its length."""
    fields = Reader(body)
    code = fields.number("I")
    if code in (_TLS, _GSS):
        fields.end()
        return TlsRequest() if code == _TLS else GssRequest()
    if code == _CANCEL:
        process, secret = fields.number("I"), fields.number("I")
        fields.end()
        return CancelRequest(process, secret)
    if code >> 16 != 3:
        raise ProtocolViolation(f"unsupported protocol {code >> 16}.{code & 0xFFFF}; version 3 is served")
    return _startup(fields, code & 0xFFFF)


def _startup(fields: Reader, minor: int) -> Startup:
    parameters: dict[str, str] = {}
    while name := fields.text():
        parameters[name] = fields.text()
    fields.end()
    unknown = tuple(name for name in parameters if name.startswith("_pq_."))
    return Startup({name: value for name, value in parameters.items() if name not in unknown}, minor, unknown)


def encode_packet(packet: Packet) -> bytes:
    """The packet with its length."""
    if isinstance(packet, CancelRequest):
        body = struct.pack("!III", _CANCEL, packet.process, packet.secret)
    elif isinstance(packet, Startup):
        pairs = (encode_text(name) + encode_text(value) for name, value in packet.parameters.items())
        body = struct.pack("!I", PROTOCOL) + b"".join(pairs) + b"\0"
    else:
        body = struct.pack("!I", _TLS if isinstance(packet, TlsRequest) else _GSS)
    return struct.pack("!I", len(body) + 4) + body
