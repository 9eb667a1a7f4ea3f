"""Silent workers as tables: what silence proves, and for whom."""

import pytest

from mooring.model.claim import Claim, ClaimState
from mooring.model.pool import PoolSpec, Reclaim
from mooring.model.proof import are_independent
from mooring.model.reclaim import EffectiveReclaim
from mooring.planning.invariants.claims import Act, ClaimsSnapshot, Remedy
from mooring.planning.invariants.leaks import plan_stamped_has_claim
from mooring.planning.workers import classify_worker
from packages.mooring.tests.planning.fleets import NOW, node, stamped
from packages.mooring.tests.planning.invariants.test_claims import NEVER_RAN, TIMEOUTS, ago, row

EXPIRED = row(ClaimState.EXPIRED, claimed_at=ago(3000), running_at=ago(3000))
DELETE = EffectiveReclaim(600.0, "Delete", polls=False)
KEEP = EffectiveReclaim(600.0, "Keep", polls=False)


def plan(
    silent_seconds: float | None,
    reclaim: EffectiveReclaim | None = DELETE,
    executing: bool | None = None,
    behind: Claim | None = EXPIRED,
) -> Act:
    [act] = plan_stamped_has_claim(
        ClaimsSnapshot(
            NOW, (stamped(1),), (), TIMEOUTS, {"uid-1": executing}, {"claim-1": behind},
            push_pools=frozenset() if reclaim is not None and reclaim.polls else frozenset({"runners/linux"}),
            worker_silent_seconds={} if silent_seconds is None else {"uid-1": silent_seconds},
            reclaims={} if reclaim is None else {"runners/linux": reclaim},
        )
    )  # fmt: skip
    return act


@pytest.mark.parametrize(
    ("silent_seconds", "reclaim", "executing", "proven"),
    [
        (600.0, DELETE, None, True),
        (599.0, DELETE, None, False),
        (None, DELETE, None, False),  # not measured: the ledger, a replica or the write of words failed
        (9999.0, KEEP, None, False),
        (9999.0, None, None, False),  # its pool is not known
        (9999.0, DELETE, True, False),  # it says that it executes
    ],
)
def test_a_stamped_worker_without_a_word_for_long_enough_is_a_leak_where_the_pool_deletes(
    silent_seconds: float | None, reclaim: EffectiveReclaim | None, executing: bool | None, proven: bool
) -> None:
    act = plan(silent_seconds, reclaim, executing)
    assert are_independent(act.proofs) is proven
    if proven:
        assert [str(proof) for proof in act.proofs] == [
            "ledger: no live claim; the epoch of its stamp is fenced",
            "worker: no sign of life for 600 s",
        ]
        assert (act.age_seconds, act.floor_seconds) == (600.0, 600.0)


def test_an_epoch_that_is_live_elsewhere_is_not_fenced() -> None:
    elsewhere = row(ClaimState.RUNNING, pod_uid="uid-2", running_at=ago(50))
    assert not are_independent(plan(9999.0, behind=elsewhere).proofs)
    assert are_independent(plan(9999.0, behind=None).proofs), "a claim that housekeeping removed is long over"


def test_a_silent_worker_that_never_worked_is_unstamped_unless_it_should_have_polled() -> None:
    assert plan(700.0, behind=NEVER_RAN).remedy is Remedy.UNSTAMP
    assert plan(700.0, EffectiveReclaim(600.0, "Delete", polls=True), behind=NEVER_RAN).remedy is Remedy.DELETE_WORKER


def test_a_kept_worker_is_reported_with_the_command_that_retires_it() -> None:
    act = plan(700.0, KEEP)
    assert "no sign of life for 700 s, and the pool keeps silent workers (spec.reclaim.policy)" in act.reason
    assert act.evidence["fix"] == "mooring retire runners/linux-1 --reason '...'"
    assert act.evidence["policy"] == "Keep"


@pytest.mark.parametrize(
    ("spec", "policy"),
    [
        (PoolSpec(dispatch="Poll", reuse="Always"), "Delete"),
        (PoolSpec(dispatch="Poll", reuse="Never"), "Delete"),
        (PoolSpec(dispatch="Push", reuse="Never"), "Delete"),
        (PoolSpec(dispatch="Push", reuse="Always"), "Keep"),
        (PoolSpec(dispatch="Push", reuse="Always", reclaim=Reclaim(policy="Delete")), "Delete"),
        (PoolSpec(dispatch="Poll", reclaim=Reclaim(policy="Keep")), "Keep"),
    ],
)
def test_silent_workers_are_deleted_where_they_would_speak_or_are_used_once(spec: PoolSpec, policy: str) -> None:
    assert spec.effective_reclaim.policy == policy


def test_a_stamped_worker_without_a_claim_names_the_command_that_retires_it() -> None:
    item = classify_worker(stamped(1), {"node-1": node()})
    assert (item.why.code, item.why.fix) == ("stamped", "mooring retire runners/linux-1 --reason '...'")
