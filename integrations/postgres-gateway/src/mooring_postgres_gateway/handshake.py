"""How a client becomes a session: TLS, start-up packet, SCRAM password. Everything here is bounded."""

import asyncio
import contextlib
import hmac
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from hawser.clock import Entropy
from mooring_postgres_gateway.directory import Database, Directory
from mooring_postgres_gateway.failures import (
    FEATURE_NOT_SUPPORTED,
    NO_SUCH_DATABASE,
    NOT_AUTHORISED,
    PROTOCOL_VIOLATION,
    WRONG_PASSWORD,
    SessionError,
)
from mooring_postgres_gateway.scram import MECHANISM, Exchange, Verifier, WrongExchange, make_decoy
from mooring_postgres_gateway.settings import read_initial
from mooring_postgres_gateway.startups import read_packet
from mooring_postgres_gateway.streams import MessageStream
from mooring_postgres_gateway.tls import TlsFiles
from mooring_postgres_gateway.wire.frames import (
    LONGEST_MESSAGE_BYTES,
    LONGEST_STARTUP_BYTES,
    Message,
    ProtocolViolation,
    Reader,
    encode_text,
)
from mooring_postgres_gateway.wire.startup import CancelRequest, GssRequest, Startup, TlsRequest

_MOST_PACKETS = 3  # GSS, TLS, start-up
_OK, _SASL, _CONTINUE, _FINAL = 0, 10, 11, 12


@dataclass(frozen=True, slots=True)
class Login:
    """A client whose password was right, and where its database leads."""

    stream: MessageStream
    user: str
    name: str
    database: Database
    parameters: Mapping[str, str]
    settings: Mapping[str, str]  # that the session begins with


class Handshake:
    """Receives clients."""

    def __init__(self, directory: Directory, tls: TlsFiles | None, entropy: Entropy, *, require_tls: bool) -> None:
        self._directory = directory
        self._tls = tls
        self._entropy = entropy
        self._require_tls = require_tls
        self._decoys = bytes.fromhex(entropy.token())

    async def packet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Startup | CancelRequest:
        """The first packet after TLS, if the client asks for that."""
        encrypted = False
        for _ in range(_MOST_PACKETS):
            packet = await read_packet(reader)
            if isinstance(packet, CancelRequest):
                return packet
            if isinstance(packet, Startup):
                if self._require_tls and not encrypted:
                    raise SessionError(
                        NOT_AUTHORISED, "the gateway requires TLS", hint="use sslmode=require", fatal=True
                    )
                return packet
            if isinstance(packet, GssRequest) or self._tls is None or encrypted:
                writer.write(b"N")
                continue
            assert isinstance(packet, TlsRequest)
            await _refuse_early_bytes(reader)
            writer.write(b"S")
            await writer.start_tls(self._tls.context())
            encrypted = True
        raise ProtocolViolation("too many requests before the start-up packet")

    async def login(self, startup: Startup, stream: MessageStream) -> Login:
        """Check the password, then whether the user may use the database."""
        parameters = startup.parameters
        user = parameters.get("user", "")
        if not user:
            raise SessionError(NOT_AUTHORISED, "the start-up packet names no user", fatal=True)
        if parameters.get("replication", "false") not in ("false", "off", "no", "0"):
            raise SessionError(FEATURE_NOT_SUPPORTED, "replication is not supported", fatal=True)
        if startup.minor or startup.unknown:
            await stream.send(_negotiate(startup))
        name = parameters.get("database") or user
        entries = self._directory.entries()
        verifier = entries.verifiers.get(user)
        await self._authenticate(stream, verifier or make_decoy(user, self._decoys), user)
        database = entries.databases.get(name)
        if database is None:
            raise SessionError(NO_SUCH_DATABASE, f'database "{name}" does not exist', fatal=True)
        if not entries.permits(user, name):
            raise SessionError(NOT_AUTHORISED, f'user "{user}" may not use database "{name}"', fatal=True)
        stream.allow(LONGEST_MESSAGE_BYTES)
        return Login(stream, user, name, database, parameters, _read_settings(parameters))

    async def _authenticate(self, stream: MessageStream, verifier: Verifier, user: str) -> None:
        exchange = Exchange(verifier, self._entropy.token(18))
        await stream.send(_authentication(_SASL, encode_text(MECHANISM) + b"\0"))
        try:
            fields = Reader((await _expect_password(stream)).body)
            if fields.text() != MECHANISM:
                raise WrongExchange("the mechanism was not offered")
            await stream.send(_authentication(_CONTINUE, exchange.first(fields.value() or b"")))
            answer = exchange.final((await _expect_password(stream)).body)
        except WrongExchange as error:
            raise SessionError(PROTOCOL_VIOLATION, f"SCRAM: {error}", fatal=True) from error
        if answer is None:
            raise SessionError(WRONG_PASSWORD, f'password authentication failed for user "{user}"', fatal=True)
        await stream.send(_authentication(_FINAL, answer), _authentication(_OK))


def _read_settings(parameters: Mapping[str, str]) -> dict[str, str]:
    try:
        return read_initial(parameters)
    except SessionError as error:
        raise SessionError(error.state, error.message, fatal=True) from error


async def _refuse_early_bytes(reader: asyncio.StreamReader) -> None:
    """Bytes that were sent before TLS would be taken for encrypted ones (CVE-2021-23222)."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0):
            if await reader.read(1):
                raise ProtocolViolation("data before the TLS handshake")


async def _expect_password(stream: MessageStream) -> Message:
    message = await stream.read()
    if message.kind != b"p":
        raise ProtocolViolation(f"message {message.kind!r} instead of a password")
    return message


def _authentication(code: int, data: bytes = b"") -> Message:
    return Message(b"R", struct.pack("!I", code) + data)


def _negotiate(startup: Startup) -> Message:
    unknown = b"".join(encode_text(name) for name in startup.unknown)
    return Message(b"v", struct.pack("!II", 0, len(startup.unknown)) + unknown)


def startup_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> MessageStream:
    """A stream that accepts short messages only, until the password is checked."""
    return MessageStream(reader, writer, LONGEST_STARTUP_BYTES)


def same_secret(given: int, kept: int) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(struct.pack("!I", given), struct.pack("!I", kept))
