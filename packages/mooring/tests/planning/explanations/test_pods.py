"""What is said about a pod, from what was read about it."""

import pytest

from mooring.model.evidence import Failure
from mooring.model.explanation import PodEvent
from mooring.model.preflight import HeldClaim, Preflight
from mooring.planning.explanations.pods import PodFacts, Quota, container_in_trouble, explain_pod
from packages.mooring.tests.planning.fleets import NOW

NO_NODE = Preflight(0, 3, "0/3 nodes are available: 3 Insufficient cpu.", "needs 4 CPU")
ROOM = Preflight(2, 3, "2/3 nodes are available.")


def pod(phase="Pending", node="", waiting=None, conditions=(), **parts):
    state = {"waiting": waiting} if waiting else {"running": {}}
    statuses = [{"name": "main", "state": state, "restartCount": 4, "lastState": {"terminated": {"exitCode": 3}}}]
    return {
        "metadata": {"name": "p", "namespace": "ns", "uid": "u", **parts.pop("metadata", {})},
        "spec": {
            "containers": [{"name": "main", "image": "reg.example/app:1"}],
            "nodeName": node,
            **parts.pop("spec", {}),
        },
        "status": {"phase": phase, "conditions": list(conditions), "containerStatuses": statuses if node else []},
    }


def unschedulable(message="0/3 nodes are available"):
    since = "2026-03-01T11:58:00Z"
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastTransitionTime": since,
    }


def told(of, **facts):
    return explain_pod(PodFacts(NOW, of, **facts))


def codes(explanation):
    return [finding.code for finding in explanation.findings]


def test_a_pod_without_a_node_is_explained_by_the_nodes():
    found = told(pod(conditions=[unschedulable()]), preflight=NO_NODE)
    assert (found.state, found.summary, found.fix) == ("unschedulable", NO_NODE.sentence, "needs 4 CPU")
    assert found.findings[0].since.isoformat() == "2026-03-01T11:58:00+00:00"


def test_a_refusal_that_no_longer_holds_is_told_as_one():
    found = told(pod(conditions=[unschedulable("no room")]), preflight=ROOM)
    assert codes(found) == ["scheduler_refused"] and "2 of 3 nodes would take it now" in found.summary


def test_a_refusal_is_not_contradicted_by_what_was_not_judged():
    unsure = Preflight(3, 3, "3/3 nodes are available.", unknown=("the volume of claim data: it was not read",))
    found = told(pod(conditions=[unschedulable("no volume")]), preflight=unsure)
    assert codes(found) == ["scheduler_refused"] and found.state == "unschedulable"
    assert "would take it" not in found.summary and "claim data" in found.summary and "wait" not in found.fix
    assert found.fix == "kubectl -n ns describe pod p"


def test_a_claim_that_holds_a_pod_comes_first():
    claim = HeldClaim("data", "claim_missing", "not found", "claim data does not exist", "kubectl …")
    held = Preflight(0, 3, "0/3 nodes are available: not found.", "kubectl …", claims=(claim,))
    found = told(pod(conditions=[unschedulable()]), preflight=held)
    assert codes(found) == ["claim_missing", "unschedulable"]
    assert (found.state, found.summary, found.fix) == ("unschedulable", claim.message, claim.fix)


def test_gates_and_a_scheduler_that_never_looked():
    assert codes(told(pod(spec={"schedulingGates": [{"name": "hold"}]}), preflight=ROOM)) == ["gated"]
    assert "own-scheduler" in told(pod(spec={"schedulerName": "own-scheduler"}), preflight=ROOM).summary


@pytest.mark.parametrize(
    ("reason", "message", "code"),
    [
        ("ImagePullBackOff", "401 Unauthorized", "image_unauthorized"),
        ("ErrImagePull", "manifest unknown: not found", "image_not_found"),
        ("ErrImagePull", "dial tcp: i/o timeout", "registry_unreachable"),
        ("InvalidImageName", "couldn't parse image reference", "image_name_invalid"),
        ("ImagePullBackOff", "something else", "image_pull_failed"),
        ("CreateContainerConfigError", 'configmap "x" not found', "config_missing"),
        ("CrashLoopBackOff", "back-off", "crash_looping"),
        ("RunContainerError", "no such file", "not_starting"),
    ],
)
def test_each_way_of_not_starting_has_its_code_and_its_fix(reason, message, code):
    found = told(pod(node="n", waiting={"reason": reason, "message": message}))
    assert codes(found) == [code] and found.findings[0].fix and found.state == "waiting"


def test_a_container_that_keeps_ending_is_told_with_its_last_words():
    crashing = pod(node="n", waiting={"reason": "CrashLoopBackOff"})
    assert container_in_trouble(crashing)["name"] == "main"
    found = told(crashing, failure=Failure("p", "main", 4, 3, ("starting", "no database"), ""))
    assert "(exit code 3, restarted 4 times): no database" in found.summary


def test_events_tell_what_a_status_does_not():
    events = (
        PodEvent("kubelet", "FailedMount", "no such volume", warning=True),
        PodEvent("kubelet", "Unhealthy", "probe failed: 503", warning=True),
        PodEvent("karpenter", "FailedScheduling", "no instance type fits", warning=True),
    )
    assert codes(told(pod("Running", "n"), events=events)) == ["volume_not_mounted", "probe_failing"]
    found = told(pod(conditions=[unschedulable()]), events=events, preflight=NO_NODE)
    assert codes(found)[:2] == ["unschedulable", "karpenter"]


def test_a_pod_that_is_well_has_nothing_found_but_a_used_up_quota_is_mentioned():
    well = pod("Running", "n", conditions=[{"type": "Ready", "status": "True"}])
    assert told(well).findings == () and told(well).summary == "it runs on n"
    assert codes(told(well, quotas=(Quota("q", "pods", "5", "5"),))) == ["quota_used_up"]
    leaving = pod("Running", "n", metadata={"deletionTimestamp": "2026-03-01T12:00:00Z", "finalizers": ["a/b"]})
    assert told(leaving).state == "terminating" and "a/b" in told(leaving).summary
