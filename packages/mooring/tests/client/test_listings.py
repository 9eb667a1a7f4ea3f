"""`pools()`, `workers()` and `claims()` of both SDKs, and representations that show no secret."""

import pytest

import mooring
from mooring import AsyncMooring, Mooring, client
from packages.mooring.tests.client.dock import TOKEN, Dock


def test_pools_workers_and_claims_are_typed(dock: Dock):
    pool = dock.pool(warm=2, max=2)
    sdk = Mooring(dock.url, TOKEN)
    with sdk.claim(pool, owner="acme") as claim:
        (found,) = [row for row in sdk.pools("runners") if f"{row.namespace}/{row.name}" == pool]
        assert (found.warm, found.max, found.queued) == (2, 2, 0)
        assert claim.worker.name in {worker.name for worker in sdk.workers(pool)}
        (listed,) = sdk.claims(pool, owner="acme")
        assert (listed.id, listed.state, listed.worker) == (claim.id, "running", claim.worker)
    assert sdk.claims(pool) == []


@pytest.mark.realtime
async def test_the_async_sdk_has_the_same_lists(dock: Dock):
    pool, sdk = dock.pool(), AsyncMooring(dock.url, TOKEN)
    assert await sdk.claims(pool) == []
    assert [worker.state for worker in await sdk.workers(pool)] == ["idle"]
    assert len(await sdk.pools("runners")) >= 1


def test_representations_name_the_object_and_no_secret(dock: Dock):
    pool = dock.pool()
    sdk = Mooring(dock.url, TOKEN)
    claim = sdk.claim(pool, owner="acme", payload={"password": "hunter2"})
    assert repr(sdk) == f"<Mooring at {dock.url}>" and repr(claim) == "<Claim, not open>"
    with claim:
        assert repr(claim) == f"<Claim {claim.id} on {claim.worker.name} at {claim.worker.address}, held>"
        assert "hunter2" not in repr(sdk.claims(pool))
    assert repr(claim).endswith(", over>")
    assert TOKEN not in repr(client.connection.Endpoint(dock.url, TOKEN))


def test_everything_public_is_importable_from_mooring():
    assert set(mooring.__all__) - {"__version__"} == set(client.__all__)
    assert all(getattr(mooring, name) is getattr(client, name) for name in client.__all__)
