"""Who leads: a replica that sees the cluster and writes to the ledger, or another one, soon."""

from collections.abc import Awaitable, Callable

import pytest
import structlog

from drydock.faults import Delay, Hang, Refuse, Rule, SilenceStream
from hawser.resources import PODS
from mooring.ledger.faults import Fault, LedgerCall
from mooring.ledger.records import AuditFilter
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour
from packages.testing.lanes import fast_first

CUT = 60.0
GET = frozenset({"GET"})
REFUSED = [Rule(Refuse(), since_seconds=CUT, until_seconds=CUT + 200)]
PACKETS_LOST = [Rule(Hang(), since_seconds=CUT, until_seconds=CUT + 200)]  # open watches look quiet
BLIND = [
    Rule(SilenceStream(after_events=6), resource="pods", watch=True, until_seconds=CUT),
    Rule(Refuse(), resource="pods", methods=GET, since_seconds=CUT, until_seconds=CUT + 400),
]


def leads(replica: Replica) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        return replica.mooring.leadership.leading

    return holds


async def two_replicas(world: Harbour, rules: list[Rule]) -> tuple[Replica, Replica]:
    """The first one leads, and a pool is steady."""
    first = world.start("first", rules=rules)
    await world.pool(warm=2, max=4, reuse="Always")
    await world.until_idle(2)
    second = world.start("second")
    await world.clock.sleep(12)
    assert first.mooring.leadership.leading and not second.mooring.leadership.leading
    return first, second


@pytest.mark.parametrize("rules", [REFUSED, PACKETS_LOST], ids=["refused", "packets-lost"])
async def test_a_leader_that_does_not_reach_the_api_server_gives_up_says_so_and_is_followed_within_20_s(world, rules):
    first, second = await two_replicas(world, rules)
    await world.clock.sleep(CUT - world.seconds)
    with structlog.testing.capture_logs() as logs:
        took = await world.until(leads(second), 30, "the second leads")
    assert 8 <= took <= 20
    assert not first.mooring.leadership.leading
    [told] = [line for line in logs if line["event"] == "gave up leading"]
    assert told["replica"] == "first" and "the API server does not answer" in told["reason"]
    assert "the API server does not answer" in first.mooring.readiness.describe()["notLeadingBecause"]
    assert any("the API server does not answer" in reason for reason in first.mooring.readiness.obstacles)
    assert not (await world.ledger.audit.list(AuditFilter(action="adopt"))).items, "nobody had to depose it"


async def test_a_leader_never_leads_together_with_its_successor(world):
    first, second = await two_replicas(world, REFUSED)
    for _ in range(400):
        await world.clock.sleep(0.25)
        assert not (first.mooring.leadership.leading and second.mooring.leadership.leading)
        assert not (first.mooring.leadership.obstacle and first.mooring.leadership.leading), "at once"
    assert second.mooring.leadership.leading


async def test_a_replica_that_sees_again_is_a_candidate_under_a_new_epoch_and_takes_nothing_back(world):
    first, second = await two_replicas(world, REFUSED)
    epoch = first.mooring.leadership.epoch
    await world.clock.sleep(CUT + 260 - world.seconds)
    assert first.mooring.readiness.obstacles == []
    assert first.mooring.leadership.epoch > epoch
    assert second.mooring.leadership.leading and not first.mooring.leadership.leading
    await second.kill()
    assert await world.until(leads(first), 20, "the first leads again") <= 10


async def test_a_leader_whose_cache_of_pods_is_stale_gives_up(world):
    first, second = await two_replicas(world, BLIND)
    pods = first.mooring.fleet.reflectors["pods"]

    async def stale() -> bool:
        return pods.stale_seconds > 0

    await world.until(stale, 400, "the watch of pods is lost")
    assert await world.until(leads(second), 30, "the second leads") <= 13
    assert "the cache of pods is stale for" in first.mooring.leadership.obstacle


async def test_a_replica_that_has_not_read_the_cluster_yet_does_not_stand_in_the_way(world):
    blind = world.start("blind", rules=[Rule(Refuse(), resource="pods", methods=GET)])
    await world.clock.sleep(10)
    seeing = world.start("seeing")
    await world.pool(warm=1, max=2)
    await world.until_idle(1, within=30)
    assert seeing.mooring.leadership.leading
    assert blind.mooring.leadership.obstacle == "the cache of pods is not read yet"
    assert [one.id for one in await world.ledger.replicas.all()] == ["seeing"]


async def test_alone_it_leads_again_as_soon_as_the_api_server_is_back(world):
    replica = world.start(rules=REFUSED)
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    await world.clock.sleep(CUT + 30 - world.seconds)
    assert not replica.mooring.leadership.leading and replica.mooring.leadership.term == 0
    await world.clock.sleep(CUT + 200 - world.seconds)
    await world.until(leads(replica), 60, "it leads again")
    await world.client.delete(PODS, (await world.pods())[0].metadata.name, NAMESPACE, grace_seconds=0)
    await world.until_idle(2, within=60)


async def test_a_clean_stop_hands_over_in_under_a_second(world):
    first, second = await two_replicas(world, [])
    stopping = world.enter(first.mooring.stop())
    assert await world.until(leads(second), 5, "the second leads") < 1
    await stopping
    await world.clock.sleep(10)
    assert [one.id for one in await world.ledger.replicas.all() if one.left_at is None] == ["second"]


async def test_a_clean_stop_hands_over_in_time_also_when_a_pass_hangs(world):
    slow = [Rule(Delay(12.0), resource="pods", methods=frozenset({"POST"}), since_seconds=CUT)]
    first, second = await two_replicas(world, slow)
    await world.clock.sleep(CUT - world.seconds)
    await world.change({"warm": 3})
    await world.clock.sleep(1)
    stopping = world.enter(first.mooring.stop())
    assert await world.until(leads(second), 5, "the second leads") < 1
    await stopping
    await world.until_idle(3)
    assert world.witness.most <= 4


@pytest.mark.parametrize("at", fast_first([0.4, 1.7, 0.0, 1.1], 2))
async def test_a_kill_is_taken_over_within_10_s(world, at):
    first, second = await two_replicas(world, [])
    await world.clock.sleep(at)
    await first.kill()
    assert await world.until(leads(second), 30, "the second leads") <= 10


async def test_a_silent_leader_is_replaced_as_soon_as_it_counts_as_dead_not_a_heartbeat_later(world):
    first, second = await two_replicas(world, [])
    await first.kill()
    await world.clock.sleep(3)
    _, seen_at = second.mooring.leadership._last_beats["first"]
    await world.until(leads(second), 30, "the second leads")
    silent_seconds = second.clock.monotonic() - seen_at
    assert world.timeouts.replica_dead <= silent_seconds <= world.timeouts.replica_dead + 0.5


async def test_a_leader_cut_off_from_the_ledger_stops_leading_before_its_successor_begins():
    away = False

    def fault(_: LedgerCall) -> Fault:
        return Fault.AWAY if away else Fault.NONE

    async with harbour() as world:
        first = world.start("first", fault=fault)
        await world.pool(warm=1, max=2)
        await world.until_idle(1)
        second = world.start("second")
        await world.clock.sleep(12)
        away = True
        started = world.seconds
        while not second.mooring.leadership.leading:
            await world.clock.sleep(0.1)
            assert not (first.mooring.leadership.leading and second.mooring.leadership.leading)
        assert world.seconds - started <= 20
        assert not first.mooring.leadership.leading


async def test_a_status_that_arrives_after_the_successor_wrote_is_refused():
    """The network holds the write back while the leader is cut off from the ledger and replaced."""
    away, held = False, Rule(Delay(40.0), path="/workerpools/linux/status", since_seconds=CUT, times=1)

    def fault(_: LedgerCall) -> Fault:
        return Fault.AWAY if away else Fault.NONE

    async with harbour() as world:
        first = world.start("first", rules=[held], fault=fault)
        await world.pool(warm=2, max=6, idleSeconds=5, protection={"graceSeconds": 1})
        await world.until_idle(2)
        second = world.start("second")
        await world.clock.sleep(CUT - world.seconds)
        await world.change({"warm": 3})
        await world.clock.sleep(2)
        assert first.process.fired["Delay"] == 1
        away = True
        await world.until(leads(second), 20, "the second leads")
        await world.change({"warm": 4})
        await world.until_idle(4, within=20)
        settled = await world.status()
        await world.clock.sleep(60)
        assert await world.status() == settled


async def test_a_pass_that_outlives_its_leadership_writes_nothing_more():
    """A create waits for its turn after a 429 while another replica takes over."""
    away = False

    def fault(_: LedgerCall) -> Fault:
        return Fault.AWAY if away else Fault.NONE

    slow = Rule(Delay(25.0), resource="pods", methods=frozenset({"POST"}), since_seconds=CUT, times=1)
    async with harbour() as world:
        first = world.start("first", rules=[slow], fault=fault)
        await world.pool(warm=1, max=4, serviceAccount="PerWorker")
        await world.until_idle(1)
        second = world.start("second")
        await world.clock.sleep(CUT - world.seconds)
        await world.change({"warm": 4})
        await world.clock.sleep(1.5)
        away = True
        await world.until(leads(second), 20, "the second leads")
        since = len(first.process.calls)
        await world.clock.sleep(60)
        assert [call.path for call in first.process.calls[since:] if call.mutation] == []
        assert world.witness.most <= 4


@pytest.mark.parametrize("back_after", [18, 20, 22])
async def test_a_leader_whose_beats_a_restored_ledger_counts_again_is_not_taken_for_dead(world, back_after):
    """The other replica is cut off from the ledger, and finds the very beat that it saw last."""
    cut = [world.seconds, world.seconds]

    def away(call: LedgerCall) -> Fault:
        return Fault.AWAY if cut[0] <= world.seconds < cut[1] else Fault.NONE

    first = world.start("first")
    await world.clock.sleep(12)
    second = world.start("second", fault=away)
    await world.clock.sleep(20)
    store = world.ledger._session.store
    saved = store.backup()
    await world.clock.sleep(10)
    cut[:] = [world.seconds, world.seconds + back_after]
    await world.clock.sleep(15)
    store.restore(saved)
    for _ in range(160):
        await world.clock.sleep(0.25)
        assert not second.mooring.leadership.leading, "the first one leads all the time"
    assert first.mooring.leadership.leading
