"""The state of the whole fleet in one line: what the header of every page says."""

import msgspec

from mooring.queries.fleet import FleetQueries

_FLOOR = "warm-floor"


class Overview(msgspec.Struct, frozen=True):
    """Counts over what the reader may see. Invariants are None for those who may not read them."""

    workers: int
    busy: int
    queued: int
    pools: int
    broken: int  # pools
    waiting: int  # pools on their way
    unknown: int  # pools
    lost: int  # workers
    invariants_broken: int | None
    invariants_paused: int | None

    @property
    def verdict(self) -> str:
        """The worst of it: broken, waiting, unknown or ok."""
        if self.broken or self.invariants_broken:
            return "broken"
        if self.waiting or self.invariants_paused or self.lost:
            return "waiting"
        return "unknown" if self.unknown else "ok"


def read_overview(fleet: FleetQueries) -> Overview:
    """From memory alone: it is on every page, and refreshed every second."""
    pools = fleet.pools()
    verdicts = [pool.verdict.state for pool in pools]
    rules = fleet.invariants() if fleet.sees_invariants else None
    # The floor is broken whenever a pool fills: whether that is on its way or an outage, the verdict of the pool says.
    fills = "broken" not in verdicts
    return Overview(
        workers=sum(pool.status.replicas for pool in pools),
        busy=sum(pool.status.busy for pool in pools),
        queued=sum(pool.status.queued for pool in pools),
        pools=len(pools),
        broken=verdicts.count("broken"),
        waiting=verdicts.count("waiting"),
        unknown=verdicts.count("unknown"),
        lost=sum(pool.status.lost for pool in pools),
        invariants_broken=(
            None
            if rules is None
            else sum(rule.state == "broken" and not (fills and rule.id == _FLOOR) for rule in rules)
        ),
        invariants_paused=None if rules is None else sum(rule.paused for rule in rules),
    )
