"""The whys of nodes, claims, warmups and rules, by table: a code, a sentence, since when, what stands in the way."""

from datetime import timedelta

import msgspec
import pytest

from mooring.model.claim import ClaimState, EndCause
from mooring.model.invariant import INVARIANTS
from mooring.model.node import Quarantine, Taint
from mooring.model.service import ServiceStatus, explain_status
from mooring.model.warmup import Circuit, ShardStatus, TerminalFailure, Warmup, WarmupSpec, WarmupStatus
from mooring.model.why import Condition, Why
from mooring.planning.explanations.claims import explain_claim, explain_limit, explain_place
from mooring.planning.explanations.invariants import InvariantFacts, Violation, explain_invariant
from mooring.planning.explanations.nodes import HeldWorker, explain_node
from mooring.planning.explanations.warmups import explain_warmup
from packages.mooring.tests.planning.fleets import NOW, claim, node

EARLIER = NOW - timedelta(hours=1)
LATER = NOW + timedelta(minutes=5)
SHUT = Quarantine(EARLIER, LATER, "3 starts failed")


@pytest.mark.parametrize(
    ("at", "quarantine", "code", "since"),
    [
        (node(ready_since=EARLIER), None, "open", EARLIER),
        (node(created_at=EARLIER), None, "open", EARLIER),
        (node(ready=False, ready_since=EARLIER, unschedulable=True), SHUT, "not_ready", EARLIER),
        (node(unschedulable=True, draining_since=EARLIER), SHUT, "draining", EARLIER),
        (node(ready_since=NOW), SHUT, "quarantined", EARLIER),
        (node(ready_since=EARLIER, taints=(Taint("CriticalAddonsOnly", "true"),)), None, "system", EARLIER),
    ],
)
def test_a_node_tells_the_most_serious_first(at, quarantine, code, since):
    why = explain_node(at, quarantine, [])
    assert (why.code, why.since) == (code, since) and why.message


def test_a_node_that_drains_lists_who_holds_it_and_until_when():
    held = [HeldWorker("runners/linux-0", "acme", LATER), HeldWorker("runners/linux-1", "")]
    why = explain_node(node(unschedulable=True, draining_since=EARLIER), SHUT, held)
    assert why.message == "the node is cordoned, 2 worker(s) are held"
    assert why.blockers == (
        "quarantined until 12:05:00Z: 3 starts failed",
        "worker/runners/linux-0 of acme, protected until 2026-03-01 12:05:00Z",
        "worker/runners/linux-1 of no owner, not protected",
    )
    assert why.next_check == LATER and why.fix == "mooring drain-check node-1"


ENDED = {"ended_at": NOW, "state": ClaimState.LOST, "cause": EndCause.DRAINED, "reason": "its node was drained"}


@pytest.mark.parametrize(
    ("of", "code", "message", "since"),
    [
        (claim(), "running", "runs on linux-0", claim().running_at),
        (claim(state=ClaimState.CLAIMED), "claimed", "bound to linux-0, not running yet", claim().claimed_at),
        (claim(state=ClaimState.QUEUED), "queued", "waits for a worker of runners/linux", claim().created_at),
        (claim(**ENDED), "drained", "its node was drained", NOW),
        (claim(**{**ENDED, "cause": None, "reason": ""}), "lost", "it is lost", NOW),
    ],
)
def test_a_claim_says_what_it_does_and_since_when(of, code, message, since):
    why = explain_claim(of)
    assert (why.code, why.message, why.since) == (code, message, since)


def test_a_claim_that_waits_tells_its_place_who_is_before_it_and_why_nobody_is_free():
    shortage = Why("no_idle_worker", "nobody", NOW, ("workers: 0 idle",), LATER, "wait")
    again = {"rebinds": 1, "reason": "its worker went away", "wait_until": NOW + timedelta(hours=1)}
    why = explain_place(claim(state=ClaimState.QUEUED, queued_at=EARLIER, **again), 3, shortage)
    assert why == Why(
        "queued",
        "waits for a worker of runners/linux, number 3 in line; its worker went away",
        EARLIER,
        ("workers: 0 idle", "2 claim(s) are served before it"),
        LATER,
        "wait",
    )


def test_an_owner_at_the_limit_is_told_which_claims_count_and_since_when():
    held = [claim("c2", created_at=NOW), claim("c1", state=ClaimState.QUEUED, pod_name=None)]
    why = explain_limit("runners/linux", "acme", 3, held, 3)
    assert why.message == "acme holds 3 of at most 3 open claims on runners/linux"
    assert why.since == NOW
    assert why.blockers == (
        "claim/c2 running on worker/runners/linux-0 since 2026-03-01 11:59:00Z",
        "claim/c1 queued since 2026-03-01 11:57:00Z",
        "and 1 more",
    )


def warmup(phase: str = "Warming", ready: str = "False", **status: object) -> Warmup:
    conditions = (
        Condition("Valid", "True", "Accepted"),
        Condition("Ready", ready, phase, last_transition_time="2026-03-01T11:30:00Z"),
    )
    told = WarmupStatus(phase=phase, reason="1 of 3 shards are warm", conditions=conditions, **status)  # type: ignore[arg-type]
    return Warmup("search", "core", "uid", 1, EARLIER, WarmupSpec(), told)


def test_a_warmup_lists_its_missing_shards_by_what_holds_them_up():
    shards = (
        ShardStatus(0, "work-01", state="done"),
        ShardStatus(1, "work-02", state="waiting", why="its pod starts"),
        ShardStatus(2, state="waiting", why="its pod starts"),
        ShardStatus(3, "work-03", state="fetching"),
    )
    why = explain_warmup(warmup(shards=shards))
    assert (why.code, why.message, f"{why.since:%H:%M}") == ("warming", "1 of 3 shards are warm", "11:30")
    assert why.blockers == (
        "1 shard(s) fetching (3 on node/work-03)",
        "2 shard(s) waiting: its pod starts (1 on node/work-02, 2)",
    )
    assert why.fix == "mooring warmups search/core"


def test_a_warmup_whose_circuit_is_open_says_when_it_is_tried_again():
    failures = (TerminalFailure("a", "u1", EARLIER), TerminalFailure("b", "u2", NOW))
    why = explain_warmup(warmup("Failed", circuit=Circuit("open", failures, open_until=LATER)))
    assert (why.code, why.since, why.next_check) == ("failed", NOW, LATER)
    assert why.blockers == ("2 Jobs ended badly, none is made",)
    assert why.fix == "mooring warm search/core --close-circuit"


def test_a_warmup_that_nobody_looked_at_that_is_wrong_or_goes_says_so():
    new = Warmup("search", "core", "uid", 1, EARLIER, WarmupSpec())
    assert (explain_warmup(new).code, explain_warmup(new).since) == ("not_reconciled", EARLIER)
    goes = msgspec.structs.replace(warmup(), terminating=True, terminating_since=NOW)
    assert (explain_warmup(goes).code, explain_warmup(goes).since) == ("terminating", NOW)
    wrong = warmup()
    bad = (Condition("Valid", "False", "InvalidSpec", "spec.shards: 0"),)
    wrong = msgspec.structs.replace(wrong, status=msgspec.structs.replace(wrong.status, conditions=bad))
    assert explain_warmup(wrong).code == "invalid_spec" and "spec.shards: 0" in explain_warmup(wrong).message
    asked = msgspec.structs.replace(warmup("Ready", "True"), rewarm_request="again")
    assert explain_warmup(asked).blockers == ("a re-warm that was asked for waits for nodes",)


def test_a_service_that_nobody_looked_at_waits_since_it_was_made():
    why = explain_status(ServiceStatus(), EARLIER)
    assert (why.code, why.message, why.since) == ("NotReconciled", "not reconciled yet", EARLIER)


RULE = INVARIANTS[0]


def facts(state: str, **known: object) -> InvariantFacts:
    told: dict[str, object] = {"rule": RULE, "synced": True, "broken": 0, "watched_since": EARLIER, **known}
    return InvariantFacts(state=state, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("of", "message", "since"),
    [
        (facts("holds", since=NOW), "nothing is broken", NOW),
        (facts("holds", checked_at=NOW), "nothing is broken", NOW),
        (facts("holds"), "nothing is broken", EARLIER),
        (facts("unknown"), "not checked yet", EARLIER),
        (facts("unknown", synced=False), "not checked yet: the caches are not read to their end", EARLIER),
        (
            facts("unknown", rule=msgspec.structs.replace(RULE, enforced=False)),
            "this version does not enforce it",
            EARLIER,
        ),
        (facts("paused", paused_by="ann", pause_reason="a deploy", paused_since=NOW), "paused by ann: a deploy", NOW),
        (facts("broken", broken=2, since=NOW), f"2 broken now; remedy: {RULE.remedy}", NOW),
    ],
)
def test_a_rule_says_how_it_stands_and_since_when(of, message, since):
    why = explain_invariant(of)
    assert (why.code, why.message, why.since) == (of.state, message, since)


def test_a_broken_rule_lists_what_it_found_or_the_last_evidence():
    found = [Violation("pool/runners/linux", "1 of 4 idle", NOW)]
    assert explain_invariant(facts("broken", broken=1, violations=found)).blockers == (
        "pool/runners/linux: 1 of 4 idle",
    )
    evidence = {"subject": "linux-0", "epoch": 7, "proofs": ["a", "b"]}
    told = explain_invariant(facts("broken", broken=1, evidence=evidence)).blockers
    assert told == ("the last one: linux-0 (epoch 7)",)
    held = {**evidence, "held": "two proofs are needed"}
    told = explain_invariant(facts("broken", broken=1, evidence=held)).blockers
    assert told == ("the last one: linux-0, left for now: two proofs are needed (epoch 7)",)


def test_what_a_paused_rule_leaves_broken_is_counted():
    assert explain_invariant(facts("paused", broken=2)).blockers == ("2 broken, left as they are",)
