"""No test waits for ever: one that takes a quarter of an hour fails, and the traceback says what it waited for."""

import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

LIMIT_SECONDS = 900


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "the most that a test, and each of its fixtures, may take; more for runs of full size"
    parser.addoption("--time-limit", type=int, default=LIMIT_SECONDS, metavar="SECONDS", help=about)


@contextmanager
def _limited(item: pytest.Item) -> Iterator[None]:
    seconds: int = item.config.getoption("--time-limit")

    def give_up(*_: object) -> None:
        pytest.fail(f"it took more than {seconds} s (--time-limit)")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    with _limited(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    with _limited(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    with _limited(item):
        return (yield)
