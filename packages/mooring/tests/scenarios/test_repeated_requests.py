"""A request that is repeated after its claim ran: nobody is sent to a worker that is gone."""

import pytest

from drydock.faults import LagEvents, Refuse, Rule
from hawser.resources import PODS
from mooring.ledger.faults import Fault, LedgerCall
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Conflict, Unavailable
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, LedgerFault, Replica

POOL = f"{NAMESPACE}/linux"
FAULT = 15.0  # before the replica gives the claim up, of which no client was heard


def wish(*, retryable: bool = False) -> ClaimRequest:
    return ClaimRequest("acme", ttl_seconds=3600, wait=20, idempotency_key="build-42", retryable=retryable)


def loses_the_answer() -> LedgerFault:
    """The ledger's answer that the claim runs, once."""
    lost: list[LedgerCall] = []

    def decide(call: LedgerCall) -> Fault:
        if call.path != "claims.mark_running" or lost:
            return Fault.NONE
        lost.append(call)
        return Fault.LOSE_ANSWER

    return decide


async def run_unheard(world: Harbour, replica: Replica, request: ClaimRequest) -> Claim:
    """The claim runs, and its client does not know."""
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    await world.clock.sleep(5)
    with pytest.raises(Unavailable):
        await replica.mooring.claims.desk.claim(POOL, request)
    [claim] = (await world.ledger.claims.live()).claims
    assert claim.state is ClaimState.RUNNING
    return claim


async def take_away(world: Harbour, claim: Claim) -> None:
    assert claim.pod_name is not None
    await world.client.delete(PODS, claim.pod_name, NAMESPACE, grace_seconds=0)


async def test_a_claim_whose_worker_is_gone_is_answered_as_lost_not_as_running(world):
    replica = world.start(fault=loses_the_answer())
    claim = await run_unheard(world, replica, wish())
    await take_away(world, claim)
    await world.clock.sleep(1)
    with pytest.raises(Conflict, match=f"is lost: its worker {claim.pod_name} is gone"):
        await replica.mooring.claims.desk.claim(POOL, wish())


async def test_a_retryable_claim_whose_worker_is_gone_is_answered_with_another_one(world):
    replica = world.start(fault=loses_the_answer())
    claim = await run_unheard(world, replica, wish(retryable=True))
    await take_away(world, claim)
    await world.clock.sleep(1)
    again = await replica.mooring.claims.desk.claim(POOL, wish(retryable=True))
    assert (again.id, again.state) == (claim.id, ClaimState.RUNNING)
    assert again.epoch > claim.epoch and again.pod_uid != claim.pod_uid


async def test_a_worker_that_is_there_is_answered_also_while_the_api_server_is_not(world):
    cut = Rule(Refuse(), since_seconds=FAULT, until_seconds=FAULT + 60)
    replica = world.start(rules=[cut], fault=loses_the_answer())
    claim = await run_unheard(world, replica, wish())
    await world.clock.sleep(FAULT + 1 - world.seconds)
    again = await replica.mooring.claims.desk.claim(POOL, wish())
    assert (again.id, again.epoch, again.pod_uid) == (claim.id, claim.epoch, claim.pod_uid)


@pytest.mark.parametrize(
    "rule",
    [
        Rule(LagEvents(3.0), resource="pods", watch=True),
        Rule(Refuse(), methods=frozenset({"GET"}), watch=False, since_seconds=FAULT, until_seconds=FAULT + 5),
    ],
    ids=["the watch lags", "no live look"],
)
async def test_with_one_of_two_proofs_that_it_is_gone_the_client_asks_again(world, rule):
    replica = world.start(rules=[rule], fault=loses_the_answer())
    claim = await run_unheard(world, replica, wish())
    await world.clock.sleep(FAULT + 1 - world.seconds)
    await take_away(world, claim)
    await world.clock.sleep(1)
    with pytest.raises(Unavailable, match="may be gone"):
        await replica.mooring.claims.desk.claim(POOL, wish())
