"""The leader learns what it has missed, beside everything else that it does."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from unittest.mock import AsyncMock

from hawser.clock import LoopClock
from mooring.controllers.pools.demand import DemandTracker
from mooring.model.demand import Demand
from mooring.model.pool import Pool, PoolSpec
from mooring.model.pool_history import FINE_SECONDS, Sample

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
STEPS = 1000


async def test_other_tasks_go_on_while_a_long_history_is_learnt() -> None:
    samples = [
        Sample("runners", "linux", NOON + timedelta(seconds=FINE_SECONDS * step), arrivals={0: 2})
        for step in range(STEPS)
    ]
    ledger = SimpleNamespace(
        demand=SimpleNamespace(load=AsyncMock(return_value=None), save=AsyncMock()),
        history=SimpleNamespace(of_pool=AsyncMock(return_value=samples)),
    )
    pool = Pool("runners", "linux", "u-1", 1, PoolSpec(demand=Demand(dry_run=True)))
    context = SimpleNamespace(ledger=ledger, clock=LoopClock(NOON), client=None)
    tracker = DemandTracker(context, SimpleNamespace(pools={pool.key: pool}))  # type: ignore[arg-type]

    learning = asyncio.create_task(tracker.learn(NOON + timedelta(seconds=FINE_SECONDS * STEPS)))
    turns = 0
    while not learning.done():
        await asyncio.sleep(0)
        turns += 1
        if not learning.done():
            assert tracker.outlook(pool) is None, "what is learnt so far is of a time that is over"
    assert turns > STEPS / 20
    outlook = tracker.outlook(pool)
    assert outlook is not None and outlook.usual_rate > 0
