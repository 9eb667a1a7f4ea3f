"""The control socket of a running cluster: `drydock fault` and `drydock load` reach the process that runs it.

protocol, one JSON line each way: {"do": "fault", "fault", "target"} or {"do": "load", "archive"};
the answer is {} or {"error", "fix"}.
"""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from drydock.nodes.cluster import RealCluster
from drydock.nodes.faults import inject
from hawser.errors import HawserError, Misconfigured

SOCKET = "control.sock"
_ANSWER_SECONDS = 300.0


class FaultFailed(HawserError):
    """The running cluster could not do what was asked."""

    code = "fault_failed"


@contextlib.asynccontextmanager
async def serving_control(folder: Path, cluster: RealCluster) -> AsyncIterator[None]:
    """Answer requests in the folder's socket until the end of the block."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            if line := await reader.readline():
                writer.write(json.dumps(await _perform(cluster, json.loads(line))).encode() + b"\n")
                await writer.drain()
        writer.close()

    with _short_path(folder) as path:
        (folder / SOCKET).unlink(missing_ok=True)
        server = await asyncio.start_unix_server(answer, path)
        os.chmod(folder / SOCKET, 0o600)
    try:
        yield
    finally:
        server.close()
        (folder / SOCKET).unlink(missing_ok=True)


def ask(folder: Path, request: dict[str, str]) -> None:
    """Send a request to the cluster that runs in this folder, and wait until it is done."""
    with socket.socket(socket.AF_UNIX) as connection, contextlib.ExitStack() as stack:
        connection.settimeout(_ANSWER_SECONDS)
        try:
            connection.connect(stack.enter_context(_short_path(folder)))
        except OSError as error:
            fix = "start one with drydock nodes, or choose another --state"
            raise Misconfigured(f"no cluster of real nodes runs in {folder}", fix=fix) from error
        connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile("rb") as lines:
            answer = json.loads(lines.readline() or b'{"error": "the cluster ended"}')
    if "error" in answer:
        raise FaultFailed(answer["error"], fix=answer.get("fix", ""))


async def _perform(cluster: RealCluster, request: dict[str, Any]) -> dict[str, str]:
    try:
        if request["do"] == "load":
            await cluster.load_images(Path(request["archive"]))
        else:
            await inject(cluster, request["fault"], request["target"])
    except (HawserError, OSError) as error:
        message, fix = getattr(error, "message", str(error)), getattr(error, "fix", "")
        return {"error": message, "fix": fix or ""}
    return {}


@contextlib.contextmanager
def _short_path(folder: Path) -> Any:
    """The path of the socket through a descriptor of its folder: addresses of sockets have at most 107 characters."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)
