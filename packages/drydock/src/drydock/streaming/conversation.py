"""Running the parts of one conversation, none of which outlives it."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any


async def until_first(*parts: Coroutine[Any, Any, None]) -> None:
    """Run all of them until one ends; then the others are cancelled. The failure of that one is raised."""
    await _until(asyncio.FIRST_COMPLETED, parts)


async def until_all(*parts: Coroutine[Any, Any, None]) -> None:
    """Run all of them to their ends; when one fails the others are cancelled and its failure is raised."""
    await _until(asyncio.FIRST_EXCEPTION, parts)


async def _until(condition: str, parts: Iterable[Coroutine[Any, Any, None]]) -> None:
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=condition)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
