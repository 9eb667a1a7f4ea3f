"""Gates, steps and leftovers as tables, and what must never be planned."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as replace_struct

from mooring.model.names import DATASET, SUBMISSION
from mooring.model.submission import Cancel, Gate, StepPhase, SubmissionSpec, SubmissionStatus, steps_of
from mooring.planning.fit import preflight
from mooring.planning.placement import Placed
from mooring.planning.submissions.gates import (
    AdmissionVerdict,
    Findings,
    Quota,
    Site,
    judge_ceiling,
    judge_gates,
    plan_admission,
)
from mooring.planning.submissions.leftovers import (
    FoundJob,
    FoundSubmission,
    LeftoversSnapshot,
    find_owners,
    plan_leftovers,
)
from mooring.planning.submissions.plan import Pinned, SeenJob, SubmissionSnapshot, plan_submission

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NO_NODE = preflight({"containers": [{"name": "main"}]}, [])
SITE = Site(Placed(), replace_struct(NO_NODE, fits=3))
GOOD = Findings("search", sites=(SITE,), permissions={"create jobs": True})


def spec(**changes: Any) -> SubmissionSpec:
    plain: dict[str, Any] = {
        "key": "k",
        "program": "search",
        "setup": {},
        "batches": [{"name": "a"}, {"name": "b"}],
        "finalizer": {},
    }
    return msgspec.convert({**plain, **changes}, SubmissionSpec)


# --- gates -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "gate", "state"),
    [
        ({"config_maps": {"x": True}}, "config-maps", "ok"),
        ({"config_maps": {"x": False}}, "config-maps", "fail"),
        ({"config_maps": {"x": None}}, "config-maps", "unknown"),
        ({"accounts": {"x": True}}, "service-account", "ok"),
        ({"accounts": {"x": False}}, "service-account", "fail"),
        ({"accounts": {"x": None}}, "service-account", "unknown"),
        ({"warmups": {"w": "Ready"}}, "warmups", "ok"),
        ({"warmups": {"w": "Stale"}}, "warmups", "fail"),
        ({"warmups": {"w": ""}}, "warmups", "fail"),
        ({"warmups": {"w": None}}, "warmups", "unknown"),
        ({"sites": (Site(Placed(problem="no such pool", fix="label")),)}, "placement", "fail"),
        ({"sites": (Site(Placed(), NO_NODE),)}, "placement", "fail"),
        ({"sites": (Site(Placed(), replace_struct(NO_NODE, makers=("spot",))),)}, "placement", "ok"),
        ({"sites": (Site(Placed(settled=False), NO_NODE),)}, "placement", "unknown"),
        ({"sites": (Site(Placed()),)}, "placement", "unknown"),
        ({"permissions": {"create jobs": False}}, "permissions", "fail"),
        ({"permissions": {"create jobs": None}}, "permissions", "unknown"),
        ({"permissions": {}}, "permissions", "unknown"),
        ({"quotas": None}, "quota", "unknown"),
        ({"quotas": (Quota("q", {"count/jobs.batch": "3"}, {"count/jobs.batch": "0"}),)}, "quota", "fail"),
        ({"quotas": (Quota("q", {"count/jobs.batch": "4"}, {}),)}, "quota", "ok"),
        ({"quotas": (Quota("q", {"requests.cpu": "4"}, {}),)}, "quota", "fail"),
        ({"quotas": (Quota("q", {"pods": "many"}, {}),)}, "quota", "unknown"),
        ({"refusal": ""}, "manifest", "ok"),
        ({"refusal": "volumeMounts[0].name: Not found"}, "manifest", "fail"),
        ({"refusal": None}, "manifest", "unknown"),
        ({"key_holder": "other"}, "key", "fail"),
        ({"strangers": ("k-setup",)}, "names", "fail"),
        ({"problems": ("spec.key: ...",)}, "spec", "fail"),
    ],
)
def test_each_gate_is_ok_fail_or_unknown_and_says_what_to_do(changes: dict[str, Any], gate: str, state: str):
    found = next(one for one in judge_gates(spec(), replace(GOOD, **changes)) if one.id == gate)
    assert found.state == state and found.message
    assert found.fix or state == "ok"


@pytest.mark.parametrize(
    ("problem", "state"), [("", "ok"), ("no variable begins with STORE_", "fail"), (None, "unknown")]
)
def test_a_secret_that_is_not_inherited_is_named_with_what_to_do(problem: str | None, state: str):
    order = spec(inheritEnv={"deployment": "api", "prefixes": ["STORE_"]})
    gates = judge_gates(order, replace(GOOD, inheritance=problem, not_inherited=("creds",)))
    found = next(gate for gate in gates if gate.id == "inherit-env")
    assert found.state == state
    if state != "unknown":
        assert "not inherited" in found.message and "creds" in found.message and "secretKeyRef" in found.fix


@pytest.mark.parametrize(
    ("shards", "state"),
    [({"w": 3, "v": 1}, "ok"), ({"w": 2, "v": 1}, "fail"), ({"w": None, "v": 1}, "unknown"), ({}, "unknown")],
)
@pytest.mark.parametrize("policy", ["Wait", "Refuse"])
def test_a_shard_that_its_warmup_never_has_refuses_whatever_is_waited_for(
    shards: dict[str, int | None], state: str, policy: str
):
    batches = [{"shard": 2, "placement": {"warmup": "w"}}, {"shard": 0}, {}]
    order = spec(batches=batches, placement={"warmup": "v"}, requires={"warmupPolicy": policy})
    gates = judge_gates(order, replace(GOOD, shards=shards, warmups={"w": "Warming", "v": "Ready"}))
    found = next(gate for gate in gates if gate.id == "shards")
    assert found.state == state and found.message
    if state == "fail":
        assert "w has 2 shards" in found.message and "batch-0 asks for 2" in found.message and "0 to 1" in found.fix
        assert plan_admission(order, gates)[0] is AdmissionVerdict.REFUSE


@given(
    st.lists(st.sampled_from(["ok", "fail", "unknown"]), min_size=1, max_size=6), st.sampled_from(["Wait", "Refuse"])
)
def test_nothing_goes_unless_every_gate_is_ok(states: list[str], policy: str):
    names = ["warmups", "ceiling", "quota", "config-maps", "permissions", "placement"]
    gates = tuple(Gate(name, state, name) for name, state in zip(names, states, strict=False))
    admission, why = plan_admission(spec(requires={"warmupPolicy": policy}), gates)
    assert (admission is AdmissionVerdict.GO) == (set(states) == {"ok"})
    assert bool(why) == (admission is not AdmissionVerdict.GO)


def test_the_ceiling_queues_by_age_and_never_refuses():
    assert judge_ceiling(2, 0, 3).state == "ok"
    assert judge_ceiling(2, 1, 3).state == "fail"
    full = judge_ceiling(3, 0, 3)
    assert plan_admission(spec(), (full,))[0] is AdmissionVerdict.WAIT


# --- steps -----------------------------------------------------------------------------------------------------------
def job(phase: StepPhase, **changes: Any) -> SeenJob:
    return SeenJob(**{"name": "j", "uid": "u", "resource_version": "1", "phase": phase, "attempts": 1, **changes})


def plan(jobs: dict[str, SeenJob], **changes: Any) -> Any:
    return plan_submission(SubmissionSnapshot(spec(), SubmissionStatus(), jobs, **changes))


DONE, BAD, RUNS = job(StepPhase.SUCCEEDED), job(StepPhase.FAILED), job(StepPhase.RUNNING)


@pytest.mark.parametrize(
    ("jobs", "made", "phase"),
    [
        ({}, ["setup"], "Submitting"),
        ({"setup": RUNS}, [], "Running"),
        ({"setup": DONE}, ["a", "b"], "Running"),
        ({"setup": DONE, "a": RUNS}, ["b"], "Running"),
        ({"setup": DONE, "a": DONE, "b": RUNS}, [], "Running"),
        ({"setup": DONE, "a": DONE, "b": DONE}, ["finalizer"], "Running"),
        ({"setup": DONE, "a": BAD, "b": DONE}, ["finalizer"], "Running"),
        ({"setup": DONE, "a": BAD, "b": DONE, "finalizer": DONE}, [], "Failed"),
        ({"setup": DONE, "a": DONE, "b": DONE, "finalizer": DONE}, [], "Succeeded"),
        ({"setup": BAD}, [], "Failed"),
    ],
)
def test_steps_come_one_after_another(jobs: dict[str, SeenJob], made: list[str], phase: str):
    found = plan(jobs)
    assert [create.step.name for create in found.creates] == made
    assert found.phase == phase


def test_what_was_made_and_is_not_seen_yet_is_not_made_again():
    assert plan({}, in_flight=frozenset({"setup"})).creates == ()


def test_while_a_gate_is_shut_nothing_new_is_made_and_every_step_says_so():
    found = plan({"setup": DONE}, held="config-maps: missing: x")
    assert found.creates == () and "missing: x" in found.message
    assert found.steps[1].why == "config-maps: missing: x"


@pytest.mark.parametrize(
    ("jobs", "refused", "phases"),
    [
        ({}, "setup", ["Failed", "Skipped", "Skipped", "Skipped"]),
        ({"setup": DONE, "b": RUNS}, "a", ["Succeeded", "Failed", "Running", "Waiting"]),
        ({"setup": DONE, "a": RUNS, "b": RUNS}, "a", ["Succeeded", "Running", "Running", "Waiting"]),
    ],
)
def test_a_step_that_the_api_server_refuses_has_failed_unless_its_job_is_there(
    jobs: dict[str, SeenJob], refused: str, phases: list[str]
):
    found = plan(jobs, refused={refused: "no such field"})
    assert [step.phase for step in found.steps] == phases
    if "Failed" in phases:
        assert found.failed == refused and found.steps[phases.index("Failed")].why == "no such field"


def test_a_batch_waits_until_its_shard_is_warm_somewhere():
    pins = {"a": Pinned(problem="shard 0 of w is warm on no live node"), "b": Pinned({"node-1": "uid-1"})}
    found = plan({"setup": DONE}, pins=pins)
    assert [create.step.name for create in found.creates] == ["b"]
    assert found.steps[1].why == "shard 0 of w is warm on no live node"


def test_a_job_that_waits_for_a_node_that_is_gone_is_replaced_and_one_that_runs_is_not():
    lost = job(StepPhase.STARTING, node_uids=frozenset({"old"}), age_seconds=60)
    alive = job(StepPhase.RUNNING, node_uids=frozenset({"old"}))
    found = plan({"setup": DONE, "a": lost, "b": alive}, node_uids=frozenset({"new"}))
    assert [act.step for act in found.replaces] == ["a"]
    assert plan({"setup": DONE, "a": lost}).replaces == (), "an empty list of nodes proves nothing"


def test_cancelling_stops_what_runs_and_keeps_what_is_done():
    found = plan({"setup": DONE, "a": DONE, "b": RUNS}, cancel=Cancel("ann"))
    assert [stop.step for stop in found.stops] == ["b"] and found.creates == ()
    after = plan({"setup": DONE, "a": DONE}, cancel=Cancel("ann", finalize=True))
    assert [create.step.name for create in after.creates] == ["finalizer"]
    assert after.creates[0].failed_batches == ("b",)


def test_a_cancelled_submission_does_not_wait_for_a_closed_gate_to_run_its_finalizer():
    gone = {
        "held": "config-maps: missing: x",
        "closed": "config-maps: missing: x",
        "cancel": Cancel("ann", finalize=True),
    }
    found = plan({"setup": DONE, "a": DONE}, **gone)
    assert found.phase == "Failed" and found.creates == ()
    assert (found.steps[-1].phase, found.steps[-1].why) == ("Skipped", "config-maps: missing: x")
    still = plan({"setup": DONE, "a": RUNS}, **gone)
    assert still.phase == "Running" and still.steps[-1].phase == "Waiting", "the gate may open before it is due"
    unread = plan({"setup": DONE, "a": DONE}, held="config-maps: could not be read: x", cancel=gone["cancel"])
    assert unread.phase == "Running", "what could not be read is not missing"
    runs = plan({"setup": DONE, "a": DONE, "finalizer": RUNS}, **gone)
    assert runs.steps[-1].phase == "Running"


@given(st.data())
def test_planning_again_after_everything_was_carried_out_asks_for_nothing_new(data: st.DataObject):
    """Whatever becomes of each Job, every step is made at most once, and it ends."""
    order, status, jobs = spec(), SubmissionStatus(), dict[str, SeenJob]()
    made: list[str] = []
    for _ in range(12):
        found = plan_submission(SubmissionSnapshot(order, status, jobs))
        made += [create.step.name for create in found.creates]
        for create in found.creates:
            ends = data.draw(st.sampled_from([StepPhase.SUCCEEDED, StepPhase.FAILED]))
            jobs[create.step.name] = job(ends)
        status = SubmissionStatus(steps=found.steps)
        if data.draw(st.booleans()):
            ended = {step.name for step in found.steps if step.phase in ("Succeeded", "Failed")}
            jobs = {name: seen for name, seen in jobs.items() if name not in ended}  # somebody deletes them
    assert len(made) == len(set(made))
    assert found.phase in ("Succeeded", "Failed")
    assert set(made) <= {step.name for step in steps_of(order)}


# --- leftovers -------------------------------------------------------------------------------------------------------
def left(name: str = "k-setup", minutes: float = 5, **changes: Any) -> FoundJob:
    plain = {"namespace": "n", "name": name, "uid": f"uid-{name}", "resource_version": "1"}
    return FoundJob(**{**plain, "created_at": NOW - timedelta(minutes=minutes), **changes})


def sweep(*jobs: FoundJob, gone: frozenset[str] = frozenset(), wanted: frozenset[str] = frozenset({"k-setup"})) -> Any:
    alive = (FoundSubmission("alive", "uid-alive", NOW - timedelta(minutes=1)),)
    return plan_leftovers(LeftoversSnapshot(NOW, jobs, alive, gone, wanted, "uid-new"))


OF_DEAD: dict[str, Any] = {"owner_name": "dead", "owner_uid": "uid-dead", "owned": True}


@pytest.mark.parametrize(
    ("found", "deleted"),
    [
        (left(**OF_DEAD), True),
        (left(**{**OF_DEAD, "owner_name": "unproven"}), False),
        (left(owner_name="alive", owner_uid="uid-alive", owned=True), False),
        (replace(left(**OF_DEAD), created_at=None), False),
        (left(labels={SUBMISSION: "dead"}), True),
        (left(labels={SUBMISSION: "unproven"}), False),
        (left(labels={SUBMISSION: "alive"}), True),
        (left(labels={SUBMISSION: "alive"}, minutes=0.5), False),
        (left(labels={"mooring.dev/old": "x"}), True),
        (left("elsewhere", labels={"mooring.dev/old": "x"}), False),
        (left(labels={DATASET: "core_nt"}), False),
        (left(labels={"app": "theirs"}), False),
        (left(labels={"mooring.dev/old": "x"}, owned=True), False),
    ],
)
def test_only_leftovers_are_deleted(found: FoundJob, deleted: bool):
    acts = sweep(found, gone=frozenset({"dead"})).acts
    assert [act.job for act in acts] == ([found] if deleted else [])
    assert all(len(set(act.proofs)) == 2 for act in acts)


def test_what_is_of_unknown_origin_has_to_be_half_an_hour_old():
    (act,) = sweep(left(labels={"mooring.dev/old": "x"})).acts
    assert act.floor_seconds == 1800


def test_a_leftover_that_is_going_already_is_only_waited_for():
    found = sweep(replace(left(**OF_DEAD), terminating=True), gone=frozenset({"dead"}))
    assert found.acts == () and found.in_the_way == ("k-setup",)


def test_our_own_jobs_are_not_in_our_way():
    found = sweep(left(owner_name="new", owner_uid="uid-new", owned=True))
    assert (found.acts, found.in_the_way, found.strangers) == ((), (), ())


def test_owners_that_were_not_listed_need_a_live_look():
    alive = (FoundSubmission("alive", "uid-alive"),)
    jobs = (left(**OF_DEAD), left("b", labels={SUBMISSION: "x"}), left("c", labels={SUBMISSION: "alive"}))
    assert find_owners(jobs, alive) == {"dead", "x"}


@given(st.sampled_from(["", "uid-alive", "uid-dead"]), st.sampled_from(["", "alive", "dead"]), st.floats(0, 90))
def test_a_job_of_a_live_submission_is_never_deleted(owner: str, label: str, minutes: float):
    found = left(
        minutes=minutes,
        labels={SUBMISSION: label} if label else {"mooring.dev/old": "x"},
        owner_uid=owner,
        owner_name=owner.removeprefix("uid-"),
        owned=bool(owner),
    )
    acts = sweep(found, gone=frozenset({"dead"})).acts
    if owner == "uid-alive":
        assert acts == ()
