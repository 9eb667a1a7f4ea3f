"""What each command of `mooring-blast` does. Page and demo are imported late: pods need neither."""

import asyncio
import json
import os
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hawser.clock import Entropy, SystemClock
from mooring.client.asyncio_runtime import AsyncioRuntime
from mooring.client.connection import find_endpoint
from mooring.demo.blast import check_database
from mooring.model.errors import InvalidInput, NotFound
from mooring_blast.databases.fetch import Fetcher
from mooring_blast.databases.local import verify as verify_shard
from mooring_blast.databases.manifest import Generation, check_generation
from mooring_blast.databases.upload import Uploader, read_shards
from mooring_blast.searches.manifests import Site, namespace_body, warmup_body
from mooring_blast.searches.steps import Steps
from mooring_blast.store.client import ObjectStore, open_store
from mooring_blast.store.errors import ObjectDamaged
from mooring_blast.store.patience import PATIENCE_SECONDS, Patience
from mooring_blast.store.settings import parse_address, read_settings

_CLOCK = SystemClock()
_ENTROPY = Entropy()


async def upload(asked: Namespace) -> None:
    """Upload a generation."""
    named = check_generation(Generation(asked.dataset, asked.generation))
    shards = await asyncio.to_thread(read_shards, named, asked.folder)
    async with _store() as store:
        catalogue = await Uploader(store, _patience(), _say).upload(named, shards)
    _say(f"{catalogue.shards} shards, {catalogue.sequences} sequences, {catalogue.letters} letters")


async def manifests(asked: Namespace) -> None:
    """Print what `kubectl apply -f -` takes."""
    named, site = check_generation(Generation(asked.dataset, asked.generation)), _site(asked)
    async with _store() as store:
        catalogue = await Uploader(store, _patience(), _say).find(named)
    if catalogue is None:
        raise NotFound(f"{named.dataset} {named.generation} is not in the store", fix="mooring-blast upload")
    items = [namespace_body(site), warmup_body(site, catalogue)]
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2))


async def page(asked: Namespace) -> None:
    """Serve the page."""
    from mooring_blast.page.host import serve_page
    from mooring_blast.searches.desk import Desk

    mooring = AsyncioRuntime(find_endpoint(state=asked.state))
    async with _store() as store:
        await serve_page(Desk(store, mooring, _site(asked)), _ENTROPY, asked.listen, _say)


async def query(asked: Namespace) -> None:
    """Send a query to the page; hits go to stdout."""
    import aiohttp

    from mooring_blast.page.client import PageClient

    try:
        text = asked.file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("file", str(asked.file), f"a readable file in FASTA ({error})") from error
    timeout = aiohttp.ClientTimeout(total=60.0)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        client = PageClient(session, asked.page.rstrip("/"), _CLOCK)
        print(await client.search(_ENTROPY.token(10), text, _Changes(), asked.timeout), end="")


async def demo(asked: Namespace) -> None:
    """Everything on a local `mooring up`."""
    from mooring_blast.demo.run import DemoOptions, run_demo

    folder = (asked.folder or asked.state / "blast").resolve()
    await run_demo(DemoOptions(asked.state, folder, asked.listen), _CLOCK, _ENTROPY, _Changes())


async def fetch(asked: Namespace) -> None:
    """Fetch a shard."""
    named = Generation(asked.dataset, asked.generation)
    async with _store(asked.silence) as store:
        fetcher = Fetcher(store, named, Patience(_CLOCK, _ENTROPY, asked.patience), _say)
        fetched = await fetcher.fetch(asked.shard, asked.folder)
    _say(f"fetched shard {asked.shard}: {fetched.copied} bytes copied, the rest was there already")


async def verify(asked: Namespace) -> None:
    """Verify a shard: checksums, and the opinion of BLAST."""
    manifest = await asyncio.to_thread(verify_shard, asked.folder)
    if problem := await asyncio.to_thread(check_database, asked.folder, manifest.database):
        raise ObjectDamaged(f"{asked.folder}: {problem}")
    _say(f"verified {len(manifest.files)} files: every checksum is right, and BLAST finds the database sound")


async def batch(asked: Namespace) -> None:
    """Search one shard."""
    async with _store() as store:
        _say(await Steps(store, _patience(), asked.search).run_batch(asked.batch, asked.shard, asked.folder))


async def merge(asked: Namespace) -> None:
    """Merge all reports."""
    async with _store() as store:
        _say(await Steps(store, _patience(), asked.search).run_merge())


@asynccontextmanager
async def _store(silence_seconds: float = 30.0) -> AsyncIterator[ObjectStore]:
    async with open_store(read_settings(os.environ), _CLOCK, silence_seconds) as store:
        yield store


def _patience() -> Patience:
    return Patience(_CLOCK, _ENTROPY, PATIENCE_SECONDS)


def _site(asked: Namespace) -> Site:
    pairs = [entry.partition("=") for entry in asked.node_selector]
    selector = {label: value for label, _, value in pairs}
    placement = {"nodePool": asked.node_pool} if asked.node_pool else {}
    if not placement and not selector:
        raise InvalidInput("node-pool", "", "the name of a node pool; or give --node-selector LABEL=VALUE")
    address = read_settings(os.environ).address
    return Site(
        address=parse_address(asked.pod_store, address.region) if asked.pod_store else address,
        namespace=asked.namespace,
        warmup=asked.warmup,
        secret=asked.secret,
        image=asked.image,
        python=asked.python,
        local_path=asked.local_path,
        run_as=asked.run_as,
        placement={**placement, **({"nodeSelector": selector} if selector else {})},
    )


def _say(line: str) -> None:
    print(line, flush=True)


class _Changes:
    """Prints a line to stderr if it differs from the last one."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, line: str) -> None:
        if line != self._last:
            self._last = line
            os.write(2, f"{line}\n".encode())
