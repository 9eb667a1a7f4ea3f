"""The client against a real S3 server: objects, ranges, lists, uploads in parts, and what goes wrong on the way."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from integrations.blast.tests.worlds import NAMED, Proxy, Shore, client, generation_of, names_in, patience, silent
from mooring.demo.blast import Dataset
from mooring.model.errors import Conflict
from mooring_blast.databases.fetch import Fetcher
from mooring_blast.databases.local import describe, verify
from mooring_blast.databases.upload import Uploader, read_shards
from mooring_blast.store.errors import AccessRefused, ObjectMissing, StoreUnavailable
from mooring_blast.store.settings import SECRET_KEY

pytestmark = pytest.mark.realtime

MEBIBYTE = 1024 * 1024
KEYS = ("plain", "with space", "ünïcödé/日本", "a+b=c&d?e#f%20", "quote'\"~.-_")


async def test_objects_come_back_as_they_were_written_under_any_name(shore: Shore) -> None:
    for key in KEYS:
        await shore.store.put(f"names/{key}", key.encode())
    assert [await shore.store.get(f"names/{key}") for key in KEYS] == [key.encode() for key in KEYS]
    listed = await shore.store.list_page("names/")
    assert {entry.key for entry in listed.objects} == {f"names/{key}" for key in KEYS}
    async with shore.store.read("names/plain", 3) as opened:
        assert (opened.start, [chunk async for chunk in opened.chunks]) == (3, [b"in"])
    with pytest.raises(ObjectMissing, match=r"404 NoSuchKey.*fix: upload it"):
        await shore.store.get("names/absent")
    with pytest.raises(ObjectMissing):
        await shore.store.head("names/absent")


async def test_a_list_has_pages(shore: Shore) -> None:
    for number in range(3):
        await shore.store.put(f"many/{number}/x", b"")
    found = await shore.store.list_page("many/", delimiter="/")
    assert found.prefixes == ("many/0/", "many/1/", "many/2/")


async def test_large_files_are_uploaded_in_parts(shore: Shore, tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(os.urandom(MEBIBYTE) * 11)
    file = describe(path)
    await shore.store.put_file("large", path, file.sha256, part_bytes=5 * MEBIBYTE)
    stored = await shore.store.head("large")
    assert (stored.size, stored.sha256) == (file.size, file.sha256)
    assert shore.server.object_path("large").read_bytes() == path.read_bytes()


async def test_wrong_keys_are_refused_and_not_repeated(shore: Shore) -> None:
    async with client({**shore.server.environment, SECRET_KEY: "another-secret"}) as stranger:
        with pytest.raises(AccessRefused, match="403 SignatureDoesNotMatch") as refused:
            await stranger.put("x", b"x")
    assert "another-secret" not in str(refused.value)


async def test_an_upload_is_resumed_and_a_generation_does_not_change(shore: Shore, dataset: Dataset) -> None:
    said: list[str] = []
    shards = read_shards(NAMED, dataset.source)
    first = await shore.upload(dataset)
    assert (first.shards, first.sequences) == (3, 200)
    again = await Uploader(shore.store, patience(), said.append).upload(NAMED, shards)
    assert again == first
    assert all(line.endswith("is there") for line in said) and len(said) > 3
    with pytest.raises(Conflict, match="with other content"):
        await Uploader(shore.store, patience(), silent).upload(NAMED, shards[:2])


async def put_generation(shore: Shore, files: dict[str, bytes]) -> None:
    for key, content in generation_of(files).items():
        await shore.store.put(key, content)


async def test_a_store_that_falls_silent_half_way_is_left_and_the_rest_is_fetched(shore: Shore, tmp_path: Path) -> None:
    await put_generation(shore, {"db.nsq": os.urandom(2 * MEBIBYTE)})
    proxy = Proxy(shore.server)
    proxy.cut_after = 700_000

    def heal(line: str) -> None:
        if "no answer" in line or "ended the answer" in line:
            proxy.cut_after = None

    async with proxy.running() as environment, client(environment, silence=2.0) as store:
        fetched = await Fetcher(store, NAMED, patience(), heal).fetch(0, tmp_path)
        assert fetched.copied == 2 * MEBIBYTE, "no byte was copied twice"
        verify(tmp_path)
        proxy.silent = True
        with pytest.raises(StoreUnavailable, match="nothing has arrived for"):
            await Fetcher(store, NAMED, patience(0.5), silent).fetch(0, tmp_path / "other")
        proxy.silent, proxy.down = False, True
        with pytest.raises(StoreUnavailable, match="no answer from the store"):
            await store.get(NAMED.catalogue_key)
        proxy.down, proxy.refuse = False, True
        with pytest.raises(AccessRefused, match="403"):
            await store.get(NAMED.catalogue_key)


async def test_a_fetch_that_is_killed_goes_on_where_it_was(shore: Shore, tmp_path: Path) -> None:
    content = os.urandom(6 * MEBIBYTE)
    await put_generation(shore, {"db.nin": b"small", "db.nsq": content})
    proxy = Proxy(shore.server)
    proxy.cut_after = 3 * MEBIBYTE
    part = tmp_path / ".parts" / "db.nsq"
    command = (sys.executable, "-m", "mooring_blast", "fetch", "--silence", "60")
    place = {"MOORING_SHARD": "0", "MOORING_SHARD_PATH": str(tmp_path)}
    place |= {"MOORING_DATASET": NAMED.dataset, "MOORING_GENERATION": NAMED.generation}

    async def start(settings: dict[str, str]) -> asyncio.subprocess.Process:
        environment = {**os.environ, **settings, **place}
        return await asyncio.create_subprocess_exec(*command, env=environment, stdout=asyncio.subprocess.PIPE)

    async with proxy.running() as environment:
        first = await start(environment)
        while not (part.exists() and part.stat().st_size > MEBIBYTE):
            await asyncio.sleep(0.02)
        first.send_signal(signal.SIGKILL)
        await first.communicate()
    assert names_in(tmp_path) == set(), "a reader sees nothing of it"
    had = part.stat().st_size
    second = await start(shore.server.environment)
    out, _ = await second.communicate()
    assert second.returncode == 0
    assert f"fetched shard 0: {len(content) - had} bytes copied" in out.decode()
    assert verify(tmp_path).size == len(content) + len(b"small")


async def test_a_missing_and_a_corrupt_object_end_the_fetch_with_their_names(
    shore: Shore, dataset: Dataset, tmp_path: Path
) -> None:
    await shore.upload(dataset)
    flipped, missing = (
        shore.server.object_path(NAMED.key(1, "db.nsq")),
        shore.server.object_path(NAMED.key(2, "db.nin")),
    )
    content = bytearray(flipped.read_bytes())
    content[100] ^= 1
    flipped.write_bytes(content)
    missing.unlink()
    fetcher = Fetcher(shore.store, NAMED, patience(), silent)
    await fetcher.fetch(0, tmp_path / "0")
    for shard, complaint in ((1, r"g1/01/db\.nsq: .*checksum"), (2, r"g1/02/db\.nin: .*404")):
        with pytest.raises(Exception, match=complaint):
            await fetcher.fetch(shard, tmp_path / str(shard))
        assert names_in(tmp_path / str(shard)) == set()


async def run(shore: Shore, *arguments: str, **variables: str) -> tuple[int, str]:
    """One command, with its output and errors."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mooring_blast", *arguments),
        env={**os.environ, **shore.server.environment, **variables},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


async def test_a_database_is_uploaded_and_described_by_commands(shore: Shore, dataset: Dataset) -> None:
    named = ("--dataset", "nt", "--generation", "g1")
    site = ("--node-pool", "blast", "--image", "registry.example/blast:1", "--run-as", "0")
    assert await run(shore, "manifests", *named, *site) == (
        1,
        "mooring-blast: nt g1 is not in the store (fix: mooring-blast upload)\n",
    )
    code, said = await run(shore, "upload", str(dataset.source), *named)
    assert (code, said.splitlines()[-1].split(",")[0]) == (0, "3 shards")
    code, printed = await run(shore, "manifests", *named, *site, "--pod-store", "http://objects.blast.svc:7070/blast")
    namespace, warmup = json.loads(printed)["items"]
    assert (code, namespace["metadata"]["name"], warmup["spec"]["shards"]) == (0, "blast", 3)
    assert {"name": "BLAST_STORE", "value": "http://objects.blast.svc:7070/blast"} in warmup["spec"]["env"]
    code, said = await run(shore, "manifests", *named)
    assert (code, "--node-selector LABEL=VALUE" in said) == (1, True)


@pytest.mark.parametrize("step", ["fetch", "merge"])
async def test_no_command_prints_the_keys(shore: Shore, tmp_path: Path, step: str) -> None:
    variables = {"MOORING_SHARD_PATH": str(tmp_path), "MOORING_SHARD": "0", "BLAST_SEARCH": "absent"}
    code, out = await run(shore, step, **variables, MOORING_DATASET="absent", MOORING_GENERATION="g1")
    assert code == 1 and "404" in out
    assert not any(key in out for key in shore.server.keys.values())
