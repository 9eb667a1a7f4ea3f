"""Access that arrives late is no failure; access that never arrives is one, with its evidence and without secrets."""

import math

import pytest

from mooring.incidents.storage import Storage
from packages.mooring.tests.scenarios.datasets import dataset_world
from packages.mooring.tests.scenarios.harbour import NAMESPACE

CANARIES = {
    "bearer": "Authorization: Bearer eyJhbGciOi.canaryone.signature00",
    "sas": "GET https://store.example/core_nt?sv=2024&sig=canarytwo%2Bxyz failed",
    "password": "connecting with password=canarythree",
    "key": "AccountKey=canaryfour==;EndpointSuffix=core.example",
}


@pytest.mark.slow
async def test_access_that_is_denied_for_three_minutes_shows_no_failure():
    async with dataset_world(10, Storage(granted_after=180.0)) as world:
        await world.warmup()
        await world.until("Ready", within=900)
        assert world.phases == ["Pending", "Warming", "Ready"]
        status = await world.status()
        assert not status.get("failure") and world.storage.refused > 0
        assert sorted(world.lost(), key=int) == [str(number) for number in range(10)], "fetched once each"
        assert max(shard["restarts"] for shard in status["shards"]) == 0


@pytest.mark.slow
async def test_access_that_never_comes_fails_after_five_restarts_with_the_last_words_of_the_fetch():
    storage = Storage(granted_after=math.inf, says=("403 denied", *CANARIES.values(), "\x1b[31mred\x1b[0m"))
    async with dataset_world(3, storage) as world:
        await world.warmup(shards=3, attempts=30, attemptDelaySeconds=2)
        await world.until("Warming", within=90)
        restarts = 0
        while (status := await world.status())["phase"] != "Failed":
            assert not status.get("failure")
            restarts = max(shard["restarts"] for shard in status["shards"])
            await world.stage.clock.sleep(1)
            assert world.stage.clock.monotonic() < 3000
        assert restarts == 4
        failure = status["failure"]
        assert failure["container"] == "fetch" and failure["restarts"] >= 5
        assert failure["pod"].startswith("warm-core-nt") and len(failure["logs"]) == 60
        told = "\n".join(failure["logs"])
        assert "403 denied" in told and "red" in told and "\x1b" not in told
        assert "canary" not in told
        reading = world.stage.replicas[0].mooring.queries.warmups.warmup(NAMESPACE, "core")
        assert reading.status.failure is not None and reading.status.failure.logs == tuple(failure["logs"])


@pytest.mark.slow
async def test_when_access_comes_after_the_failure_it_heals_by_itself():
    async with dataset_world(1, Storage(granted_after=1500.0)) as world:
        await world.warmup(shards=1, attempts=1, attemptDelaySeconds=0)
        await world.until("Failed", within=900)
        await world.until("Ready", within=1500)
        assert not (await world.status()).get("failure")
