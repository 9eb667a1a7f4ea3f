"""One `mooring up` with a warm pool for all tests of a file; each test has a Buildbot master of its own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from integrations.buildbot.demo.__main__ import POOL, WORKERS, pool_spec
from integrations.buildbot.demo.master import Master
from integrations.stage import Stage
from packages.mooring.tests.acceptance.world import Up, running_up


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    with running_up("--no-demo") as life:
        yield life


@pytest.fixture(scope="module")
def stage(up: Up) -> Stage:
    made = Stage(up.state, POOL)
    asyncio.run(made.make(pool_spec()))
    return made


@pytest.fixture
def master(stage: Stage, tmp_path: Path) -> contextlib.AbstractAsyncContextManager[Master]:
    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[Master]:
        made = Master(tmp_path / "master", stage.state, WORKERS)
        try:
            await made.start()
            yield made
        finally:
            made.stop()

    return running()
