"""Gauges of what a leader knows: they end with the object they describe, and with the leadership."""

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from hawser.resources import Resource
from mooring.controllers.pools.metrics import POOL_WORKERS
from mooring.controllers.services.metrics import SERVICE_SERVING
from mooring.controllers.warmups.metrics import WARMUP_SHARDS
from mooring.engine.metrics import LeaderGauge
from mooring.incidents.storage import Storage
from mooring.kinds.resources import MANAGEDSERVICES, WARMUPS, WORKERPOOLS
from mooring.ledger.faults import Fault
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

KINDS = [
    (WORKERPOOLS, "mooring_pool_workers", "pool", {"warm": 1, "max": 1}),
    (WARMUPS, "mooring_warmup_shards", "warmup", {"dataset": "nt", "shards": 1, "image": "f", "command": ["fetch"]}),
    (MANAGEDSERVICES, "mooring_service_serving", "service", {"image": "api:1", "port": 8080}),
]
TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}


@pytest.fixture(autouse=True)
def _forget_other_worlds() -> None:
    """Gauges are of the process: what an earlier control plane set goes when nobody leads."""
    LeaderGauge.export_in(lambda: 0)
    for gauge in (POOL_WORKERS, WARMUP_SHARDS, SERVICE_SERVING):
        gauge.collect()


def scrape(name: str, label: str) -> set[str]:
    """The objects of which a metric has samples."""
    families = text_string_to_metric_families(generate_latest().decode())
    return {sample.labels[label] for family in families for sample in family.samples if sample.name == name}


async def make(world: Harbour, kind: Resource, name: str, spec: dict) -> str:
    template = {"template": TEMPLATE} if kind is WORKERPOOLS else {}
    await world.client.create(kind, {"metadata": {"name": name}, "spec": {**spec, **template}}, NAMESPACE)
    return f"{NAMESPACE}/{name}"


@pytest.mark.world(scripts=Storage().script)
@pytest.mark.parametrize(("kind", "metric", "label", "spec"), KINDS, ids=[label for _, _, label, _ in KINDS])
async def test_an_object_that_is_deleted_is_no_longer_exported(world, kind, metric, label, spec):
    world.start()
    kept, gone = [await make(world, kind, name, spec) for name in ("kept", "gone")]
    await world.clock.sleep(60)
    assert scrape(metric, label) == {kept, gone}
    await world.client.delete(kind, "gone", NAMESPACE)
    await world.clock.sleep(60)
    assert scrape(metric, label) == {kept}


async def test_a_replica_that_no_longer_leads_exports_no_gauges_of_the_fleet(world):
    away = False
    replica = world.start(fault=lambda _: Fault.AWAY if away else Fault.NONE)
    await world.pool(warm=1, max=1)
    await world.until_idle(1)
    assert scrape("mooring_pool_workers", "pool") == {f"{NAMESPACE}/linux"}
    away = True
    await world.clock.sleep(60)
    assert not replica.mooring.leadership.leading
    assert scrape("mooring_pool_workers", "pool") == set()
