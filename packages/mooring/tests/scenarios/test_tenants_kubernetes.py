"""Owners kept apart on a real control plane and a real PostgreSQL; only the containers are simulated."""

import asyncio
from collections import defaultdict

import pytest

from drydock import plain_nodes
from mooring.incidents.real_stage import open_real_stage
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import MooringError
from packages.mooring.tests.requirements import require_kubernetes

pytestmark = [pytest.mark.kubernetes, pytest.mark.realtime]

POOL = f"{NAMESPACE}/linux"
MINT = {"url": "http://127.0.0.1:1/mint", "revokeURL": "http://127.0.0.1:1/revoke"}


async def race(stage: Stage) -> dict[str, set[str]]:
    """Three owners claim at two replicas; answers whose sessions each worker served."""
    desks = [stage.start(name).mooring.claims.desk for name in ("a", "b")]
    spec = {"slots": 2, "sharing": "PerOwner", "reuse": "SameOwner", "mint": MINT, "idleSeconds": 5}
    await stage.pool(warm=2, max=4, protection={"graceSeconds": 1}, **spec)
    await stage.until_idle(2)
    served: dict[str, set[str]] = defaultdict(set)

    async def customer(number: int) -> None:
        desk, owner = desks[number % 2], f"owner-{number % 3}"
        for _ in range(4):
            try:
                claim = await desk.claim(POOL, ClaimRequest(owner, ttl_seconds=300, wait=60))
            except MooringError:
                continue
            served[str(claim.pod_uid)].add(owner)
            await asyncio.sleep(0.05 * (number % 4))
            await desk.release(claim.id, claim.epoch)

    await asyncio.gather(*(customer(number) for number in range(9)))
    return served


@pytest.mark.slow
async def test_a_worker_serves_one_owner_and_every_credential_is_revoked():
    require_kubernetes()

    async with open_real_stage(1.0, plain_nodes(2)) as stage:
        served = await race(stage)
        assert len(served) >= 3, "each owner had a worker"
        assert all(len(owners) == 1 for owners in served.values()), served

        async def revoked() -> bool:
            return stage.mint.made > 0 and not stage.mint.alive

        await stage.until(revoked, 30, "every credential is revoked")
