"""What a pool's status says may be anything: it must not end the history of the other pools."""

import msgspec

from mooring.controllers.pools.history import MOST_POOLS, compute_gauges, count_seconds
from mooring.model.demand import Demand
from mooring.model.pool import Pool, PoolSpec, PoolStatus


def test_counts_that_no_pool_has_are_kept_within_what_can_be_recorded():
    odd = PoolStatus(idle=-3, busy=2**70, starting=-1, queued=-5)
    pool = Pool("fuzzed", "linux", "u-1", 1, PoolSpec())
    [gauges] = compute_gauges([msgspec.structs.replace(pool, status=odd)], {})
    count_seconds([gauges])
    assert (gauges.workers["idle"], gauges.workers["starting"], gauges.queued) == (0, 0, 0)
    assert gauges.workers["busy"] == 2**31 - 1


def test_a_pool_whose_floor_follows_its_history_has_one_however_many_pools_there_are() -> None:
    many = [Pool("runners", f"pool-{number:03}", "u-1", 1, PoolSpec()) for number in range(MOST_POOLS)]
    elastic = Pool("runners", "zebra", "u-2", 1, PoolSpec(demand=Demand()))
    recorded = compute_gauges([*many, elastic], {})
    assert len(recorded) == MOST_POOLS
    assert "zebra" in {gauges.pool for gauges in recorded}
