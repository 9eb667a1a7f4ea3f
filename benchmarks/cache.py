"""The cost of a cache of all pods of a cluster: hawser's reflector beside other Python clients.

    python -m benchmarks.cache [--pods 5000] [--changes 1000] [--rounds 3] [--only hawser,lightkube]

Starts a real control plane, fills it with pods of about 8 KB, and lets each client, in its own process, list them all
and follow changes. CPU is that of the client's process (user and system); "held" is the memory of the objects
(tracemalloc, in a separate run), "resident" the growth of the process. The median of the rounds is shown. The bars
are about the cost of a pod, and of lightkube's cost: 1/4 of its CPU for the first sync, 1/2 of its held memory.
Needs the programs of `make kubernetes`.
"""

import argparse
import asyncio
import json
import statistics
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import cache_pods
from benchmarks.bars import Bar, judge
from benchmarks.cache_contenders import CONTENDERS
from drydock import ControlPlane, PlaneOptions
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.connection import connect
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import NAMESPACES, NODES, PODS
from hawser.views.base import format_time

CLOCK = SystemClock()
WRITERS = 16
CHANGES_PER_SECOND = 150
CPU_BAR, MEMORY_BAR = 0.25, 0.5  # of lightkube's
POD_CPU_BAR_MS, POD_BAR_KB = 0.05, 7.0


@dataclass(frozen=True)
class Cost:
    """The cost of one client."""

    cpu: float
    wall: float
    held: float
    resident: float
    event_cpu: float


async def main(arguments: argparse.Namespace) -> int:
    options = PlaneOptions(node_monitor_grace_seconds=86_400)  # these nodes send no heartbeats
    async with (
        ControlPlane.start(None, clock=CLOCK, entropy=Entropy(), options=options) as plane,
        connected(plane.kubeconfig) as client,
    ):
        await fill(client, arguments.pods)
        await describe(client, arguments.pods)
        costs = {}
        for name in arguments.only:
            rounds = [await measure(name, plane.kubeconfig, client, arguments) for _ in range(arguments.rounds)]
            costs[name] = middle(rounds)
            print(f"  measured {name}", file=sys.stderr)
    print_table(costs, arguments.pods)
    return judge(bars_of(costs, arguments.pods))


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[KubeClient]:
    connection = await connect(load_kubeconfig(kubeconfig).target(), CLOCK)
    try:
        yield KubeClient(connection)
    finally:
        await connection.close()


async def fill(client: KubeClient, pods: int) -> None:
    """Create nodes that are Ready, and pods that are Running on them."""
    now = format_time(CLOCK.now())
    await client.create(NAMESPACES, {"metadata": {"name": cache_pods.NAMESPACE}})
    for number in range(cache_pods.NODES):
        body = cache_pods.node(number, now)
        await client.create(NODES, body)
        await client.merge_patch(NODES, body["metadata"]["name"], {"status": body["status"]}, subresource="status")

    async def write(number: int) -> None:
        body = cache_pods.pod(number)
        name = body["metadata"]["name"]
        await client.create(PODS, body)
        status = {"status": cache_pods.status(number, now)}
        await client.merge_patch(PODS, name, status, cache_pods.NAMESPACE, subresource="status")

    await in_parallel(write, range(pods))


async def in_parallel(write: Callable[[int], Awaitable[None]], numbers: Iterable[int]) -> None:
    left = iter(numbers)

    async def worker() -> None:
        for number in left:
            await write(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(WRITERS):
            group.create_task(worker())


async def describe(client: KubeClient, pods: int) -> None:
    page = await client.list_page(PODS.raw(), cache_pods.NAMESPACE, limit=50)
    sizes = [len(json.dumps(item, separators=(",", ":"))) for item in page.items]
    print(f"{pods} pods of {statistics.mean(sizes) / 1024:.1f} KB on average\n")


async def measure(name: str, kubeconfig: Path, client: KubeClient, arguments: argparse.Namespace) -> Cost:
    plain = await run_child(name, kubeconfig, client, arguments, traced=False)
    traced = await run_child(name, kubeconfig, client, arguments, traced=True)
    return Cost(plain["cpu"], plain["wall"], traced["held"], plain["resident"], plain["events_cpu"])


async def run_child(
    name: str, kubeconfig: Path, client: KubeClient, arguments: argparse.Namespace, *, traced: bool
) -> dict[str, float]:
    changes = 1 if traced else arguments.changes
    script = str(Path(__file__).with_name("cache_contenders.py"))
    mode = "traced" if traced else "plain"
    child = await asyncio.create_subprocess_exec(
        sys.executable, script, name, str(kubeconfig), str(arguments.pods), str(changes), mode, stdout=-1
    )
    assert child.stdout is not None
    try:
        figures: dict[str, float] = json.loads(await child.stdout.readline())
        await CLOCK.sleep(1.0)  # until its watch is open
        changing = asyncio.create_task(change(client, arguments.pods, changes))
        figures |= json.loads(await child.stdout.readline())
        await changing
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
    return figures


async def change(client: KubeClient, pods: int, changes: int) -> None:
    """Send small patches at a constant rate."""
    due = CLOCK.monotonic()
    for number in range(changes):
        due += 1 / CHANGES_PER_SECOND
        await CLOCK.sleep(max(0.0, due - CLOCK.monotonic()))
        name = cache_pods.pod(number * 7919 % pods)["metadata"]["name"]
        patch = {"metadata": {"annotations": {"bench/changed": str(due)}}}
        await client.merge_patch(PODS, name, patch, cache_pods.NAMESPACE)


def middle(rounds: list[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(each, field) for each in rounds) for field in Cost.__annotations__))


def print_table(costs: dict[str, Cost], pods: int) -> None:
    ours = costs["hawser"]
    header = ("client", "sync CPU s", "sync wall s", "held MB", "resident MB", "KB a pod", "event CPU us")
    print("  ".join(f"{title:>18}" for title in header))
    for name, cost in costs.items():
        row = (
            name,
            f"{cost.cpu:.3f} ({cost.cpu / ours.cpu:.1f}x)",
            f"{cost.wall:.2f} ({cost.wall / ours.wall:.1f}x)",
            f"{cost.held / 1e6:.1f} ({cost.held / ours.held:.1f}x)",
            f"{cost.resident / 1e6:.0f} ({cost.resident / ours.resident:.1f}x)",
            f"{cost.held / pods / 1024:.1f}",
            f"{cost.event_cpu * 1e6:.0f} ({cost.event_cpu / ours.event_cpu:.1f}x)",
        )
        print("  ".join(f"{cell:>18}" for cell in row))


def bars_of(costs: dict[str, Cost], pods: int) -> list[Bar]:
    """The cost of a pod, and comparisons with lightkube if it was measured."""
    ours, theirs = costs["hawser"], costs.get("lightkube")
    bars = [
        Bar("CPU-ms of the first sync a pod", ours.cpu / pods * 1e3, POD_CPU_BAR_MS),
        Bar("held KB a pod", ours.held / pods / 1024, POD_BAR_KB),
    ]
    if theirs is None:
        return bars
    return [
        *bars,
        Bar("CPU of the first sync over lightkube's", ours.cpu / theirs.cpu, CPU_BAR),
        Bar("held memory over lightkube's", ours.held / theirs.held, MEMORY_BAR),
    ]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--changes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(CONTENDERS))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(parse(sys.argv[1:]))))
