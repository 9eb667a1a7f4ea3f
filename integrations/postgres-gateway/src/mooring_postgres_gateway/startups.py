"""Reads the first packet of a connection within a bounded time."""

import asyncio

from mooring_postgres_gateway.streams import Gone
from mooring_postgres_gateway.wire.startup import Packet, check_length, parse_packet


async def read_packet(reader: asyncio.StreamReader) -> Packet:
    """Raises `Gone` if the other side leaves before, `ProtocolViolation` for what is no start-up packet."""
    try:
        return parse_packet(await reader.readexactly(check_length(await reader.readexactly(4))))
    except (asyncio.IncompleteReadError, OSError) as error:
        raise Gone from error
