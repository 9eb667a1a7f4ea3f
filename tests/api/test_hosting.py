"""The socket that answers go out of."""

import asyncio
import socket

from mooring.api.hosting import bind


def test_the_second_part_of_an_answer_does_not_wait_for_the_clients_word():
    # Head and body are two writes; with Nagle's algorithm the body waits 40 ms for a delayed acknowledgement.
    assert asyncio.run(_nodelay_of_an_accepted_connection()) == 1


async def _nodelay_of_an_accepted_connection() -> int:
    accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listener = bind("127.0.0.1", 0)
    async with await asyncio.start_server(look, sock=listener):
        _, writer = await asyncio.open_connection(*listener.getsockname())
        nodelay = await asyncio.wait_for(accepted, 5)
        writer.close()
        return nodelay
