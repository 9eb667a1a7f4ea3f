"""The doctor's judgement: each line from facts alone."""

import copy
from datetime import timedelta

import msgspec
import pytest

from mooring.kinds import load_crds
from mooring.model.node import Quarantine
from mooring.model.why import Condition
from mooring.planning import doctor
from mooring.planning.budgets.plan import AbandonedBudget
from mooring.planning.pool_checks import judge_pools
from packages.mooring.tests.planning.fleets import NOW, pool, terminating, worker

CRD = load_crds()[0]


def seconds_ago(seconds):
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("skew", "status"), [(0.4, "ok"), (-1.9, "ok"), (3.0, "warn"), (-20.0, "fail"), (None, "unknown")]
)
def test_clocks_apart_are_told_by_how_far(skew, status):
    assert doctor.judge_clock("ledger", skew).status == status


def test_permissions_are_told_verb_by_verb_and_optional_ones_only_warn():
    asked = [
        doctor.Permission("", "nodes", "get", True),
        doctor.Permission("", "nodes", "list", False),
        doctor.Permission("karpenter.sh", "nodepools", "list", False, optional=True),
        doctor.Permission("", "pods", "get", True),
    ]
    checks = {check.id: check for check in doctor.judge_permissions(asked)}
    assert (
        checks["permission/nodes"].status == "fail" and checks["permission/nodes"].message == "nodes: list is missing"
    )
    assert checks["permission/nodepools.karpenter.sh"].status == "warn"
    assert checks["permission/pods"].status == "ok"


def served(**changes):
    found = copy.deepcopy(CRD)
    found["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
    return {**found, **changes}


def test_a_kind_is_served_as_this_build_knows_it_or_the_missing_field_is_named():
    assert doctor.judge_crd(CRD, served()).status == "ok"
    assert doctor.judge_crd(CRD, None).status == "fail"
    assert "not served" in doctor.judge_crd(CRD, served(status={})).message
    older = served()
    del older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["slots"]
    assert "spec.slots" in doctor.judge_crd(CRD, older).message
    renamed = served()
    renamed["spec"]["versions"][0]["name"] = "v1"
    assert "serves v1, not v1alpha1" in doctor.judge_crd(CRD, renamed).message


def test_an_unarmed_ledger_and_a_missing_leader():
    assert doctor.judge_ledger("i", True, "created").status == "ok"
    assert doctor.judge_ledger("i", False, "restored").status == "warn"
    missing = doctor.judge_leader("", False, "the API server does not answer")
    assert missing.status == "fail" and "because the API server does not answer" in missing.message
    assert doctor.judge_leader("a", True, "").status == "ok"


@pytest.mark.parametrize(
    ("synced", "fresh", "status"), [(True, True, "ok"), (True, False, "warn"), (False, False, "fail")]
)
def test_a_cache_is_as_good_as_its_watch(synced, fresh, status):
    assert doctor.judge_cache(doctor.CacheState("nodes", synced, fresh, 3)).status == status


@pytest.mark.parametrize(
    ("state", "broken", "status"),
    [
        ("holds", 0, "ok"),
        ("broken", 2, "warn"),
        ("paused", 0, "warn"),
        ("paused", 1, "fail"),
        ("unknown", 0, "unknown"),
    ],
)
def test_a_broken_rule_that_nobody_heals_is_worse_than_one_that_is_being_healed(state, broken, status):
    assert doctor.judge_invariant(doctor.InvariantStatus("r", "a rule", state, True, broken)).status == status


def test_a_floor_that_is_just_being_refilled_is_no_reason_to_worry():
    def judged(seconds):
        return doctor.judge_invariant(
            doctor.InvariantStatus("warm-floor", "a rule", "broken", True, 1, broken_seconds=seconds)
        )

    assert (judged(4.0).status, judged(4.0).message) == ("ok", "being healed for 4 s (1 place(s)): a rule")
    assert judged(doctor.HEALING_SECONDS).status == "warn"


def test_a_floor_is_as_broken_as_the_pool_that_has_waited_longest():
    waiting = [with_condition("Ready", "", since=NOW - timedelta(seconds=wait)) for wait in (5, 90)]
    assert doctor.floor_broken_seconds([pool(), *waiting], NOW) == 90.0
    assert doctor.floor_broken_seconds([pool()], NOW) == 0.0


def with_condition(kind, message, since=NOW, status="False", reason="Because"):
    plain = pool()
    conditions = (Condition(kind, status, reason, message, last_transition_time=since.isoformat()),)
    return msgspec.structs.replace(plain, status=msgspec.structs.replace(plain.status, conditions=conditions))


def test_pools_that_cannot_schedule_fail_with_the_fix_of_their_condition():
    (check,) = judge_pools([with_condition("Schedulable", "0/3 nodes. Fix: add toleration a:NoSchedule")], NOW)
    edit = f"kubectl -n {pool().namespace} edit workerpool {pool().name}"
    assert (check.status, check.fix) == ("fail", f"{edit}  # add toleration a:NoSchedule")
    (cordoned,) = judge_pools([with_condition("Schedulable", "0/3 nodes. Fix: kubectl uncordon a")], NOW)
    assert cordoned.fix == "kubectl uncordon a"
    (homeless,) = judge_pools([with_condition("Schedulable", "no node belongs to a pool named 'x'")], NOW)
    assert homeless.fix == "kubectl -n runners edit workerpool linux"
    assert judge_pools([pool(warm=9, max=1)], NOW)[0].status == "fail"
    assert [check.status for check in judge_pools([pool()], NOW)] == ["ok"]


@pytest.mark.parametrize(
    ("refusal", "fix"),
    [
        ("exceeded quota: few, requested: pods=1", "kubectl -n runners describe resourcequota few"),
        ("denied by a webhook", "kubectl -n runners describe workerpool linux"),
    ],
)
def test_a_pool_whose_creates_are_refused_for_a_minute_fails_with_the_next_command(refusal, fix):
    pools = [with_condition("Ready", refusal, reason="CreateFailed")]
    (check,) = judge_pools(pools, NOW + timedelta(seconds=60))
    assert check.status == "fail" and refusal in check.message and check.fix.startswith(fix)
    assert judge_pools(pools, NOW + timedelta(seconds=59))[0].status == "ok"


def test_a_pool_of_which_no_worker_polls_fails_with_the_command_that_shows_their_words():
    pools = [with_condition("Ready", "none of its 2 workers has polled for 60 s", reason="AllSilent")]
    (check,) = judge_pools(pools, NOW + timedelta(seconds=60))
    assert check.status == "fail" and "none of its 2 workers has polled" in check.message
    assert check.fix == "kubectl -n runners logs -l mooring.dev/pool=linux --all-containers --tail=20 --prefix"
    assert judge_pools(pools, NOW + timedelta(seconds=59))[0].status == "ok"


def test_protection_without_an_end_is_found_in_templates_and_node_pools():
    annotated = {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}, "spec": {"containers": [{}]}}
    assert doctor.judge_protection([pool(template=annotated)])[0].status == "fail"
    (unbounded, *_) = doctor.judge_protection([with_condition("ProtectionBounded", "NodePool x; apply: kubectl patch")])
    assert (unbounded.status, unbounded.fix) == ("warn", "kubectl patch")
    assert [check.status for check in doctor.judge_protection([pool()])] == ["ok"]


def test_a_bound_that_cannot_be_read_is_unknown():
    unread = with_condition("ProtectionBounded", "the NodeClaims of 1 node(s) cannot be read", status="Unknown")
    assert doctor.judge_protection([unread])[0].status == "unknown"


def test_nodes_in_quarantine_warn():
    closed = {"n": Quarantine(NOW, NOW + timedelta(minutes=5), "starts fail")}
    assert doctor.judge_quarantine({}).status == "ok" and doctor.judge_quarantine(closed).status == "warn"


def test_only_a_finalizer_that_outlives_the_grace_is_stuck():
    held = {"finalizers": ("a/b",), "deletion_due": NOW - timedelta(seconds=61)}
    assert doctor.judge_finalizers([terminating(0, **held)], NOW).status == "fail"
    for harmless in ({**held, "deletion_due": NOW}, {**held, "finalizers": ()}):
        assert doctor.judge_finalizers([terminating(0, **harmless)], NOW).status == "ok"


def test_leftovers_are_told_only_when_reaping_had_its_time():
    old, young = NOW - timedelta(hours=1), NOW - timedelta(seconds=30)
    judge = doctor.judge_leftovers
    assert judge([worker(0, created_at=old)], [], frozenset({"pool-uid"}), NOW).status == "ok"
    assert judge([worker(0, created_at=old)], [], frozenset(), NOW).status == "warn"
    assert judge([], [doctor.Account("runners", "linux-9", old)], frozenset(), NOW).status == "warn"
    assert judge([], [doctor.Account("runners", "linux-9", young)], frozenset(), NOW).status == "ok"


def test_budgets_of_pools_that_are_gone_warn():
    check = doctor.judge_budgets([AbandonedBudget("runners", "c", "its pool runners/gone no longer exists")])
    assert check.status == "warn" and check.evidence == {"runners/c": "its pool runners/gone no longer exists"}
    assert check.fix == "kubectl -n runners delete poddisruptionbudget c"
    assert doctor.judge_budgets([]).status == "ok"


def test_services_and_warmups_speak_for_themselves():
    def item(name, phase, **status):
        return {"metadata": {"namespace": "ns", "name": name}, "status": {"phase": phase, **status}}

    checks = doctor.judge_phases(
        "service",
        [item("a", "Serving"), item("b", "Failed", reason="no image", fix="name one"), item("c", "Unknown")],
        NOW,
    )
    assert [(check.id, check.status) for check in checks] == [
        ("service/ns/b", "fail"),
        ("service/ns/c", "unknown"),
        ("services", "ok"),
    ]
    assert checks[0].fix == "name one"
    assert checks[1].fix == "kubectl -n ns describe managedservice c"


def test_a_warm_dataset_whose_spec_became_invalid_fails_with_the_field():
    valid = {"type": "Valid", "status": "False", "reason": "InvalidSpec", "message": "spec.size: 'big' is not allowed"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": seconds_ago(900)}
    warm = {"phase": "Ready", "reason": "spec.size: 'big' is not allowed", "conditions": [valid, ready]}
    (check,) = doctor.judge_phases("warmup", [{"metadata": {"namespace": "ns", "name": "a"}, "status": warm}], NOW)
    assert (check.id, check.status) == ("warmup/ns/a", "fail")
    assert check.message == "ns/a is Ready, and its spec is not carried out: spec.size: 'big' is not allowed"
    assert check.fix == "kubectl edit warmup a -n ns"


@pytest.mark.parametrize(("seconds", "status"), [(60, "ok"), (600, "warn")])
def test_a_warmup_that_stays_stale_is_a_warning_with_its_reason(seconds: int, status: str):
    since = {"type": "Ready", "status": "False", "lastTransitionTime": seconds_ago(seconds)}
    stale = {"phase": "Stale", "reason": "10 nodes are needed, 9 are there", "conditions": [since]}
    (check,) = doctor.judge_phases("warmup", [{"metadata": {"namespace": "ns", "name": "a"}, "status": stale}], NOW)
    assert check.status == status
    assert ("10 nodes are needed, 9 are there" in check.message) == (status == "warn")


def judged_service(phase, seconds, *, observed=1, generation=1, made=seconds_ago(9_000), **metadata):
    since = {"type": "Serving", "status": "False", "lastTransitionTime": seconds_ago(seconds)}
    item = {
        "metadata": {"namespace": "ns", "name": "a", "generation": generation, "creationTimestamp": made, **metadata},
        "status": {"phase": phase, "observedGeneration": observed, "conditions": [since] if phase else []},
    }
    (check,) = doctor.judge_phases("service", [item], NOW)
    return check


@pytest.mark.parametrize(
    ("check", "status"),
    [
        (judged_service("Serving", 9_000), "ok"),
        (judged_service("Absent", 9_000), "ok"),
        (judged_service("Starting", 119), "ok"),
        (judged_service("Starting", 121), "warn"),
        (judged_service("", 0, observed=0, made=seconds_ago(119)), "ok"),
        (judged_service("", 0, observed=0, made=seconds_ago(121)), "warn"),
        (judged_service("Serving", 9_000, generation=2), "unknown"),
        (judged_service("Failed", 9_000, generation=2), "unknown"),
        (judged_service("Starting", 9_000, generation=2, deletionTimestamp=seconds_ago(5)), "ok"),
    ],
)
def test_a_service_that_does_not_come_up_or_was_not_looked_at_since_a_change_is_not_ok(check, status):
    assert check.status == status
    assert status == "ok" or (check.id == "service/ns/a" and check.fix)


def test_a_paused_invariant_says_who_paused_it_and_why():
    paused = doctor.InvariantStatus("warm-floor", "idle >= warm", "paused", True, 0, "ann", "a deploy is rolling")
    check = doctor.judge_invariant(paused)
    assert check.message == "paused by ann (a deploy is rolling): idle >= warm"
