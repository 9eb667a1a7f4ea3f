"""A harbour with a dataset: nodes that move, and a storage that counts who fetched what."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from drydock import Drift
from drydock.faults import Rule
from hawser.resources import JOBS
from hawser.views import Job
from mooring.incidents.stage import Stage
from mooring.incidents.storage import Storage
from mooring.kinds.resources import WARMUPS
from mooring.model import names
from packages.mooring.tests.scenarios.harbour import NAMESPACE, harbour


@dataclass(frozen=True, slots=True)
class Dataset:
    """The stage, the storage, and the hands that move nodes."""

    stage: Stage
    storage: Storage
    drift: Drift
    phases: list[str]

    async def warmup(self, **spec: Any) -> None:
        """Make the dataset."""
        wanted = {"dataset": "core_nt", "shards": 10, "image": "fetcher", "command": ["fetch"], "verify": ["check"]}
        body = {"apiVersion": WARMUPS.api_version, "kind": "Warmup", "metadata": {"name": "core"}}
        await self.stage.client.create(WARMUPS, {**body, "spec": {**wanted, **spec}}, NAMESPACE)

    async def warmed(self, **spec: Any) -> list[str]:
        """Make the dataset and wait until it is warm. Answers the shards that were fetched."""
        await self.warmup(**spec)
        await self.until("Ready")
        return self.lost()

    async def status(self) -> dict[str, Any]:
        found = await self.stage.client.get(WARMUPS.raw(), "core", NAMESPACE)
        status = dict(found.get("status") or {})
        if status and (not self.phases or self.phases[-1] != status["phase"]):
            self.phases.append(status["phase"])
        return status

    async def until(self, phase: str, within: float = 600.0) -> float:
        """Wait for a phase; every phase on the way is noted."""

        async def reached() -> bool:
            return (await self.status()).get("phase") == phase

        return await self.stage.until(reached, within, f"phase {phase}, after {self.phases}: {await self.status()}")

    async def watch(self, seconds: float) -> None:
        """Look at the status every second."""
        for _ in range(int(seconds)):
            await self.status()
            await self.stage.clock.sleep(1)

    async def edit(self, body: dict[str, Any]) -> None:
        await self.stage.client.merge_patch(WARMUPS, "core", body, NAMESPACE)

    async def jobs(self) -> list[Job]:
        return (await self.stage.client.list(JOBS, NAMESPACE, label_selector=names.DATASET)).items

    def lost(self) -> list[str]:
        """The shards that were fetched since the last call."""
        shards = sorted((shard for shard, _ in self.storage.fetched), key=int)
        self.storage.fetched.clear()
        return shards


@contextlib.asynccontextmanager
async def dataset_world(
    nodes: int = 12, storage: Storage | None = None, seed: int = 1, rules: Sequence[Rule] = ()
) -> AsyncIterator[Dataset]:
    """A control plane that runs and suffers the rules, and no dataset yet."""
    source = storage or Storage()
    async with harbour(seed, nodes, source.script) as stage:
        drift = Drift(stage.client, stage.sandbox.fleet, stage.clock, stage.entropy)
        stage.start(rules=rules)
        yield Dataset(stage, source, drift, [])
