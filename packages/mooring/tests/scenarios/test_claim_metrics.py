"""Claims at `/metrics`: each transition is observed once, by the replica that wrote it; gauges come from the leader."""

import asyncio
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from hawser.clock import Clock
from hawser.resources import PODS
from mooring.controllers.claims.desk import ClaimDesk
from mooring.incidents.fakes import Mint
from mooring.kinds.resources import WORKERPOOLS
from mooring.ledger.faults import Fault, LedgerCall
from mooring.model.claim import Claim, ClaimState, EndCause
from mooring.model.claim_request import ClaimRequest
from mooring.model.pool import Pool
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

Samples = dict[tuple[str, str], float]


def scrape(pool: str) -> Samples:
    """The samples of one pool, by name and the label beside the pool; without the buckets."""
    families = text_string_to_metric_families(generate_latest().decode())
    samples = [sample for family in families for sample in family.samples if not sample.name.endswith("_created")]
    return {
        (sample.name, next((value for label, value in sample.labels.items() if label != "pool"), "")): sample.value
        for sample in samples
        if sample.labels.get("pool") == f"{NAMESPACE}/{pool}" and "le" not in sample.labels
    }


def counted(samples: Samples, name: str) -> dict[str, float]:
    """The values of a metric by label; counters, which begin with zero, without their zeros."""
    rises = name.endswith(("_total", "_count"))
    return {label: value for (found, label), value in samples.items() if found == name and (value or not rises)}


async def open_pool(world: Harbour, name: str, warm: int = 1, **spec: object) -> str:
    await world.pool(name, warm=warm, max=warm, reuse="Always", **spec)
    await world.until_idle(warm, name=name)
    return f"{NAMESPACE}/{name}"


async def test_counters_are_exported_before_their_first_event(world):
    """`increase` of Prometheus does not see a rise from nothing to one."""
    world.start()
    await open_pool(world, "metered-new")
    await world.clock.sleep(10)
    found = scrape("metered-new")
    assert {label for name, label in found if name == "mooring_claims_ended_total"} == {
        cause.value for cause in EndCause
    }
    assert {label for name, label in found if name == "mooring_claims_requeued_total"} == {
        cause.value for cause in EndCause if cause.state is ClaimState.LOST
    }
    assert (
        found["mooring_worker_create_failures_total", ""] == found["mooring_workers_retired_total", "warm-floor"] == 0
    )
    text = generate_latest().decode()
    assert 'mooring_marks_refused_total{reason="foreign-pod"}' in text
    assert 'mooring_reconcile_errors_total{kind="bug",reconciler="pools"}' in text
    assert 'mooring_reconcile_errors_total{kind="bug",reconciler="claim-queues"}' in text


async def test_a_claim_is_observed_once_though_two_replicas_serve(world):
    a, b = world.start("a"), world.start("b")
    key = await open_pool(world, "metered-once")
    claim = await a.mooring.claims.desk.claim(key, ClaimRequest("acme", ttl_seconds=600))
    waiter = asyncio.create_task(b.mooring.claims.desk.claim(key, ClaimRequest("zeta", wait=300, ttl_seconds=600)))
    await world.clock.sleep(90)
    await b.mooring.claims.desk.release(claim.id, claim.epoch)
    second = await waiter
    await world.clock.sleep(30)
    await a.mooring.claims.desk.release(second.id, second.epoch)
    await a.mooring.claims.desk.release(second.id, second.epoch)

    found = scrape("metered-once")
    assert found["mooring_claim_wait_seconds_count", ""] == found["mooring_claim_handover_seconds_count", ""] == 2
    assert found["mooring_claim_wait_seconds_sum", ""] == pytest.approx(90, abs=2), "the first did not wait"
    assert found["mooring_claim_handover_seconds_sum", ""] < 1
    assert found["mooring_claim_hold_seconds_count", ""] == 2
    assert found["mooring_claim_hold_seconds_sum", ""] == pytest.approx(120, abs=3)
    assert counted(found, "mooring_claims_ended_total") == {"released": 2}
    assert not any("acme" in line or "zeta" in line for line in generate_latest().decode().splitlines())


@pytest.mark.slow
async def test_ends_are_counted_by_cause(world):
    desk = world.start().mooring.claims.desk
    key = await open_pool(world, "metered-causes", warm=3)
    await desk.claim(key, ClaimRequest("silent", ttl_seconds=30))
    revoked = await desk.claim(key, ClaimRequest("acme", ttl_seconds=6000))
    await desk.revoke(revoked.id, actor="me", reason="")
    lost = await desk.claim(key, ClaimRequest("acme", ttl_seconds=6000))
    retried = await desk.claim(key, ClaimRequest("acme", ttl_seconds=6000, retryable=True))
    for claim in (lost, retried):
        await world.client.delete(PODS, claim.pod_name, NAMESPACE, grace_seconds=0)
    await world.clock.sleep(1500)
    found = scrape("metered-causes")
    ended = counted(found, "mooring_claims_ended_total")
    assert ended == {"expired": 1, "revoked": 1, "worker_lost": 1}
    assert counted(found, "mooring_claims_requeued_total") == {"worker_lost": 1}
    assert found["mooring_claim_hold_seconds_count", ""] == 3


async def test_a_claim_that_lost_its_worker_waits_anew_and_held_only_the_worker_that_it_had_last(world):
    desk = world.start().mooring.claims.desk
    key = await open_pool(world, "metered-again")
    claim = await desk.claim(key, ClaimRequest("acme", ttl_seconds=6000, retryable=True))
    await world.clock.sleep(1000)
    await world.client.delete(PODS, claim.pod_name, NAMESPACE, grace_seconds=0)
    await world.until(lambda: _runs_again(desk, claim), 700, "the claim runs on another worker")
    waits = scrape("metered-again")["mooring_claim_wait_seconds_sum", ""]
    assert waits < 60, "from the loss of the worker, not from the request"
    again = await desk.get(claim.id)
    await desk.release(again.id, again.epoch)
    found = scrape("metered-again")
    assert found["mooring_claim_hold_seconds_count", ""] == 1
    assert found["mooring_claim_hold_seconds_sum", ""] < 60


async def _runs_again(desk: ClaimDesk, claim: Claim) -> bool:
    found = await desk.get(claim.id)
    return found.state is ClaimState.RUNNING and found.epoch > claim.epoch


@pytest.mark.slow
async def test_a_claim_that_fails_on_its_second_worker_has_held_none(world):
    desk = world.start().mooring.claims.desk
    key = await open_pool(world, "metered-failed", mint={"url": "http://mint.example"})
    claim = await desk.claim(key, ClaimRequest("acme", ttl_seconds=6000, retryable=True))
    await world.clock.sleep(1000)
    world.mint.failing = 1
    await world.client.delete(PODS, claim.pod_name, NAMESPACE, grace_seconds=0)
    await world.until(lambda: _has_ended(desk, claim), 700, "the claim has failed")
    found = scrape("metered-failed")
    assert counted(found, "mooring_claims_ended_total") == {"not_started": 1}
    assert not counted(found, "mooring_claim_hold_seconds_count")


async def _has_ended(desk: ClaimDesk, claim: Claim) -> bool:
    return not (await desk.get(claim.id)).open


class SlowMint(Mint):
    """Takes three seconds."""

    clock: Clock

    async def mint(self, pool: Pool, claim: Claim) -> dict[str, Any] | None:
        await self.clock.sleep(3)
        return {}


async def test_a_handover_lasts_from_the_row_until_the_claim_runs(world):
    world.mint = SlowMint()
    world.mint.clock = world.clock
    desk = world.start().mooring.claims.desk
    key = await open_pool(world, "metered-mint", mint={"url": "http://mint.example"})
    await desk.claim(key, ClaimRequest("acme"))
    assert scrape("metered-mint")["mooring_claim_handover_seconds_sum", ""] == pytest.approx(3, abs=0.5)


async def test_a_wait_that_is_over_is_counted_by_one_of_two_replicas(world):
    a, _ = world.start("a"), world.start("b")
    key = await open_pool(world, "metered-wait")
    await a.mooring.claims.desk.claim(key, ClaimRequest("acme", ttl_seconds=6000))
    waiting = [a.mooring.claims.desk.claim(key, ClaimRequest("zeta", wait=20)) for _ in range(3)]
    await asyncio.gather(*waiting, return_exceptions=True)
    await world.clock.sleep(30)
    found = scrape("metered-wait")
    assert counted(found, "mooring_claims_ended_total") == {"wait_over": 3}
    assert found["mooring_claim_wait_seconds_count", ""] == 1


async def test_the_leader_shows_open_claims_the_depth_of_queues_and_the_oldest_wait(world):
    a = world.start("a")
    desk = a.mooring.claims.desk
    key = await open_pool(world, "metered-open")
    await desk.claim(key, ClaimRequest("acme", ttl_seconds=6000))
    waiters = [asyncio.create_task(desk.claim(key, ClaimRequest("zeta", wait=600))) for _ in range(2)]
    await world.clock.sleep(60)
    found = scrape("metered-open")
    assert counted(found, "mooring_claims") == {"queued": 2, "claimed": 0, "running": 1}
    assert found["mooring_queue_depth", ""] == 2
    assert 50 <= found["mooring_queue_oldest_wait_seconds", ""] <= 61

    world.start("b")  # is scraped from now on
    await world.clock.sleep(30)
    assert not counted(scrape("metered-open"), "mooring_claims"), "it does not lead"
    await a.kill()
    await world.clock.sleep(60)
    assert counted(scrape("metered-open"), "mooring_claims")["running"] == 1
    for waiter in waiters:
        waiter.cancel()


async def test_gauges_of_claims_are_absent_while_the_ledger_cannot_be_read(world):
    away = False

    def fault(call: LedgerCall) -> Fault:
        return Fault.AWAY if away and call.path == "claims.count_by_pool" else Fault.NONE

    world.start(fault=fault)
    await open_pool(world, "metered-unread")
    await world.clock.sleep(10)
    assert counted(scrape("metered-unread"), "mooring_claims")["running"] == 0
    away = True
    await world.clock.sleep(10)
    assert not counted(scrape("metered-unread"), "mooring_claims")


@pytest.mark.slow
async def test_no_series_of_a_deleted_pool_stays_not_even_of_claims_that_end_later(world):
    desk = world.start().mooring.claims.desk
    key = await open_pool(world, "metered-gone")
    claim = await desk.claim(key, ClaimRequest("acme", ttl_seconds=60))
    await desk.release(claim.id, claim.epoch)
    await desk.claim(key, ClaimRequest("acme", ttl_seconds=60, wait=10))
    await world.clock.sleep(10)
    assert {
        "mooring_pool_workers",
        "mooring_workers_created_total",
        "mooring_claims",
        "mooring_claims_ended_total",
    } <= {name for name, _ in scrape("metered-gone")}
    await world.client.delete(WORKERPOOLS, "metered-gone", NAMESPACE)
    await world.clock.sleep(5)
    assert scrape("metered-gone") == {}
    await world.clock.sleep(1500)
    assert scrape("metered-gone") == {}


async def test_metrics_cost_a_claim_no_call_to_the_ledger(world):
    replica = world.start()
    key = await open_pool(world, "metered-cheap")
    before = len(replica.ledger.calls)
    claim = await replica.mooring.claims.desk.claim(key, ClaimRequest("acme"))
    await replica.mooring.claims.desk.release(claim.id, claim.epoch)
    own = [call.path for call in replica.ledger.calls[before:] if call.noun == "claims" and call.mutation]
    assert own == ["claims.insert_claimed", "claims.mark_running", "claims.end"]
