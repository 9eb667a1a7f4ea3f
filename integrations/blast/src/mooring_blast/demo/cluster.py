"""Objects of the demo in the cluster of a local `mooring up`."""

from collections.abc import Callable
from pathlib import Path

from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.connection import connect
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import NAMESPACES, SECRETS
from mooring.kinds.resources import WARMUPS
from mooring.model.errors import Unavailable
from mooring_blast.databases.manifest import Catalogue
from mooring_blast.searches.desk import Requests
from mooring_blast.searches.manifests import Site, namespace_body, secret_body, warmup_body

_MANAGER = "mooring-blast"
_WARM_SECONDS = 300.0
_LOOK_SECONDS = 0.5


async def apply_objects(kubeconfig: Path, clock: Clock, site: Site, catalogue: Catalogue, keys: dict[str, str]) -> None:
    """The namespace, the Secret and the Warmup."""
    connection = await connect(load_kubeconfig(kubeconfig).target(""), clock)
    client = KubeClient(connection)
    try:
        await client.apply(NAMESPACES, namespace_body(site), field_manager=_MANAGER)
        await client.apply(SECRETS, secret_body(site, keys), site.namespace, field_manager=_MANAGER)
        await client.apply(WARMUPS, warmup_body(site, catalogue), site.namespace, field_manager=_MANAGER)
    finally:
        await connection.close()


async def until_warm(
    mooring: Requests, site: Site, generation: str, clock: Clock, report: Callable[[str], None]
) -> None:
    """Wait until every shard of the generation is verified on a live node."""
    deadline = clock.monotonic() + _WARM_SECONDS
    while True:
        found = await mooring.request("GET", f"/v1/warmups/{site.namespace}/{site.warmup}")
        status = found["status"]
        line = f"{site.warmup}: {status['phase'] or 'Pending'}, {status['nodesReady']}/{status['nodesTotal']} warm"
        report(line)
        if status["phase"] == "Ready" and found["spec"].get("generation") == generation:
            return
        if clock.monotonic() > deadline:
            raise Unavailable(f"{line} after {_WARM_SECONDS:.0f} s", fix="look at the shards: mooring warmups -n blast")
        await clock.sleep(_LOOK_SECONDS)
