"""How an `async def` test runs: in virtual time, or with `@pytest.mark.realtime` on an event loop in real time.

A fixture whose value is an async context manager is entered on the test's own loop: the test gets what it yields, and
it is left when the test ends. A parameter `seed` also decides the order of ready tasks in virtual time. Each example
of a property test (`@given`) runs on a loop of its own.
"""

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from drydock import run_virtual

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
_DEFAULT_SEED = 1
_REALTIME_LIMIT_SECONDS = 300.0

_IN_REAL_TIME = frozenset(
    {"browser", "cluster", "control_plane", "dock", "hurried", "postgres", "pytester", "run", "up"}
)
"""Fixtures whose tests are `realtime` without a mark."""

Test = Callable[..., Awaitable[None]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _IN_REAL_TIME.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.realtime)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    test = pyfuncitem.obj
    realtime = pyfuncitem.get_closest_marker("realtime") is not None
    if inspect.iscoroutinefunction(test):
        given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters}
        _run(test, given, realtime=realtime)
        return True
    examined = getattr(test, "hypothesis", None)
    if examined is not None and inspect.iscoroutinefunction(examined.inner_test):
        inner: Test = examined.inner_test
        examined.inner_test = lambda **given: _run(inner, given, realtime=realtime)
    return None


def _run(test: Test, given: Mapping[str, Any], *, realtime: bool) -> None:
    async def play() -> None:
        async with contextlib.AsyncExitStack() as stack:
            entered = {name: await _entered(value, stack) for name, value in given.items()}
            await test(**entered)

    async def play_in_real_time() -> None:
        async with asyncio.timeout(_REALTIME_LIMIT_SECONDS):
            await play()

    if realtime:
        asyncio.run(play_in_real_time())
    else:
        seed = given.get("seed", _DEFAULT_SEED)
        run_virtual(play, seed=seed, start=START)


async def _entered(value: object, stack: contextlib.AsyncExitStack) -> object:
    if isinstance(value, contextlib.AbstractAsyncContextManager):
        return await stack.enter_async_context(value)
    return value
