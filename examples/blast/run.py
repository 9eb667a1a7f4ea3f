"""Warm a sharded BLAST database on the nodes of a local Mooring, search it there, and compare with an unsharded search.

mooring up &
python examples/blast/run.py [--state .state] [--folder FOLDER]
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hawser.client import KubeClient
from hawser.clock import SystemClock
from hawser.connection import connect
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import NAMESPACES
from mooring.client.connection import Connection, find_endpoint
from mooring.demo.blast import make_dataset, search_whole
from mooring.demo.reports import MERGED
from mooring.demo.search import Prepared, Search, prepare_blast
from mooring.kinds.resources import WARMUPS

NAMESPACE = "blast"
WARMUP = "synthetic-nt"
LOCAL_PATH = "/var/lib/blast"
_LOOK_SECONDS = 0.5


def search_in(folder: Path) -> Search:
    """The search of the example, with all its files in one folder."""
    return Search(NAMESPACE, WARMUP, LOCAL_PATH, folder)


async def apply_warmup(kubeconfig: Path, body: dict[str, Any]) -> None:
    """Create the namespace and the Warmup, like kubectl apply."""
    connection = await connect(load_kubeconfig(kubeconfig).target(""), SystemClock())
    client = KubeClient(connection)
    try:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await client.apply(NAMESPACES, namespace, field_manager="example")
        await client.apply(WARMUPS, body, NAMESPACE, field_manager="example")
    finally:
        await connection.close()


def wait_until_warm(mooring: Connection, seconds: float, tell: Callable[[str], None]) -> None:
    """Wait until every shard is verified on a live node."""

    def look() -> str:
        status = mooring.get(f"/v1/warmups/{NAMESPACE}/{WARMUP}")["status"]
        tell(f"{WARMUP}: {status['phase'] or 'Pending'}, {status['nodesReady']}/{status['nodesTotal']} warm")
        return str(status["phase"])

    _wait(look, "Ready", seconds)


def submit(mooring: Connection, search: Search, prepared: Prepared, key: str) -> str:
    """The submission's name. The same key and spec give the same one."""
    search.results.mkdir(parents=True, exist_ok=True)
    body = {"namespace": NAMESPACE, **search.submission_spec(key, prepared.batches)}
    return str(mooring.request("POST", "/v1/submissions", body=body)["name"])


def wait_until_done(mooring: Connection, name: str, seconds: float, tell: Callable[[str], None]) -> None:
    """Wait until the finalizer has merged the reports."""

    def look() -> str:
        seen = mooring.get(f"/v1/submissions/{NAMESPACE}/{name}")["status"]
        tell(f"{name}: {seen['phase']}, {seen['jobs']['succeeded']}/{seen['jobs']['total']} Jobs")
        if seen["phase"] in ("Failed", "Refused"):
            raise SystemExit(f"{name}: {seen['message']}\n{seen['failure']}")
        return str(seen["phase"])

    _wait(look, "Succeeded", seconds)


def _wait(look: Callable[[], str], wanted: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while look() != wanted:
        if time.monotonic() > deadline:
            raise SystemExit(f"not {wanted} after {seconds:.0f} s")
        time.sleep(_LOOK_SECONDS)


class Teller:
    """Prints a line if it differs from the last one."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, line: str) -> None:
        if line != self._last:
            self._last = line
            print(line, flush=True)


def main() -> None:
    """Run the whole example."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, default=Path(".state"))
    parser.add_argument("--folder", type=Path, default=None, help="for the dataset; a new one by default")
    asked = parser.parse_args()
    folder = (asked.folder or Path(tempfile.mkdtemp(prefix="mooring-blast-"))).resolve()
    tell = Teller()
    dataset, search = make_dataset(folder), search_in(folder)
    prepared = prepare_blast(search, dataset)
    mooring = Connection(find_endpoint(state=asked.state))
    asyncio.run(apply_warmup(asked.state / "kubeconfig", prepared.warmup))
    wait_until_warm(mooring, 180, tell)
    wait_until_done(mooring, submit(mooring, search, prepared, folder.name), 300, tell)
    found, expected = (search.results / MERGED).read_text().splitlines(), search_whole(dataset)
    tell(f"{len(found)} hits over {dataset.shards} shards, {len(expected)} in one whole search")
    sys.exit(0 if found == expected else "the hits differ")


if __name__ == "__main__":
    main()
