"""One client library that keeps all pods in memory and follows their changes: the child process of `cache.py`.

Prints one JSON line when it is synced and one when it has seen all changes. Each library is used as its
documentation says: an informer if it has one, otherwise a list in pages of 500 and a watch from the list's version.
"""

import asyncio
import gc
import json
import resource
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

PAGE = 500


class Meter:
    """CPU and memory of this process since the library was loaded and connected."""

    def __init__(self, expected: int, events: int, traced: bool) -> None:
        self.expected = expected
        self.events = events
        self.traced = traced
        self.seen = 0
        self.cache: dict[tuple[str, str], Any] = {}

    def start(self) -> None:
        """Begin the first sync."""
        gc.collect()
        if self.traced:
            tracemalloc.start()
        self._mark()

    def synced(self, count: int) -> None:
        """The whole list is in memory; changes follow."""
        cpu, wall = self._since()
        assert count >= self.expected, f"{count} objects of {self.expected}"
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] if self.traced else 0
        report(objects=count, cpu=cpu, wall=wall, resident=resident_bytes() - self._resident, held=held)
        tracemalloc.stop()
        self._mark()

    def event(self) -> bool:
        """One change is in memory; True if it was the last."""
        self.seen += 1
        if self.seen == self.events:
            report(events_cpu=self._since()[0] / self.events)
        return self.seen >= self.events

    def put(self, namespace: str, name: str, item: Any) -> None:
        self.cache[namespace, name] = item

    def _mark(self) -> None:
        self._resident = resident_bytes()
        self._cpu, self._wall = cpu_seconds(), time.perf_counter()

    def _since(self) -> tuple[float, float]:
        return cpu_seconds() - self._cpu, time.perf_counter() - self._wall


def report(**values: float) -> None:
    print(json.dumps(values), flush=True)


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


async def hawser(kubeconfig: str, meter: Meter) -> None:
    from hawser.client import KubeClient
    from hawser.clock import Entropy, SystemClock
    from hawser.connection import connect
    from hawser.kubeconfig import load_kubeconfig
    from hawser.reflector import Reflector, Scope
    from hawser.resources import NODES, PODS

    clock = SystemClock()
    connection = await connect(load_kubeconfig(kubeconfig).target(), clock)
    client = KubeClient(connection)
    await client.list(NODES)
    reflector = Reflector(client, PODS, clock=clock, entropy=Entropy(), scope=Scope(page_size=PAGE))
    meter.start()
    running = asyncio.create_task(reflector.run())
    await reflector.wait_synced()
    meter.synced(len(reflector.cache))
    finished = asyncio.Event()
    reflector.subscribe(lambda change: finished.set() if meter.event() else None)
    await finished.wait()
    running.cancel()
    await asyncio.wait((running,))
    await connection.close()


async def lightkube(kubeconfig: str, meter: Meter) -> None:
    from lightkube import AsyncClient, KubeConfig
    from lightkube.resources.core_v1 import Node, Pod

    client = AsyncClient(config=KubeConfig.from_file(kubeconfig))
    assert [item async for item in client.list(Node)]
    meter.start()
    listing = client.list(Pod, namespace="*", chunk_size=PAGE)
    async for item in listing:
        meter.put(item.metadata.namespace, item.metadata.name, item)
    meter.synced(len(meter.cache))
    async for _, item in client.watch(Pod, namespace="*", resource_version=listing.resourceVersion):
        meter.put(item.metadata.namespace, item.metadata.name, item)
        if meter.event():
            return


async def official(kubeconfig: str, meter: Meter) -> None:
    from kubernetes import client, config
    from kubernetes.informer import MODIFIED, SharedInformer

    config.load_kube_config(kubeconfig)
    core = client.CoreV1Api()
    core.list_node()
    informer = SharedInformer(core.list_pod_for_all_namespaces)
    finished = threading.Event()
    meter.start()
    informer.start()
    while informer._resource_version is None:  # the informer does not report that it has synced
        time.sleep(0.005)
    meter.synced(len(informer.cache.list()))
    informer.add_event_handler(MODIFIED, lambda item: finished.set() if meter.event() else None)
    finished.wait()


async def kubernetes_asyncio(kubeconfig: str, meter: Meter) -> None:
    from kubernetes_asyncio import client, config, watch

    await config.load_kube_config(kubeconfig)
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        await core.list_node()
        meter.start()
        token = ""
        while True:
            page = await core.list_pod_for_all_namespaces(limit=PAGE, _continue=token)
            for item in page.items:
                meter.put(item.metadata.namespace, item.metadata.name, item)
            token = page.metadata._continue
            if not token:
                break
        meter.synced(len(meter.cache))
        version = page.metadata.resource_version
        async with watch.Watch().stream(core.list_pod_for_all_namespaces, resource_version=version) as stream:
            async for event in stream:
                item = event["object"]
                meter.put(item.metadata.namespace, item.metadata.name, item)
                if meter.event():
                    return


async def kr8s(kubeconfig: str, meter: Meter) -> None:
    import kr8s.asyncio

    api = await kr8s.asyncio.api(kubeconfig=kubeconfig)
    assert [item async for item in api.get("nodes")]
    meter.start()
    async for item in api.get("pods", namespace=kr8s.ALL):
        meter.put(item.namespace, item.name, item)
    meter.synced(len(meter.cache))
    newest = str(max(int(item.raw["metadata"]["resourceVersion"]) for item in meter.cache.values()))
    async for _, item in api.async_watch("pods", namespace=kr8s.ALL, since=newest):
        meter.put(item.namespace, item.name, item)
        if meter.event():
            return


CONTENDERS: dict[str, Callable[[str, Meter], Coroutine[Any, Any, None]]] = {
    "hawser": hawser,
    "lightkube": lightkube,
    "kubernetes": official,
    "kubernetes_asyncio": kubernetes_asyncio,
    "kr8s": kr8s,
}


def main() -> None:
    name, kubeconfig, expected, events, traced = sys.argv[1:]
    asyncio.run(CONTENDERS[name](kubeconfig, Meter(int(expected), int(events), traced == "traced")))


if __name__ == "__main__":
    main()
