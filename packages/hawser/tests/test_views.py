"""Views read what a real API server sends, and cost little."""

import gc
import json
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from hawser import views
from hawser.decoding import ViewDecoder, decoder_for
from hawser.resources import BUDGETS, ENDPOINTSLICES, EVENTS, LEASES, NODES, PODS, Resource
from hawser.views import Pod, format_micro_time, format_time, parse_time
from hawser.views.base import wire_name
from packages.hawser.tests.real_pods import TIME, real_pod

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def read(resource: Resource[Any], body: dict[str, Any]) -> Any:
    return decoder_for(resource.view).object(json.dumps(body).encode())


def test_a_real_pod_is_read() -> None:
    pod: Pod = read(PODS, real_pod(7))
    assert pod.metadata.name == "worker-000007-x7k2p"
    assert pod.metadata.creation_timestamp == NOON
    assert pod.metadata.controller is not None
    assert pod.metadata.controller.kind == "WorkerPool"
    assert pod.spec.node_name == "ip-10-0-0-7.eu-central-1.compute.internal"
    assert pod.spec.containers[0].resources.requests == {"cpu": "2", "memory": "16Gi"}
    assert pod.spec.containers[0].ports[0].container_port == 8080
    assert (pod.spec.containers[0].env[0].value, pod.spec.containers[0].env[5].value) == ("value-0", "")
    assert pod.spec.tolerations[0].toleration_seconds == 300
    assert pod.spec.termination_grace_period_seconds == 600
    assert pod.spec.required_terms[0].match_fields[0].values == ("node-1",)
    assert pod.status.pod_ip == "10.1.0.7"
    assert pod.status.container_statuses[0].state.running is not None
    assert pod.status.container_statuses[0].restart_count == 2
    assert pod.status.init_container_statuses[0].state.terminated is not None
    assert pod.ready
    assert not pod.terminating
    assert not pod.finished
    assert pod.defects == ()


def test_a_terminating_pod_says_so() -> None:
    pod = read(PODS, {"metadata": {"deletionTimestamp": TIME, "deletionGracePeriodSeconds": 30}})
    assert pod.terminating
    assert pod.metadata.deletion_grace_period_seconds == 30


@pytest.mark.parametrize("resource", [PODS, NODES, ENDPOINTSLICES, EVENTS, LEASES])
def test_an_object_with_nothing_in_it_has_defaults(resource: Resource[Any]) -> None:
    found = read(resource, {})
    assert found == resource.view()
    assert found.metadata.labels == {}


@pytest.mark.parametrize("section", ["metadata", "spec", "status"])
def test_every_field_of_a_pod_may_be_null(section: str) -> None:
    body = real_pod(1)
    body[section] = dict.fromkeys(body[section])
    found = read(PODS, body)
    assert found.defects == ()
    assert getattr(found, section) == getattr(Pod(), section)


def test_nulls_deep_inside_cost_nothing_else() -> None:
    body = real_pod(1)
    body["spec"]["containers"][0]["ports"] = None
    body["spec"]["containers"][0]["resources"]["limits"] = None
    body["spec"]["tolerations"] = [None]
    body["status"]["containerStatuses"][0]["lastState"] = None
    found = read(PODS, body)
    assert found.defects == ()
    assert found.spec.containers[0].image
    assert found.spec.containers[0].ports == ()
    assert found.spec.tolerations == ()


def test_values_nobody_has_heard_of_are_kept() -> None:
    body = real_pod(1)
    body["status"]["phase"] = "Hibernating"
    body["status"]["conditions"][0]["type"] = "example.com/Blessed"
    found = read(PODS, body)
    assert found.status.phase == "Hibernating"
    assert found.status.conditions[0].type == "example.com/Blessed"


def test_a_field_of_the_wrong_shape_is_named_and_the_rest_is_read() -> None:
    body = real_pod(1)
    body["spec"]["containers"][0]["ports"][0]["containerPort"] = "eighty"
    body["metadata"]["labels"]["mooring.dev/busy"] = True
    found = read(PODS, body)
    assert found.metadata.name == "worker-000001-x7k2p"
    assert found.metadata.labels == {}
    assert found.spec.containers[0].ports[0].container_port == 0
    assert len(found.spec.containers) == 2
    assert sorted(defect.split(":")[0] for defect in found.defects) == [
        "metadata.labels[...]",
        "spec.containers[0].ports[0].containerPort",
    ]


@pytest.mark.parametrize(
    "body", ["a text", 7, [], [[]], {"metadata": 5}, {"spec": [], "status": "x", "metadata": {"uid": {}}}]
)
def test_no_object_is_too_foreign_to_be_read(body: Any) -> None:
    found = read(PODS, body)
    assert isinstance(found, Pod)
    assert found.defects


def test_an_object_cannot_claim_defects_of_its_own_that_break_reading() -> None:
    assert read(PODS, {"(defects)": {"x": 1}}).metadata == views.Meta()


def test_one_malformed_object_does_not_cost_the_list() -> None:
    items = [real_pod(1), {"metadata": {"name": "odd", "labels": [1]}}, "nonsense", real_pod(2)]
    body = {"metadata": {"resourceVersion": "9"}, "items": items}
    found = decoder_for(Pod).list(json.dumps(body).encode())
    assert [pod.metadata.name for pod in found.items or []] == ["worker-000001-x7k2p", "odd", "", "worker-000002-x7k2p"]
    assert [bool(pod.defects) for pod in found.items or []] == [False, True, True, False]
    assert found.metadata.resource_version == "9"


def test_a_time_without_a_zone_is_a_defect_and_not_a_wrong_time() -> None:
    found = read(PODS, {"metadata": {"name": "p", "creationTimestamp": "2026-03-01T12:00:00"}})
    assert found.metadata.creation_timestamp is None
    assert found.defects


def test_names_on_the_wire_carry_kubernetes_acronyms() -> None:
    assert wire_name("pod_ip") == "podIP"
    assert wire_name("provider_id") == "providerID"
    assert wire_name("node_uid") == "nodeUID"
    assert wire_name("uid") == "uid"
    assert wire_name("termination_grace_period_seconds") == "terminationGracePeriodSeconds"


def test_a_node_is_read() -> None:
    node = read(
        NODES,
        {
            "metadata": {"name": "n", "labels": {"a": "b"}},
            "spec": {
                "providerID": "aws:///i-1",
                "unschedulable": True,
                "taints": [{"key": "k", "effect": "NoSchedule"}],
            },
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "allocatable": {"cpu": "3920m"},
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "images": [{"names": ["x"], "sizeBytes": 1}],
            },
        },
    )
    assert node.ready
    assert node.spec.unschedulable
    assert node.spec.provider_id == "aws:///i-1"
    assert node.spec.taints[0].key == "k"
    assert node.status.allocatable == {"cpu": "3920m"}


def test_endpoints_may_be_null() -> None:
    found = read(
        ENDPOINTSLICES, {"metadata": {"labels": {"kubernetes.io/service-name": "s"}}, "endpoints": None, "ports": None}
    )
    assert found.service == "s"
    assert found.endpoints == ()
    assert found.defects == ()


def test_an_event_was_last_seen_at_its_newest_time() -> None:
    found = read(
        EVENTS,
        {"firstTimestamp": None, "lastTimestamp": None, "eventTime": "2026-03-01T12:00:00.000001Z", "series": None},
    )
    assert found.last_seen == NOON + timedelta(microseconds=1)
    assert read(EVENTS, {}).last_seen is None


def test_a_released_lease_has_no_holder() -> None:
    found = read(LEASES, {"spec": {"holderIdentity": None, "renewTime": "2026-03-01T12:00:00.000000Z"}})
    assert (found.spec.holder_identity, found.spec.renew_time) == ("", NOON)
    assert found.defects == ()


def test_a_budget_counts_or_gives_percentages() -> None:
    assert read(BUDGETS, {"spec": {"minAvailable": 2147483647}}).spec.min_available == 2147483647
    assert read(BUDGETS, {"spec": {"maxUnavailable": "10%"}}).spec.max_unavailable == "10%"
    assert read(BUDGETS, {"spec": {"selector": {}}}).spec.selector == views.LabelSelector()
    assert read(BUDGETS, {"spec": {}}).spec.selector is None


def test_times_are_parsed_and_formatted_as_objects_carry_them() -> None:
    assert parse_time(TIME) == NOON
    assert parse_time("2026-03-01T13:00:00+01:00") == NOON
    assert parse_time("yesterday") is None
    assert parse_time("") is None
    assert parse_time("2026-03-01T12:00:00") is None
    assert format_time(NOON.astimezone(timezone(timedelta(hours=5)))) == TIME
    assert format_micro_time(NOON + timedelta(microseconds=7)) == "2026-03-01T12:00:00.000007Z"


def watched(body: dict[str, Any]) -> Pod:
    """A pod as a watch tells it."""
    return decoder_for(PODS.view).event(json.dumps({"type": "ADDED", "object": body}).encode()).object


def listed(*bodies: dict[str, Any]) -> list[Pod]:
    return decoder_for(PODS.view).list(json.dumps({"metadata": {}, "items": bodies}).encode()).items or []


def test_pods_of_one_fleet_share_what_they_have_in_common() -> None:
    odd = real_pod(2)
    odd["metadata"]["finalizers"] = None  # costs a second, forgiving look
    [first], second, third = listed(real_pod(1)), watched(real_pod(2)), watched(odd)
    for pod in (second, third):
        assert first.spec.containers is pod.spec.containers
        assert first.metadata.owner_references is pod.metadata.owner_references
        assert first.metadata.name != pod.metadata.name
    other = real_pod(3)
    other["spec"]["containers"][0]["image"] = "another"
    assert watched(other).spec.containers[0].image == "another"
    assert first.spec.containers[0].image != "another"


def test_pods_that_share_nothing_do_not_pile_up() -> None:
    from hawser.views import sharing

    for number in range(3000):
        watched({"spec": {"containers": [{"name": f"c{number}"}]}})
    assert len(sharing._specs) <= 1024


PODS_COUNT = 400


@pytest.fixture(scope="module")
def long_list() -> bytes:
    body = json.dumps({"metadata": {}, "items": [real_pod(number) for number in range(PODS_COUNT)]}).encode()
    assert 6_000 < len(body) / PODS_COUNT < 12_000
    return body


def test_a_pod_takes_at_most_seven_kilobytes(long_list: bytes) -> None:
    decoder = ViewDecoder(Pod)
    decoder.list(long_list)
    gc.collect()
    tracemalloc.start()
    pods = decoder.list(long_list)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pods.items is not None
    assert size / PODS_COUNT < 7 * 1024


def test_reading_pods_takes_less_time_than_parsing_their_json(long_list: bytes) -> None:
    def seconds(read: Callable[[bytes], object]) -> float:
        began = time.process_time()
        read(long_list)
        return time.process_time() - began

    # Against a yardstick instead of the clock, so that a busy machine slows down both.
    pairs = [(seconds(ViewDecoder(Pod).list), seconds(json.loads)) for _ in range(7)]
    assert min(views for views, _ in pairs) < 0.8 * min(yardstick for _, yardstick in pairs)
