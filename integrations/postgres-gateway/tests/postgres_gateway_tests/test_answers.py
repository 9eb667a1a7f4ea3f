"""What a worker answers reaches the client before the news that the worker drains."""

import asyncio

from mooring_postgres_gateway.answers import Answers
from mooring_postgres_gateway.events import Ready
from mooring_postgres_gateway.failures import REFUSED, WORKER_LOST, SessionError
from mooring_postgres_gateway.unit import Unit
from mooring_postgres_gateway.wire.bodies import complete, ready
from mooring_postgres_gateway.wire.frames import Message, encode_text

REFUSAL = SessionError(WORKER_LOST, "the worker drains", fatal=True, routine=REFUSED).encode()


class Client:
    def __init__(self) -> None:
        self.got: list[Message] = []

    async def send_all(self, messages) -> None:
        self.got += messages


class Worker:
    worker = "duck-1"

    async def read_some(self) -> list[Message]:
        return [complete("INSERT 0 1"), ready(b"I"), REFUSAL]


async def test_an_exchange_that_ended_is_not_taken_for_one_that_the_worker_refused():
    client, signals, unit = Client(), asyncio.Queue(), Unit({})
    unit.take(Message(b"Q", encode_text("INSERT INTO t VALUES (1)")))
    await Answers(client, signals, lambda: unit).forward(Worker(), Worker(), [])
    assert [message.kind for message in client.got] == [b"C", b"Z"]
    assert signals.get_nowait() == Ready(b"I")
    assert signals.get_nowait().refused
