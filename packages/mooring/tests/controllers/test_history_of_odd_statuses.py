"""What a pool's status says may be anything: it must not end the history of the other pools."""

import msgspec

from mooring.controllers.pools.history import compute_gauges, count_seconds
from mooring.model.pool import Pool, PoolSpec, PoolStatus


def test_counts_that_no_pool_has_are_kept_within_what_can_be_recorded():
    odd = PoolStatus(idle=-3, busy=2**70, starting=-1, queued=-5)
    pool = Pool("fuzzed", "linux", "u-1", 1, PoolSpec())
    [gauges] = compute_gauges([msgspec.structs.replace(pool, status=odd)], {})
    count_seconds([gauges])
    assert (gauges.workers["idle"], gauges.workers["starting"], gauges.queued) == (0, 0, 0)
    assert gauges.workers["busy"] == 2**31 - 1
