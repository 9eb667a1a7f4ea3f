"""A real S3 server for each test, and a small database in shards."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from hawser.clock import Entropy, SystemClock
from integrations.blast.tests.live import Demo
from integrations.blast.tests.requirements import require_object_store
from integrations.blast.tests.worlds import Shore
from mooring.demo.blast import Dataset, make_dataset
from mooring_blast.demo.object_store import running_store
from mooring_blast.store.client import open_store
from mooring_blast.store.settings import read_settings
from packages.mooring.tests.acceptance.world import running_up
from packages.mooring.tests.requirements import require_blast, require_kubectl


@pytest.fixture
def shore(tmp_path: Path) -> AbstractAsyncContextManager[Shore]:
    """A server and a client."""
    require_object_store()

    @asynccontextmanager
    async def running() -> AsyncIterator[Shore]:
        clock = SystemClock()
        async with (
            running_store(tmp_path / "store", clock, Entropy()) as server,
            open_store(read_settings(server.environment), clock) as store,
        ):
            yield Shore(server, store)

    return running()


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A database in 3 shards, the whole, and queries."""
    require_blast()
    folder = tmp_path_factory.mktemp("dataset")
    folder.chmod(0o755)
    return make_dataset(folder, shards=3, batches=2)


@pytest.fixture(scope="session")
def demo() -> Iterator[Demo]:
    """The demo on a `mooring up` of its own."""
    require_blast()
    require_kubectl()
    require_object_store()
    with running_up("--no-traffic") as up:
        demo = Demo(up)
        with demo.running():
            yield demo
