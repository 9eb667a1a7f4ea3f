"""The fleet page in Chromium: how soon it shows 2,000 workers, and its frames while 50 of them change a second.

    python -m benchmarks.fleet_page [--workers 2000] [--changes 50] [--seconds 10]

Mooring and the embedded Kubernetes run in one process, Chromium in others. Needs Chromium.
"""

import argparse
import asyncio
import contextlib
import shutil
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial

from playwright.sync_api import Page, sync_playwright

from benchmarks.bars import Bar, judge, note
from benchmarks.doctor import NAMESPACE, furnish, open_cluster
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.resources import PODS
from mooring.api.access.control import AccessOptions
from mooring.api.hosting import bind
from mooring.app import Adapters, Dependencies, ReplicaOptions
from mooring.cli.launch.process import Entrance, configure_logs, run_process
from mooring.controllers.activity import PolledActivity
from mooring.controllers.pools.probe import HttpProbe
from mooring.incidents.documents import StagedDocuments
from mooring.incidents.fakes import Gateway, Mint
from mooring.kinds.installation import install_crds
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.planning.destinations import THIS_MACHINE

OPEN_SECONDS = 1.0
FRAMES_A_SECOND = 30.0
OPENED = 5  # times; the median counts

_COUNT = """seconds => new Promise(done => {
  const frames = [], tiles = new Set();
  const seen = new MutationObserver(all => {
    for (const one of all) for (const node of one.addedNodes) if (node.id) tiles.add(node.id);
  });
  seen.observe(document.getElementById("grid"), {childList: true});
  const begun = performance.now();
  function tick(at) {
    frames.push(at);
    if (at - begun < seconds * 1000) return requestAnimationFrame(tick);
    seen.disconnect();
    done({frames: frames.map(frame => frame - begun), tiles: tiles.size});
  }
  requestAnimationFrame(tick);
})"""


async def serve(workers: int, changes: float) -> None:
    """Print the address when all workers are known; change workers from the first line on stdin on, until its end."""
    configure_logs("error")
    clock, entropy = SystemClock(), Entropy(1)
    _, client = open_cluster(clock, entropy)
    await install_crds(client, clock)
    await furnish(client, workers)
    adapters = Adapters(Mint(), PolledActivity(clock), StagedDocuments(), HttpProbe(THIS_MACHINE), Gateway())
    ledger = MemoryLedger(MemoryStore(), clock=clock, entropy=entropy)
    given = Dependencies(client, ledger, clock, entropy, ReplicaOptions("bench"), adapters)
    stop = asyncio.Event()
    with contextlib.closing(bind("127.0.0.1", 0)) as listener:
        announce = partial(print, f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        moving = asyncio.create_task(_change(client, workers, changes, stop))
        await run_process(given, Entrance([listener], AccessOptions("bench", open_pages=True)), stop, announce)
        moving.cancel()


async def _change(client: KubeClient, workers: int, changes: float, stop: asyncio.Event) -> None:
    """Workers become unready and ready again, one after another."""
    if not await _line():
        return stop.set()
    ending = asyncio.create_task(_line())
    number = 0
    while not ending.done():
        number += 1
        ready = str(number // workers % 2 == 1)
        conditions = [{"type": "Ready", "status": ready}, {"type": "PodScheduled", "status": "True"}]
        status = {"status": {"phase": "Running", "conditions": conditions}}
        name = f"linux-{number * 37 % workers}"  # over all nodes
        await client.merge_patch(PODS, name, status, NAMESPACE, subresource="status")
        await asyncio.sleep(1 / changes)
    return stop.set()


async def _line() -> str:
    """The next line of stdin, read by a thread of its own; empty at its end."""
    loop, found = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

    def read() -> None:
        line = sys.stdin.readline()
        loop.call_soon_threadsafe(found.set_result, line)

    threading.Thread(target=read, daemon=True).start()
    return str(await found)


@contextlib.contextmanager
def serving(arguments: argparse.Namespace) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The address of a Mooring in another process."""
    words = ["--serve", "--workers", str(arguments.workers), "--changes", str(arguments.changes)]
    command = [sys.executable, "-m", "benchmarks.fleet_page", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def open_once(page: Page, url: str, workers: int) -> float:
    """Seconds until the page is complete, with all workers on its map."""
    page.goto(url)
    page.wait_for_selector(".tile .cells")
    shown = page.eval_on_selector_all(".tile", "all => all.reduce((sum, tile) => sum + Number(tile.dataset.cells), 0)")
    assert shown == workers, f"{shown} of {workers} workers are on the map"
    milliseconds: float = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    return milliseconds / 1000


def measure(page: Page, url: str, process: "subprocess.Popen[str]", arguments: argparse.Namespace) -> int:
    """Open the page several times, then follow the changes."""
    opened = [open_once(page, url, arguments.workers) for _ in range(OPENED)]
    assert process.stdin is not None
    process.stdin.write("change\n")
    process.stdin.flush()
    page.wait_for_timeout(2000)
    found = page.evaluate(_COUNT, arguments.seconds)
    seconds = [sum(int(frame // 1000) == second for frame in found["frames"]) for second in range(arguments.seconds)]
    note("Frames in each second", [["second", "frames"], *([str(at), str(count)] for at, count in enumerate(seconds))])
    tiles = arguments.workers // 20
    return judge(
        [
            Bar(
                "the page opens, median, s", statistics.median(opened), OPEN_SECONDS, spread=(min(opened), max(opened))
            ),
            Bar(
                "frames a second, fewest",
                min(seconds),
                FRAMES_A_SECOND,
                at_least=True,
                spread=(min(seconds), max(seconds)),
            ),
            Bar("part of the nodes that changed on the page", found["tiles"] / tiles, 0.5, at_least=True),
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2000)
    parser.add_argument("--changes", type=float, default=50.0)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.workers, arguments.changes))
        return 0
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        print("no Chromium (fix: install the package 'chromium')")
        return 0
    with serving(arguments) as (url, process), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        return measure(browser.new_page(viewport={"width": 1400, "height": 1000}), url, process, arguments)


if __name__ == "__main__":
    sys.exit(main())
