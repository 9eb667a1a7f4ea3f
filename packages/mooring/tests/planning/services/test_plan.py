"""What is said of a service, over everything that can be seen of one: never more than was seen, never without a fix."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.demo.tides import DOCUMENT
from mooring.model.openapi import read_document
from mooring.model.service import Service, ServiceRollout, ServiceSpec, ServiceStatus
from mooring.model.service_observations import Answer, Outcome, PodEvidence, Rollout, ServicePod
from mooring.planning.placement import Placed
from mooring.planning.services.plan import ServiceSnapshot, desired_state, plan_service
from mooring.planning.services.preflight import PlacementCheck

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
OPEN, CLOSED = PlacementCheck(Placed(), True), PlacementCheck(Placed(), False, "0 of 3 nodes fit", "kubectl …")
SPEC = ServiceSpec(image="api:1", port=8080, replicas=2, rollback="LastServing")
HASH = desired_state(Service("ns", "api", "uid", 1, SPEC), OPEN).spec_hash

counts = st.integers(0, 3)
hashes = st.sampled_from([HASH, "older"])
words = st.sampled_from(["", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError", "RunContainerError"])
answers = st.builds(
    lambda outcome: Answer(outcome, "told", 500, read_document(DOCUMENT) if outcome is Outcome.DOCUMENT else None),
    st.sampled_from(Outcome),
)
pods = st.builds(
    ServicePod,
    name=st.sampled_from(["a", "b"]),
    uid=st.sampled_from(["1", "2"]),
    spec_hash=hashes,
    ready=st.booleans(),
    waiting=words,
    restarts=counts,
    unschedulable=st.sampled_from(["", "0/3 nodes are available"]),
    created_at=st.sampled_from([NOW, NOW - timedelta(seconds=100)]),
    running_since=st.sampled_from([None, NOW, NOW - timedelta(seconds=100)]),
)
rollouts = st.builds(
    Rollout,
    uid=st.just("d"),
    spec_hash=hashes,
    placement=st.sampled_from(["", Placed().fingerprint]),
    image=st.sampled_from(["api:1", "api:0"]),
    wanted=counts,
    generation=st.integers(1, 2),
    observed_generation=st.integers(0, 2),
    total=counts,
    updated=counts,
    available=counts,
    create_failure=st.sampled_from(
        ["", "denied", "exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3"]
    ),
    stalled=st.sampled_from(["", "has timed out progressing"]),
)
statuses = st.builds(
    lambda last, given_up: ServiceStatus(rollout=ServiceRollout(last_serving=last, rolled_back_from=given_up)),
    st.sampled_from(["", "api:0", "api:1"]),
    st.sampled_from(["", "api:1"]),
)
snapshots = st.builds(
    ServiceSnapshot,
    now=st.just(NOW),
    service=statuses.map(lambda status: Service("ns", "api", "uid", 1, SPEC, status)),
    placement_check=st.sampled_from([OPEN, CLOSED]),
    rollout=st.none() | rollouts,
    attached=st.booleans(),
    pods=st.lists(pods, max_size=2).map(tuple),
    endpoints=counts,
    evidence=st.none() | st.builds(PodEvidence, pods, answer=st.none() | answers),
    answer=st.none() | answers,
    problems=st.sampled_from([(), ("spec.port: 0 is not allowed",)]),
    unreadable=st.sampled_from(["", "the pods cannot be read"]),
    preflight_paused=st.sampled_from(["", "paused by me"]),
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(snapshots)
def test_serving_is_said_only_of_what_was_seen_to_serve(seen: ServiceSnapshot):
    plan = plan_service(seen)
    if plan.status.phase != "Serving":
        assert plan.status.api is None and not plan.status.url
        return
    assert not seen.unreadable and not seen.problems and seen.endpoints > 0
    assert seen.rollout is not None and seen.rollout.complete
    assert seen.rollout.spec_hash == desired_state(seen.service, seen.placement_check).spec_hash
    assert seen.answer is not None and seen.answer.outcome is Outcome.DOCUMENT
    assert plan.status.api is not None and plan.status.api.endpoints == 2


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(snapshots)
def test_whatever_fails_has_a_reason_and_a_fix(seen: ServiceSnapshot):
    status = plan_service(seen).status
    assert status.phase and status.reason
    if status.phase in ("Failed", "Unknown"):
        assert status.fix


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(snapshots)
def test_nothing_is_applied_blindly(seen: ServiceSnapshot):
    plan = plan_service(seen)
    if seen.unreadable or seen.problems:
        assert plan.apply is None
    if plan.apply is not None and not seen.placement_check.fits and not seen.preflight_paused:
        assert seen.rollout is not None and seen.rollout.spec_hash == plan.apply.spec_hash  # no new pods


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(snapshots)
def test_what_cannot_be_read_is_unknown(seen: ServiceSnapshot):
    if seen.unreadable:
        status = plan_service(seen).status
        assert status.phase == "Unknown" and status.reason == seen.unreadable


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(snapshots)
def test_an_image_is_given_up_only_for_one_that_has_served(seen: ServiceSnapshot):
    rollout = plan_service(seen).status.rollout
    if rollout.rolled_back_from:
        assert rollout.last_serving not in ("", rollout.rolled_back_from)
