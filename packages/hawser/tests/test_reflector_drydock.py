"""The reflector on drydock's API server, in virtual time, through storms by seed."""

import asyncio
from collections.abc import Sequence

import pytest

from drydock import ADMIN, ApiServer, VirtualLoop, run_virtual
from drydock.faults import (
    Answer,
    CutStream,
    FailStream,
    FaultyTransport,
    LagEvents,
    Plan,
    Refuse,
    ReplayOldEvents,
    Rule,
    SilenceStream,
    StaleRead,
)
from hawser.client import KubeClient
from hawser.clock import Entropy
from hawser.credentials import AuthenticatedTransport, Credential, Credentials, FixedCredential, bearer
from hawser.reflector import Pace, Reflector, Scope
from hawser.resources import CONFIGMAPS
from hawser.transport import Transport
from packages.hawser.tests.tiny_api import START
from packages.hawser.tests.witness import Witness

STORM_SECONDS = 600.0
EFFECTS = (
    Refuse(),
    Answer(410, "Expired"),
    Answer(503, retry_after_seconds=2),
    StaleRead(age_seconds=30),
    LagEvents(10),
    ReplayOldEvents(0.3),
    CutStream(5, "inside"),
    SilenceStream(8),
    FailStream(6),
)


def client_of(transport: Transport, namespaces: Sequence[str] = ()) -> KubeClient:
    credentials = Credentials(FixedCredential(Credential(bearer("admin"))), VirtualLoop.running().clock)
    return KubeClient(AuthenticatedTransport(transport, credentials), namespaces=namespaces)


async def stir(api: ApiServer, entropy: Entropy) -> None:
    """Somebody makes, changes and deletes, and now and then etcd forgets."""
    clock = VirtualLoop.running().clock
    client = client_of(api)
    there: set[str] = set()
    while True:
        await clock.sleep(entropy.between(0, 3))
        name = f"object-{entropy.below(12)}"
        if name not in there:
            await client.create(CONFIGMAPS, {"metadata": {"name": name, "namespace": "default"}})
            there.add(name)
        elif entropy.below(4) == 0:
            await client.delete(CONFIGMAPS, name, "default")
            there.remove(name)
        else:
            await client.merge_patch(CONFIGMAPS, name, {"data": {"changed": entropy.token(4)}}, "default")
        if entropy.below(40) == 0:
            api.compact()


def storm(seed: int) -> str:
    async def main() -> str:
        loop = VirtualLoop.running()
        entropy = Entropy(seed)
        api = ApiServer(loop.clock, entropy, tokens={"admin": ADMIN})
        rules = [Rule(effect, probability=0.1, until_seconds=STORM_SECONDS) for effect in EFFECTS if entropy.below(3)]
        faulty = FaultyTransport(api, Plan(rules), loop.clock, entropy)
        reflector = Reflector(
            client_of(faulty),
            CONFIGMAPS,
            clock=loop.clock,
            entropy=entropy,
            scope=Scope("default", page_size=4),
            pace=Pace(relist_seconds=float("inf")),
        )
        witness = Witness()
        reflector.subscribe(witness.hear)
        running = asyncio.create_task(reflector.run())
        stirring = asyncio.create_task(stir(api, entropy))
        await loop.clock.sleep(STORM_SECONDS)
        stirring.cancel()
        await loop.clock.sleep(400)
        listing = await client_of(api).list(CONFIGMAPS, "default")
        truth = {item.metadata.name: item.metadata.resource_version for item in listing.items}
        assert {item.metadata.name: item.metadata.resource_version for item in reflector.cache.values()} == truth
        assert witness.versions == truth
        assert reflector.health.subscriber_failures == 0
        assert reflector.health.last_error == ""
        running.cancel()
        await asyncio.wait((running, stirring))
        await api.close()
        loop.trace.record(f"{truth} {reflector.health}")
        return loop.trace.digest

    return run_virtual(main, seed=seed, start=START)


@pytest.mark.slow
def test_after_any_storm_the_cache_equals_a_list_without_ever_relisting_by_the_clock() -> None:
    for seed in range(25):
        storm(seed)


def test_a_storm_on_drydock_repeats_exactly() -> None:
    assert storm(5) == storm(5)
