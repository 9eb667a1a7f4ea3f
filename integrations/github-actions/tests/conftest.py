"""One `mooring up` for all tests of a file; each test has a GitHub and a receiver of its own."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from packages.mooring.tests.acceptance.world import Up, running_up

from ..demo.__main__ import Demo, running_demo  # type: ignore[import-not-found]
from .contract import held_to_contract  # type: ignore[import-not-found]


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    with running_up("--no-demo") as life:
        yield life


@pytest.fixture
def demo(up: Up, tmp_path: Path) -> contextlib.AbstractAsyncContextManager[Demo]:
    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[Demo]:
        with held_to_contract() as contract:
            async with running_demo(tmp_path, up.state, contract.check) as made:
                yield made

    return running()
