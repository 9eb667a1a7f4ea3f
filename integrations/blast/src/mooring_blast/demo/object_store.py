"""An S3 server on loopback: the program that `tools/object-store` builds, with its objects in a folder."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hawser.clock import Clock, Entropy
from mooring.model.errors import Misconfigured, Unavailable
from mooring_blast.store.settings import ACCESS_KEY, SECRET_KEY, STORE

BUCKET = "blast"
_HOST = "127.0.0.1"
_START_SECONDS = 30.0
_LOOK_SECONDS = 0.05
_STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class LocalStore:
    """A running server: what its clients have to know, as variables."""

    url: str
    folder: Path
    keys: Mapping[str, str] = field(repr=False)
    process: asyncio.subprocess.Process = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """The settings of a client."""
        return {STORE: self.url, **self.keys}

    def object_path(self, key: str) -> Path:
        """The file that holds an object."""
        return self.folder / BUCKET / key


def find_program() -> Path:
    """The newest one in the cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    built = sorted((cache / "drydock" / "object-store").glob("v*/versitygw"))
    if not built:
        raise Misconfigured("no S3 server on this machine", fix="build it once: make object-store")
    return built[-1]


@asynccontextmanager
async def running_store(folder: Path, clock: Clock, entropy: Entropy) -> AsyncIterator[LocalStore]:
    """A server with new keys; it ends with the block. Its objects stay."""
    program = find_program()
    port = _free_port()
    objects, sidecar = folder / "objects", folder / "metadata"
    for path in (objects / BUCKET, sidecar):
        path.mkdir(parents=True, exist_ok=True)
    keys = {ACCESS_KEY: entropy.token(10), SECRET_KEY: entropy.token(20)}
    variables = {"ROOT_ACCESS_KEY": keys[ACCESS_KEY], "ROOT_SECRET_KEY": keys[SECRET_KEY]}
    with open(folder / "object-store.log", "ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(str(program), "--port", f"{_HOST}:{port}", "--quiet"),
            *("posix", "--sidecar", str(sidecar), str(objects)),
            env={**os.environ, **variables},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        await _until_listening(process, port, clock)
        yield LocalStore(f"http://{_HOST}:{port}/{BUCKET}", objects, keys, process)
    finally:
        await _stop(process)


async def _until_listening(process: asyncio.subprocess.Process, port: int, clock: Clock) -> None:
    deadline = clock.monotonic() + _START_SECONDS
    while True:
        try:
            _, writer = await asyncio.open_connection(_HOST, port)
        except OSError as error:
            if process.returncode is not None or clock.monotonic() > deadline:
                raise Unavailable("the S3 server did not start", fix="see object-store.log in its folder") from error
            await clock.sleep(_LOOK_SECONDS)
        else:
            writer.close()
            return


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])
