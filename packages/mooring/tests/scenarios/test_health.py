"""Health checks in a whole cluster, in virtual time: who is lost, who is kept, and what happens to the claims."""

import asyncio
from datetime import timedelta

import pytest

from drydock import Script
from hawser.resources import NODES, PODS
from mooring.controllers.activity import PolledActivity
from mooring.controllers.pools import health
from mooring.controllers.pools.probe import Answer, Target
from mooring.incidents.fakes import REFUSED, SILENT, Doctor
from mooring.ledger.records import AuditFilter
from mooring.model import names
from mooring.model.claim import ClaimState, EndCause
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, harbour
from packages.testing.lanes import fast_first

POOL = f"{NAMESPACE}/linux"
HEALTH = {"port": 8000}
PROBED = {
    "spec": {
        "containers": [{"name": "main", "image": "worker", "readinessProbe": {"httpGet": {"port": 8000, "path": "/"}}}]
    }
}


async def workers(replica):
    return {worker.name: worker for worker in await replica.mooring.queries.fleet.workers()}


async def settle(world, idle, **spec):
    """A pool whose workers have all answered their checks."""
    await world.pool(**{"warm": idle, "max": idle + 4, "reuse": "Always", "health": HEALTH, **spec})
    await world.until_idle(idle)
    await world.clock.sleep(5)


async def test_an_idle_worker_that_stops_answering_is_not_handed_out_and_replaced_within_seconds(world):
    replica = world.start()
    await settle(world, 4, protection={"graceSeconds": 1})
    dead = next(pod for pod in await world.pods())
    world.doctor.answers[dead.status.pod_ip] = REFUSED

    async def lost() -> bool:
        return (await workers(replica))[dead.metadata.name].state == "lost"

    assert await world.until(lost, 20, "the worker is lost") <= 8
    found = (await workers(replica))[dead.metadata.name]
    assert found.reason == "3 health checks failed: connection refused"
    claims = [await replica.mooring.claims.desk.claim(POOL, ClaimRequest(f"owner-{n}")) for n in range(3)]
    assert dead.metadata.uid not in {claim.pod_uid for claim in claims}

    async def replaced() -> bool:
        pods = await world.pods()
        return all(pod.metadata.uid != dead.metadata.uid for pod in pods) and sum(pod.ready for pod in pods) >= 4

    assert await world.until(replaced, 30, "it is replaced") <= 15
    page = await replica.mooring.queries.fleet.audit(AuditFilter(uid=dead.metadata.uid), 10, None)
    (deletion,) = page.items  # confirmed a tick later, when one more check may have failed
    assert deletion.entry.reason.endswith("health checks failed: connection refused")


@pytest.mark.parametrize("answer", fast_first([REFUSED, SILENT], 1), ids=["refused", "silent"])
async def test_a_busy_worker_on_a_tainted_node_outlives_any_number_of_failed_checks(world, answer):
    replica = world.start()
    await settle(world, 4)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    pod = await world.client.get(PODS, claim.pod_name, NAMESPACE)
    taint = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    await world.client.merge_patch(NODES, pod.spec.node_name, {"spec": {"taints": [taint]}})
    world.doctor.answers[pod.status.pod_ip] = answer
    await world.clock.sleep(600)
    assert (await workers(replica))[claim.pod_name].state == "draining"
    assert (await replica.mooring.claims.desk.get(claim.id)).state is ClaimState.RUNNING
    kept = await world.client.get(PODS, claim.pod_name, NAMESPACE)
    assert kept.metadata.uid == claim.pod_uid and not kept.terminating


@pytest.mark.world(scripts=lambda _: Script(stop_seconds=120))
async def test_a_busy_worker_that_terminates_drains_on_though_it_does_not_answer(world):
    replica = world.start()
    await settle(world, 4)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    pod = await world.client.get(PODS, claim.pod_name, NAMESPACE)
    world.doctor.answers[pod.status.pod_ip] = REFUSED
    await world.client.delete(PODS, claim.pod_name, NAMESPACE)
    await world.clock.sleep(100)
    assert (await replica.mooring.claims.desk.get(claim.id)).state is ClaimState.RUNNING
    assert (await workers(replica))[claim.pod_name].state == "draining"

    async def lost() -> bool:
        return (await replica.mooring.claims.desk.get(claim.id)).state is ClaimState.LOST

    await world.until(lost, 60, "its claim is lost when its pod is gone")


async def test_a_busy_worker_that_only_fails_its_checks_keeps_its_claim_and_gets_no_further_session(world):
    replica = world.start()
    await settle(world, 2, slots=2)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    pod = await world.client.get(PODS, claim.pod_name, NAMESPACE)
    world.doctor.answers[pod.status.pod_ip] = SILENT
    await world.clock.sleep(300)
    others = [await replica.mooring.claims.desk.claim(POOL, ClaimRequest(f"o-{n}")) for n in range(2)]
    assert claim.pod_uid not in {other.pod_uid for other in others}
    found = (await workers(replica))[claim.pod_name]
    assert found.state == "busy" and "it may still work" in found.reason
    assert (await replica.mooring.claims.desk.get(claim.id)).state is ClaimState.RUNNING


@pytest.mark.parametrize("reuse", fast_first(["Never", "Always"], 1))
@pytest.mark.parametrize("retryable", [False, True], ids=["once", "retryable"])
async def test_a_worker_that_both_its_checks_and_its_kubelet_give_up_is_lost_with_its_claim(reuse, retryable):
    unready = Script(unready=[(40, 100_000)])

    async with harbour(scripts=lambda run: unready if run.place.name == "linux-0" else None) as world:
        replica = world.start()
        await settle(world, 3, template=PROBED, reuse=reuse, protection={"graceSeconds": 1})
        wish = ClaimRequest("acme", ttl_seconds=3600, retryable=retryable)
        claims = [await replica.mooring.claims.desk.claim(POOL, wish) for _ in range(3)]
        claim = next(claim for claim in claims if claim.pod_name == "linux-0")
        world.doctor.answers[claim.address] = REFUSED
        await world.clock.sleep(15)
        assert (await replica.mooring.claims.desk.get(claim.id)).epoch == claim.epoch

        async def given_up() -> bool:
            now = await replica.mooring.claims.desk.get(claim.id)
            return now.epoch != claim.epoch or now.state is ClaimState.LOST

        await world.until(given_up, 60, "the claim is given up")

        async def gone() -> bool:
            return all(other.metadata.uid != claim.pod_uid for other in await world.pods())

        await world.until(gone, 30, "the pod is gone")
        if retryable:

            async def runs_elsewhere() -> bool:
                now = await replica.mooring.claims.desk.get(claim.id)
                return now.state is ClaimState.RUNNING and now.pod_uid != claim.pod_uid

            await world.until(runs_elsewhere, 30, "it runs on another worker")
        page = await replica.mooring.queries.fleet.audit(AuditFilter(action="lose-claim"), 10, None)
        assert page.total == 1 and "health checks failed: connection refused" in page.items[0].entry.reason
        assert len(set(page.items[0].entry.evidence["proofs"])) == 2


async def test_when_all_fail_at_once_nothing_is_killed_and_workers_are_still_handed_out(world):
    replica = world.start()
    await settle(world, 6)
    world.doctor.otherwise = SILENT
    await world.clock.sleep(120)
    assert world.witness.added == 6 and len(await world.pods()) == 6
    assert {worker.state for worker in (await workers(replica)).values()} == {"idle"}
    assert all("our own network" in worker.reason for worker in (await workers(replica)).values())
    await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    page = await replica.mooring.queries.fleet.audit(AuditFilter(action="delete"), 10, None)
    assert page.total == 0


async def test_checks_that_nobody_ever_answered_are_no_proof(world):
    replica = world.start()
    world.doctor.otherwise = REFUSED
    await settle(world, 1)
    await world.clock.sleep(120)
    assert world.witness.added == 1
    assert "was ever answered" in (await workers(replica))["linux-0"].reason


@pytest.mark.world(nodes=10)
async def test_checks_are_spread_over_the_period_and_as_many_as_due(world):
    world.start()
    await settle(world, 40)
    world.doctor.checks.clear()
    fullest = 0
    for _ in range(100):
        before = len(world.doctor.checks)
        await world.clock.sleep(0.1)
        fullest = max(fullest, len(world.doctor.checks) - before)
    assert 195 <= len(world.doctor.checks) <= 205  # 40 workers, every 2 s, for 10 s
    assert fullest <= 8
    sleeping = [task for task in asyncio.all_tasks() if "_check" in repr(task.get_coro())]
    assert len(sleeping) <= 1


async def test_a_word_in_the_health_check_heals_a_leaked_stamp_in_a_push_pool(world):
    world.words = PolledActivity(world.clock)
    replica = world.start()
    await settle(world, 3)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
    pod = await world.client.get(PODS, claim.pod_name, NAMESPACE)
    address = pod.status.pod_ip
    world.doctor.answers[address] = _saying(True)
    await world.ledger.claims.end(
        claim.id, claim.epoch, EndCause.RELEASED, now=world.clock.now(), reason="its replica died half way"
    )
    await world.clock.sleep(600)
    assert names.OWNER in (await world.client.get(PODS, claim.pod_name, NAMESPACE)).metadata.labels
    world.doctor.answers[address] = _saying(False)

    async def healed() -> bool:
        return all(
            other.metadata.uid != claim.pod_uid or names.OWNER not in other.metadata.labels
            for other in await world.pods()
        )

    await world.until(healed, 240, "the stamp is gone")


def _saying(executing):
    return Answer(True, "200 OK", executing=executing)


async def test_workers_that_never_answer_delay_only_the_checks_of_their_own_pool(monkeypatch):
    async with harbour(1) as world:

        async def check(doctor: Doctor, target: Target) -> Answer:
            if doctor.answers.get(target.address) is SILENT:
                await world.clock.sleep(target.timeout_seconds)
            return doctor.answers.get(target.address, doctor.otherwise)

        monkeypatch.setattr(health, "MOST_AT_ONCE", 8)
        monkeypatch.setattr(Doctor, "check", check)
        replica = world.start()
        await settle(world, 2)
        await world.pool(name="slow", warm=12, max=12, health={"port": 8000, "timeoutSeconds": 600})
        await world.until_idle(12, name="slow")
        for pod in await world.pods():
            if pod.metadata.name.startswith("slow"):
                world.doctor.answers[pod.status.pod_ip] = SILENT
        await world.clock.sleep(60)
        sound = [pod for pod in await world.pods() if pod.metadata.name.startswith("linux")]
        for pod in sound:
            found = replica.mooring.health.of(POOL, pod.metadata.uid)
            assert found is not None and world.clock.now() - found.answered_at < timedelta(seconds=5)
