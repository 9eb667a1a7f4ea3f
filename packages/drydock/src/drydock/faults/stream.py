"""Faults inside a watch: each is a stage that reads lines and gives lines; stages are put one after another."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import assert_never

import msgspec

from drydock.faults.effects import (
    CutStream,
    DropEvents,
    FailStream,
    LagEvents,
    RepeatEvents,
    ReplayOldEvents,
    SilenceStream,
    StreamEffect,
)
from hawser.clock import Clock, Entropy
from hawser.errors import ConnectionFailed

Lines = AsyncGenerator[bytes, None]


async def lines_of(chunks: AsyncIterator[bytes]) -> Lines:
    """Whole lines with their ends; what follows the last end comes as it is."""
    begun = b""
    async for chunk in chunks:
        *complete, begun = (begun + chunk).split(b"\n")
        for line in complete:
            yield line + b"\n"
    if begun:
        yield begun


def disturbed(lines: Lines, effect: StreamEffect, clock: Clock, entropy: Entropy) -> Lines:
    """The lines with one fault in them."""
    match effect:
        case DropEvents():
            return _dropped(lines, effect, entropy)
        case LagEvents():
            return _lagging(lines, effect, clock)
        case RepeatEvents():
            return _repeated(lines, effect, entropy)
        case ReplayOldEvents():
            return _replayed(lines, effect, entropy)
        case CutStream():
            return _cut(lines, effect)
        case SilenceStream():
            return _silenced(lines, effect)
        case FailStream():
            return _failed(lines, effect)
    assert_never(effect)


async def _dropped(lines: Lines, effect: DropEvents, entropy: Entropy) -> Lines:
    async for line in lines:
        if entropy.fraction() >= effect.probability:
            yield line


async def _repeated(lines: Lines, effect: RepeatEvents, entropy: Entropy) -> Lines:
    async for line in lines:
        yield line
        if entropy.fraction() < effect.probability:
            yield line


async def _replayed(lines: Lines, effect: ReplayOldEvents, entropy: Entropy) -> Lines:
    earlier: list[bytes] = []
    async for line in lines:
        yield line
        if earlier and entropy.fraction() < effect.probability:
            yield earlier[entropy.below(len(earlier))]
        earlier.append(line)


async def _lagging(lines: Lines, effect: LagEvents, clock: Clock) -> Lines:
    # Lines are taken as they come, or a burst would lag once for each of its lines.
    arrived: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()

    async def take() -> None:
        try:
            async for line in lines:
                arrived.put_nowait((clock.monotonic() + effect.seconds, line))
        finally:
            arrived.put_nowait(None)

    taking = asyncio.create_task(take())
    try:
        while (entry := await arrived.get()) is not None:
            due, line = entry
            await clock.sleep(max(0.0, due - clock.monotonic()))
            yield line
        await taking
    finally:
        taking.cancel()
        await asyncio.wait((taking,))


async def _first(lines: Lines, count: int) -> Lines:
    for _ in range(count):
        try:
            yield await anext(lines)
        except StopAsyncIteration:
            return


async def _cut(lines: Lines, effect: CutStream) -> Lines:
    async for line in _first(lines, effect.after_events):
        yield line
    match effect.how:
        case "inside":
            async for line in _first(lines, 1):
                yield line[: len(line) // 2]
        case "broken":
            raise ConnectionFailed("injected: the connection broke in the middle of a watch")


async def _silenced(lines: Lines, effect: SilenceStream) -> Lines:
    async for line in _first(lines, effect.after_events):
        yield line
    await asyncio.get_running_loop().create_future()


async def _failed(lines: Lines, effect: FailStream) -> Lines:
    async for line in _first(lines, effect.after_events):
        yield line
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "injected",
        "reason": effect.reason,
        "code": effect.status,
    }
    yield msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n"
