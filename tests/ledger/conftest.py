"""The contract suite runs every test that asks for a `world` twice: in memory and on PostgreSQL."""

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from tests.ledger.worlds import MemoryWorld, PostgresWorld, World
from tests.postgres import PostgresForTests, postgres

__all__ = ["postgres"]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run coroutine tests on a loop of their own, and close their world on the same loop."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in wanted}

    async def play() -> None:
        try:
            await asyncio.wait_for(pyfuncitem.obj(**arguments), 60)
        finally:
            for value in arguments.values():
                if isinstance(value, World):
                    await value.close()

    asyncio.run(play())
    return True


@pytest.fixture(params=["memory", "postgres"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.param == "memory":
        yield MemoryWorld()
    else:
        server: PostgresForTests = request.getfixturevalue("postgres")
        yield PostgresWorld(server)
