"""Requests to an object store: each is signed, bounded in time and tried once. `patience` repeats them."""

import asyncio
import contextlib
import hashlib
import io
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from yarl import URL

from hawser.clock import Clock
from mooring_blast.store.answers import (
    Listing,
    check_completed,
    classify_answer,
    completion_body,
    read_listing,
    read_upload_id,
)
from mooring_blast.store.errors import ObjectDamaged, StoreError, StoreUnavailable
from mooring_blast.store.settings import StoreSettings
from mooring_blast.store.signature import EMPTY_SHA256, Request, sign

CHUNK_BYTES = 256 * 1024
PART_BYTES = 64 * 1024 * 1024  # of an upload: S3 takes 10,000 parts, so files up to 640 GB
_SMALL_BYTES = 16 * 1024 * 1024
_CONNECT_SECONDS = 10.0
_SHA256 = "x-amz-meta-sha256"


@dataclass(frozen=True, slots=True)
class Stored:
    """An object: its size, and the checksum that its uploader gave it, if any."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Opened:
    """The content of an object from a place on. A store that ignores ranges starts at 0."""

    start: int
    chunks: AsyncIterator[bytes]


class ObjectStore:
    """A bucket of an object store."""

    def __init__(self, session: aiohttp.ClientSession, settings: StoreSettings, clock: Clock) -> None:
        self._session = session
        self._settings = settings
        self._clock = clock

    async def head(self, key: str) -> Stored:
        """Size and checksum of an object."""
        async with self._send("HEAD", key) as answer:
            return Stored(int(answer.headers.get("Content-Length", 0)), answer.headers.get(_SHA256, ""))

    @asynccontextmanager
    async def read(self, key: str, start: int = 0) -> AsyncIterator[Opened]:
        """Stream an object from `start` on."""
        headers = {"Range": f"bytes={start}-"} if start else {}
        async with self._send("GET", key, headers=headers) as answer:
            begins = _range_start(answer.headers.get("Content-Range", "")) if answer.status == 206 else 0
            yield Opened(begins, self._chunks(answer, key))

    async def get(self, key: str, limit: int = _SMALL_BYTES) -> bytes:
        """A small object as a whole."""
        pieces: list[bytes] = []
        async with self.read(key) as opened:
            async for chunk in opened.chunks:
                pieces.append(chunk)
                if sum(map(len, pieces)) > limit:
                    raise ObjectDamaged(f"{key} is larger than {limit} bytes", fix="is it the right object?")
        return b"".join(pieces)

    async def put(self, key: str, content: bytes, content_type: str = "application/octet-stream") -> None:
        """Write an object. A reader sees the old content or the new one, never a part."""
        digest = hashlib.sha256(content).hexdigest()
        headers = {"Content-Type": content_type, _SHA256: digest}
        async with self._send("PUT", key, headers=headers, content=content):
            return

    async def put_file(self, key: str, path: Path, sha256: str, part_bytes: int = PART_BYTES) -> None:
        """Write a file, in parts if it is large. An upload that fails half-way leaves no object."""
        if (whole := await asyncio.to_thread(_read_small, path, part_bytes)) is not None:
            await self.put(key, whole)
            return
        async with self._send("POST", key, query={"uploads": ""}, headers={_SHA256: sha256}) as answer:
            upload = read_upload_id(await answer.read())
        try:
            tags = await self._put_parts(key, path, upload, part_bytes)
            body = completion_body(tags)
            async with self._send("POST", key, query={"uploadId": upload}, content=body) as answer:
                check_completed(await answer.read(), key)
        except BaseException:
            with contextlib.suppress(StoreError):  # the first error counts; parts that stay are no object
                async with self._send("DELETE", key, query={"uploadId": upload}):
                    pass
            raise

    async def list_page(self, prefix: str, token: str = "", delimiter: str = "") -> Listing:
        """One page of the objects whose keys begin so; the keys of the answer include the prefix of the store."""
        query = {"list-type": "2", "prefix": self._settings.address.full(prefix)}
        query |= {"continuation-token": token} if token else {}
        query |= {"delimiter": delimiter} if delimiter else {}
        async with self._send("GET", None, query=query) as answer:
            return read_listing(await answer.read())

    async def _put_parts(self, key: str, path: Path, upload: str, part_bytes: int) -> list[str]:
        tags: list[str] = []
        for number, part in enumerate(_parts(path, part_bytes), 1):
            query = {"partNumber": str(number), "uploadId": upload}
            async with self._send("PUT", key, query=query, content=part) as answer:
                tags.append(answer.headers.get("ETag", ""))
        return tags

    async def _chunks(self, answer: aiohttp.ClientResponse, key: str) -> AsyncIterator[bytes]:
        try:
            async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise _unavailable(f"GET {key}", error) from error

    @asynccontextmanager
    async def _send(
        self,
        method: str,
        key: str | None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        address = self._settings.address
        digest = hashlib.sha256(content).hexdigest() if content else EMPTY_SHA256
        path = f"/{address.bucket}" if key is None else address.path(key)
        request = Request(method, address.host, path, query or {}, headers or {}, digest)
        signed = sign(request, self._settings.credentials(), address.region, self._clock.now())
        target = URL(address.endpoint + request.target, encoded=True)
        what = f"{method} {key if key is not None else f'list of {address.bucket}'}"
        try:
            sent = await self._session.request(
                method, target, headers=signed, data=io.BytesIO(content) if content else None, allow_redirects=False
            )
        except (aiohttp.ClientError, OSError) as error:  # a TimeoutError is an OSError
            raise _unavailable(what, error) from error
        async with sent as answer:
            if answer.status not in (200, 204, 206):
                raise classify_answer(answer.status, await _body(answer), what)
            yield answer


@asynccontextmanager
async def open_store(
    settings: StoreSettings, clock: Clock, silence_seconds: float = 30.0
) -> AsyncIterator[ObjectStore]:
    """A store. An answer of which nothing comes for `silence_seconds` has failed."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=silence_seconds)
    connector = aiohttp.TCPConnector(ssl=settings.tls())
    async with aiohttp.ClientSession(timeout=timeout, connector=connector, auto_decompress=False) as session:
        yield ObjectStore(session, settings, clock)


def _read_small(path: Path, limit: int) -> bytes | None:
    """The content, None if it is larger than `limit`."""
    return path.read_bytes() if path.stat().st_size <= limit else None


def _parts(path: Path, part_bytes: int) -> Iterator[bytes]:
    """One at a time in memory."""
    with path.open("rb") as file:
        while part := file.read(part_bytes):
            yield part


async def _body(answer: aiohttp.ClientResponse) -> bytes:
    try:
        return await answer.content.read(64 * 1024)
    except (aiohttp.ClientError, OSError):
        return b""  # the status is enough to classify it


def _range_start(value: str) -> int:
    """Of `bytes 100-199/200`."""
    unit, _, rest = value.partition(" ")
    first = rest.partition("-")[0]
    if unit != "bytes" or not first.isdigit():
        raise StoreUnavailable(f"the store answers a part and calls it {value!r}")
    return int(first)


def _unavailable(what: str, error: Exception) -> StoreUnavailable:
    return StoreUnavailable(f"{what}: no answer from the store: {str(error) or type(error).__name__}")
