"""The whole demo: one command beside a `mooring up`."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hawser.clock import Clock, Entropy
from mooring.client.asyncio_runtime import AsyncioRuntime
from mooring.client.connection import find_endpoint
from mooring.demo.blast import is_installed, make_dataset
from mooring.model.errors import Misconfigured
from mooring_blast.databases.manifest import Generation
from mooring_blast.databases.upload import Uploader, read_shards
from mooring_blast.demo.cluster import apply_objects, until_warm
from mooring_blast.demo.object_store import running_store
from mooring_blast.page.host import serve_page
from mooring_blast.searches.desk import Desk
from mooring_blast.searches.manifests import Site
from mooring_blast.store.client import open_store
from mooring_blast.store.patience import Patience
from mooring_blast.store.settings import read_settings

DATASET = "synthetic-nt"
GENERATION = "2026-11"


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the demo takes from its caller."""

    state: Path
    folder: Path
    listen: str
    shards: int = 4


@dataclass(frozen=True, slots=True)
class LocalMooring:
    """The `mooring up` of a state folder. It may be started again, at another address."""

    state: Path

    async def request(self, method: str, path: str, query: None = None, body: object = None) -> Any:
        """As `AsyncioRuntime.request`, at the address of the moment."""
        return await AsyncioRuntime(find_endpoint(state=self.state)).request(method, path, query, body)


async def run_demo(options: DemoOptions, clock: Clock, entropy: Entropy, report: Callable[[str], None]) -> None:
    """Everything until the page is served, and then until it is cancelled."""
    if not is_installed():
        raise Misconfigured("no BLAST on this machine", fix="install the package 'ncbi-blast+'")
    mooring = LocalMooring(options.state)
    dataset = await asyncio.to_thread(make_dataset, options.folder, options.shards)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(running_store(options.folder, clock, entropy))
        store = await stack.enter_async_context(open_store(read_settings(server.environment), clock))
        report(f"object store: {server.url}")
        named = Generation(DATASET, GENERATION)
        uploader = Uploader(store, Patience(clock, entropy), lambda line: None)
        catalogue = await uploader.upload(named, await asyncio.to_thread(read_shards, named, dataset.source))
        site = Site(read_settings(server.environment).address)
        await apply_objects(options.state / "kubeconfig", clock, site, catalogue, dict(server.keys))
        await until_warm(mooring, site, GENERATION, clock, report)
        await serve_page(Desk(store, mooring, site), entropy, options.listen, report)
